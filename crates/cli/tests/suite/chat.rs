//! `haft chat` in a pipe: lines are turns, and lines with a slash are commands.

use haft_testkit::{Hold, Moment, Round};
use serde_json::{Value, json};

use super::harness::{Ran, World};
use super::model::Talk;

/// Without keys and without servers of this machine.
fn alone(world: &World, input: &str, words: &[&str]) -> Ran {
    fed(world, world.command(words).env("HAFT_LOCAL_MODELS", ""), input)
}

pub(crate) fn fed(world: &World, command: &mut std::process::Command, input: &str) -> Ran {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A process that was refused reads nothing.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    world.ran(&child.wait_with_output().unwrap())
}

fn says(text: &str) -> Round {
    Round::Text(text.into())
}

fn chat(talk: &Talk, input: &str, words: &[&str]) -> Ran {
    fed(&talk.world, &mut talk.command(&[&["chat"], words].concat()), input)
}

/// What the user said in a request, the last thing last.
fn said(body: &Value) -> Vec<String> {
    let users = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        parts => parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
    };
    users.map(|message| text(&message["content"])).collect()
}

fn session_of(ran: &Ran) -> String {
    let line = ran.stderr.lines().last().unwrap_or_default();
    line.strip_prefix("haft chat --resume ").unwrap_or_else(|| panic!("no way to resume: {ran:?}")).to_owned()
}

#[test]
fn every_line_is_a_turn_of_one_conversation_and_the_end_says_how_to_resume() {
    let talk = Talk::new("openai", vec![says("one"), says("two"), says("three")]);
    talk.world.write("a b.txt", "");
    talk.world.write("a.txt", "");
    let ran = chat(&talk, "first\nsee @a.txt, @b.txt\\\nand more\n\n", &["zeroth"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\ntwo\nthree\n"), "{ran:?}");
    let asked = talk.server.asked();
    assert_eq!(
        said(&asked[2].body),
        ["zeroth", "first", "see a.txt, @b.txt\nand more\n\n<file path=\"a.txt\">\n(The file is empty.)\n</file>"],
        "{}",
        asked[2].body
    );
    let sessions = talk.world.run(&["sessions", "list", "--json"]).json();
    assert_eq!((sessions.as_array().map(Vec::len), &sessions[0]["title"]), (Some(1), &json!("zeroth")), "{sessions}");
    assert_eq!(json!(session_of(&ran)), sessions[0]["id"]);
    assert_eq!(talk.faults(), Vec::<String>::new());
}

#[test]
fn nothing_said_is_nothing_kept() {
    let world = World::new();
    let ran = alone(&world, "/help\n\n", &["chat"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert_eq!(world.run(&["sessions", "list", "--json"]).json(), json!([]));
}

#[test]
fn commands_do_what_their_names_say_and_nothing_of_them_is_sent() {
    let talk = Talk::new("openai", Vec::new());
    for (line, code, out, err) in [
        ("/", 0, "/help                 list these commands", ""),
        ("/help", 0, "Ctrl-D                leave; as Ctrl-C twice on an empty line", ""),
        ("/model", 0, "work/m1 · 128k tokens\n", ""),
        ("/model work/m2", 0, "", "work/m2 answers now"),
        ("/model nobody/x", 1, "", "there is no provider 'nobody'"),
        ("/agent", 0, "main\n", ""),
        ("/agent nobody", 1, "", "there is no agent 'nobody'"),
        ("/tools", 0, "[x] read_file", ""),
        ("/tools noop", 0, "noop - ", ""),
        ("/access", 0, "workspace-write: tools may change the files of this folder", ""),
        ("/access read-only", 0, "", "the access level is read-only now: tools may read, and change nothing"),
        ("/access full-access", 1, "", "start with `haft chat --access full-access`"),
        ("/explain write_file {\"path\":\"../x\",\"content\":\"\"}", 0, "write_file: deny", ""),
        ("/explain", 1, "", "/explain needs a tool"),
        ("/undo", 1, "", "no call of this conversation changed files"),
        ("/undo 12345678", 1, "", "no call '12345678'"),
        ("/history", 0, "", "no messages yet"),
        ("/sessions", 0, "ID", ""),
        ("/cost", 0, "this session  0", ""),
        ("/compact", 0, "", "there is nothing to summarize"),
        ("/clear", 0, "", "new conversation"),
        ("/details", 0, "", "The last turn has no calls."),
        ("/modle", 1, "", "did you mean /model? /help lists them; nothing was sent to the model"),
        ("!echo $((40 + 2))", 0, "42", "ok exec echo"),
        ("!", 1, "", "'!' needs a command"),
        ("/diff", 0, "", "this conversation has changed no files"),
        ("/why", 0, "", "no call of this conversation was refused"),
        ("/jobs", 0, "", "no command runs in the background"),
        ("/jump", 0, "", "no messages yet"),
        ("/quit\nnot said", 0, "", ""),
    ] {
        let ran = chat(&talk, &format!("{line}\n"), &[]);
        assert_eq!(ran.code, code, "{line}: {ran:?}");
        assert!(ran.stdout.contains(out) && ran.stderr.contains(err), "{line}: {ran:?}");
    }
    assert_eq!(talk.server.asked().len(), 0);
}

#[test]
fn access_is_lowered_at_once_and_never_raised_beyond_what_is_allowed() {
    let write = || Round::call("1", "write_file", json!({"path": "a", "content": "x"}));
    let config = "[agents.reader]\naccess = \"read-only\"\n";
    let talk = Talk::with("openai", config, vec![write(), says("no")]);
    let ran = chat(&talk, "/access read-only\nwrite\n", &[]);
    assert!(ran.stderr.contains("failed write_file a: permission_denied"), "{ran:?}");
    for (words, why) in [
        (
            &["--agent", "reader"][..],
            "access level workspace-write is not available: [world]/config/haft/config.toml:7 allows read-only at most",
        ),
        (
            &["--access", "read-only"],
            "access level workspace-write is not available: this conversation was started with --access read-only",
        ),
    ] {
        let ran = chat(&talk, "/access\n/access workspace-write\n/access\n", words);
        let read_only = "read-only: tools may read, and change nothing\n";
        assert_eq!((ran.code, ran.stdout), (1, read_only.repeat(2)), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn the_last_change_of_this_conversation_is_taken_back_and_what_cannot_be_is_said() {
    let write = |id: &str, path: &str| Round::call(id, "write_file", json!({"path": path, "content": "x"}));
    let tell = Round::call("3", "notify", json!({"message": "done"}));
    let talk = Talk::new("openai", vec![write("1", "a"), write("2", "b"), tell, says("done")]);
    talk.world.call("write_file", &json!({"path": "of-another", "content": "x"}));
    let ran = chat(&talk, "write\n/undo\n/undo\n/undo\n/history\n", &[]);
    assert!(!talk.world.file("a").exists() && !talk.world.file("b").exists(), "{ran:?}");
    assert_eq!((talk.world.read("of-another").as_str(), ran.code), ("x", 1));
    assert_eq!(ran.stdout.matches("undone: write_file").count(), 2, "{ran:?}");
    assert!(ran.stderr.contains("this cannot be undone: notify (send desktop to system)"), "{ran:?}");
    assert!(ran.stderr.contains("no call of this conversation changed files; this cannot be undone: notify"), "{ran:?}");
    assert!(ran.stdout.contains("  1  write\n") && ran.stdout.contains("ok, undone"), "{ran:?}");
}

#[test]
fn what_it_cost_is_counted_where_a_price_is_known() {
    let priced = "[prices]\n\"work/m1\" = { input = 3.0, output = 15.0 }\n";
    let talk = Talk::new("openai", vec![says("one"), says("two")]);
    let unknown = chat(&talk, "first\n/cost\n", &["--json"]);
    let cost: Value = serde_json::from_str(unknown.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&cost["last_turn"]["cost"], &cost["this_session"]["cost"]), (&Value::Null, &Value::Null), "{cost}");
    assert!(cost["last_turn"]["input_tokens"].as_u64() > Some(0), "{cost}");
    talk.configure(priced);
    let known = chat(&talk, "second\n/cost\n", &["-c"]);
    assert_eq!(known.code, 0, "{known:?}");
    let rows: Vec<&str> = known.stdout.lines().skip_while(|line| !line.contains("COST")).skip(1).collect();
    assert!(rows[0].starts_with("last turn") && rows[0].contains('$'), "{known:?}");
    assert!(rows[1].starts_with("this session") && rows[1].ends_with("and 1 answers of unknown price"), "{known:?}");
}

#[test]
fn conversation_resumes_by_folder_by_id_and_by_its_text() {
    let talk = Talk::new("openai", vec![says("the axe"), says("the saw"), says("a"), says("b"), says("c"), says("d")]);
    let axe = session_of(&chat(&talk, "sharpen what?\n", &[]));
    let saw = session_of(&chat(&talk, "and what else?\n", &[]));
    assert_ne!(axe, saw);
    assert_eq!(session_of(&chat(&talk, "more\n", &["-c"])), saw);
    assert_eq!(session_of(&chat(&talk, "more\n", &["--resume", &axe[axe.len() - 8..]])), axe);
    assert_eq!(session_of(&chat(&talk, "more\n", &["--resume", "THE AXE"])), axe);
    let inside = chat(&talk, &format!("/resume {saw}\nmore\n"), &["-c"]);
    assert_eq!(session_of(&inside), saw, "{inside:?}");
    let last = talk.server.asked().last().unwrap().body.clone();
    assert_eq!(said(&last), ["and what else?", "more", "more"], "{last}");
    let several = chat(&talk, "", &["--resume", "more"]);
    assert_eq!((several.code, several.stdout.lines().count()), (2, 3), "{several:?}");
    assert!(several.stderr.contains("give the id of one"), "{several:?}");
    let none = chat(&talk, "", &["--resume", "nobody said this"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.stderr.contains("no session has 'nobody said this' in its id, its title or its messages"), "{none:?}");
    let elsewhere = fed(&talk.world, &mut talk.command(&["chat", "-c", "--workspace", "../home"]), "");
    assert!(elsewhere.code == 1 && elsewhere.stderr.contains("there is no session in [world]/home yet"), "{elsewhere:?}");
}

#[test]
fn session_of_another_folder_resumes_there_with_its_agent_and_model() {
    let config = "[agents.coder]\nprompt = \"You are careful.\"\n";
    let talk = Talk::with("openai", config, vec![Round::call("1", "read_file", json!({"path": "a.txt"})), says("one"), says("two")]);
    talk.world.write("a.txt", "here\n");
    let first = chat(&talk, "/model work/m2\nread it\n", &["--agent", "coder"]);
    let id = session_of(&first);
    let command = &mut talk.command(&["chat", "--resume", &id]);
    let ran = fed(&talk.world, command.current_dir(talk.world.path("home")), "/access\nagain\n/agent main\n");
    assert_eq!((ran.code, session_of(&ran)), (0, id), "{ran:?}");
    let last = talk.server.asked().last().unwrap().body.clone();
    assert_eq!(last["model"], json!("m2"), "{last}");
    assert!(last["messages"][0]["content"].as_str().unwrap().starts_with("You are careful.\n\n"), "{last}");
    assert!(ran.stderr.contains("main continues, with work/m1"), "{ran:?}");
}

#[test]
fn second_process_is_told_who_holds_a_session() {
    let hold = Hold::default();
    let talk = Talk::new("openai", vec![says("hello"), says("later").held(Moment::Start, &hold)]);
    let id = session_of(&chat(&talk, "hi\n", &[]));
    let first = talk.command(&["run", "--session", &id, "and?"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    assert!(hold.reached());
    let second = chat(&talk, "me too\n", &["-c"]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains(&format!("is in use by process {}", first.id())), "{second:?}");
    hold.release();
    assert!(first.wait_with_output().unwrap().status.success());
}

#[test]
fn a_new_conversation_begins_and_the_old_one_is_kept() {
    let talk = Talk::new("openai", vec![says("one"), says("two")]);
    let ran = chat(&talk, "first\n/clear\nsecond\n", &[]);
    assert_eq!(said(&talk.server.asked()[1].body), ["second"]);
    let sessions = talk.world.run(&["sessions", "list", "--json"]).json();
    let ids: Vec<&str> = sessions.as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), session_of(&ran).as_str()), (2, ids[0]), "{ran:?}");
    assert!(ran.stderr.contains(&format!("new conversation; /resume {} resumes the last one", ids[1])), "{ran:?}");
}

#[test]
fn a_turn_that_fails_is_told_and_the_next_line_is_said_all_the_same() {
    let talk = Talk::new("openai", vec![Round::Status(400, "{\"error\":{\"message\":\"no\"}}".into()), says("two")]);
    let ran = chat(&talk, "first\nsecond\n", &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "two\n"), "{ran:?}");
    assert!(ran.stderr.contains("error: "), "{ran:?}");
    session_of(&ran);
}

#[test]
fn events_are_lines_for_programs() {
    let talk = Talk::new("openai", vec![says("one")]);
    let ran = chat(&talk, "first\n", &["--json"]);
    let kinds: Vec<String> =
        ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["turn_start", "text_delta", "usage", "turn_end"], "{ran:?}");
}

#[test]
fn the_demo_model_talks_too() {
    let world = World::new();
    world.write("README.md", "sharpen the axe\n");
    let ran = alone(&world, "what does @README.md say?\n/model demo\nand what time is it?\n", &["chat"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("read_file: sharpen the axe") && ran.stdout.contains("get_current_time:"), "{ran:?}");
    let again = alone(&world, "what time is it?\n", &["chat", "-c"]);
    assert_eq!((again.code, session_of(&again)), (0, session_of(&ran)), "{again:?}");
}

#[test]
fn commands_of_the_user_run_through_the_tool_and_the_model_is_not_told() {
    let world = World::new();
    world.write("notes.txt", "one\ntwo\n");
    let lines = "!wc -l < notes.txt\nreplace 'two' with '2' in notes.txt\n/diff\nwrite 'x' to ../outside.txt\n/why\n/jobs\n/jump\n/jump 1\n/undo\n/diff\n";
    let ran = alone(&world, lines, &["chat", "--model", "demo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("2\n"), "{ran:?}");
    assert!(ran.stdout.contains("1 file, 1 line added, 1 removed\n--- a/notes.txt\n+++ b/notes.txt\n"), "{ran:?}");
    assert!(ran.stderr.contains("write_file ../outside.txt was refused") && ran.stdout.contains("write_file: deny"), "{ran:?}");
    assert!(ran.stderr.contains("no command runs in the background"), "{ran:?}");
    assert!(ran.stdout.contains("  1  replace 'two' with '2' in notes.txt · 1 call\n  2  write 'x'"), "{ran:?}");
    assert!(ran.stderr.contains("this conversation has changed no files"), "{ran:?}");
    assert_eq!(world.read("notes.txt"), "one\ntwo\n");
    let calls = world.run(&["history", "--json"]).json();
    assert_eq!(calls.as_array().unwrap().iter().filter(|call| call["tool"] == "exec").count(), 1, "{calls}");
}

#[test]
fn conversation_is_summarized_when_asked() {
    let talk = Talk::new("openai", vec![says("one"), says("nothing"), says("SUMMARY"), says("three")]);
    let ran = chat(&talk, "first\n/compact\nthird\n", &[]);
    assert!(ran.stderr.contains("the conversation is summarized; every message is kept"), "{ran:?}");
    let last = said(&talk.server.asked()[3].body).join("\n");
    assert!(last.contains("SUMMARY") && last.ends_with("third"), "{last}");
}

#[test]
fn wrong_models_are_refused_before_anything_is_kept() {
    let world = World::new();
    let ran = alone(&world, "hi\n", &["chat", "--model", "nobody/x"]);
    assert!(ran.code == 2 && ran.stderr.contains("there is no provider 'nobody'"), "{ran:?}");
    assert_eq!(world.run(&["sessions", "list", "--json"]).json(), json!([]));
}
