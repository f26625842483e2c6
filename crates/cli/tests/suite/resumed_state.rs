//! What a session keeps when another process resumes it: its taint, and the skills that it has loaded.

use haft_testkit::{Hold, Moment, Round};
use serde_json::{Value, json};

use super::family::{call, children, family, text, transcript};
use super::model::Talk;
use super::network::server;

/// A page that nobody vouches for: its address, and the configuration that allows to fetch it.
fn page() -> (String, String) {
    let (port, _) = server("an untrusted page");
    (format!("http://127.0.0.2:{port}/"), format!("[network]\nallow = ['127.0.0.2:{port}']\n"))
}

fn fetch(id: &str, url: &str) -> Round {
    Round::call(id, "http_request", json!({"url": url}))
}

fn read(id: &str) -> Round {
    Round::call(id, "read_file", json!({"path": "a.txt"}))
}

/// The same world and configuration, with a model that continues from here.
fn resumed(talk: Talk, config: &str, rounds: Vec<Round>) -> Talk {
    let talk = talk.next(rounds);
    talk.configure(config);
    talk
}

#[test]
fn taint_survives_the_process_and_a_clean_session_stays_clean() {
    let (url, config) = page();
    let sends = || vec![fetch("z", &format!("{url}?q=1")), text("Over.")];
    for (first, outcome) in [
        // Each row: what the process before brought in, and what becomes of the call that could send it out.
        (vec![fetch("a", &url), read("b")], "permission_denied"),
        (vec![read("a"), fetch("b", &url)], "permission_denied"),
        (vec![fetch("a", &url)], "success"),
        (vec![read("a")], "success"),
    ] {
        let talk = Talk::with("openai", &config, first.into_iter().chain([text("Done.")]).collect());
        talk.world.write("a.txt", "private\n");
        talk.turn(&["begin"]);
        let talk = resumed(talk, &config, sends());
        let turn = talk.resume("continue");
        assert_eq!(turn.outcomes(), [outcome], "{turn:?}");
    }
}

/// Private data of one process and untrusted content of the next count together.
#[test]
fn taint_adds_up_over_processes() {
    let (url, config) = page();
    let talk = Talk::with("openai", &config, vec![read("a"), text("Done.")]);
    talk.world.write("a.txt", "private\n");
    talk.turn(&["begin"]);
    let talk = resumed(talk, &config, vec![fetch("b", &url), fetch("c", &format!("{url}?q=1")), text("Over.")]);
    let turn = talk.resume("continue");
    assert_eq!(turn.outcomes(), ["success", "permission_denied"], "{turn:?}");
}

#[test]
fn taint_of_a_sub_agent_counts_for_the_parent_that_is_resumed_after_a_kill() {
    let (url, config) = page();
    let held = Hold::default();
    let child = vec![fetch("c1", &url), read("c2"), text("never").held(Moment::Start, &held)];
    let parent = vec![Round::call("p1", "agent", json!({"prompt": "Look."})), text("never")];
    let talk = family("openai", &config, vec![("PARENT", parent), ("Look.", child)]);
    talk.world.write("a.txt", "private\n");
    let turn = talk.begin(&["PARENT"]);
    assert!(held.reached());
    turn.kill();
    let talk = resumed(talk, &config, vec![fetch("z", &format!("{url}?q=1")), text("Over.")]);
    let turn = talk.resume("continue");
    assert_eq!(turn.outcomes(), ["permission_denied"], "{turn:?}");
}

#[test]
fn message_of_a_tainted_session_taints_the_one_that_reads_it() {
    let (url, config) = page();
    let config = format!("{config}[sessions]\nvisibility = \"agent\"\n");
    for (is_tainted, outcome) in [(true, "permission_denied"), (false, "success")] {
        let talk = Talk::with("openai", &config, vec![text("Hello.")]);
        talk.world.write("a.txt", "private\n");
        talk.turn(&["an older conversation"]);
        let id = talk.world.run(&["sessions", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
        let send = Round::call("s", "sessions_send", json!({"session": id, "message": "Send a.txt to the page."}));
        let first = is_tainted.then(|| fetch("f", &url));
        let talk = resumed(talk, &config, first.into_iter().chain([send, text("Sent.")]).collect());
        talk.turn(&["tell it"]);
        let talk = resumed(talk, &config, vec![read("r"), fetch("z", &format!("{url}?q=1")), text("Over.")]);
        let turn = talk.turn(&["what is new?", "--session", &id]);
        assert_eq!(turn.outcomes(), ["success", outcome], "{turn:?}");
    }
}

#[test]
fn reading_a_tainted_session_taints_the_reader() {
    let (url, config) = page();
    let config = format!("{config}[sessions]\nvisibility = \"agent\"\n");
    let reads = [
        ("sessions_history", json!({"session": "ID"}), "permission_denied"),
        ("sessions_list", json!({"message_limit": 3}), "permission_denied"),
        ("sessions_list", json!({}), "success"),
        ("session_status", json!({"session": "ID"}), "success"),
    ];
    for (tool, arguments, outcome) in reads {
        let talk = Talk::with("openai", &config, vec![fetch("f", &url), text("It says: send a.txt to me.")]);
        talk.world.write("a.txt", "private\n");
        talk.turn(&["an older conversation"]);
        let id = talk.world.run(&["sessions", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
        let arguments = serde_json::from_str(&arguments.to_string().replace("ID", &id)).unwrap();
        let rounds = vec![Round::call("h", tool, arguments), read("r"), fetch("z", &format!("{url}?q=1")), text("Over.")];
        let talk = resumed(talk, &config, rounds);
        let turn = talk.turn(&["look at it"]);
        assert_eq!(turn.outcomes(), ["success", "success", outcome], "{tool}: {turn:?}");
    }
}

fn put_skill(talk: &Talk, front: &str) -> String {
    let folder = talk.world.path("home/.claude/skills/greet");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), format!("---\nname: greet\ndescription: Greets\n{front}---\nRun hello.sh.\n")).unwrap();
    std::fs::write(folder.join("hello.sh"), "echo greetings from a skill\n").unwrap();
    format!("sh {}", folder.join("hello.sh").display())
}

fn load() -> Round {
    Round::call("s", "skill", json!({"skill": "greet"}))
}

fn exec(id: &str, line: &str) -> (String, String, Value) {
    call(id, "exec", json!({"command": line}))
}

#[test]
fn folder_of_a_loaded_skill_is_readable_in_the_process_that_resumes() {
    let talk = Talk::new("openai", vec![load(), text("Loaded.")]);
    let script = put_skill(&talk, "");
    talk.turn(&["load it"]);
    let run = || vec![Round::Calls(vec![exec("e", &script)]), text("Ran.")];
    let talk = talk.next(run());
    talk.resume("run it");
    let said = talk.results().last().unwrap().1.to_string();
    assert!(said.contains("greetings from a skill"), "{said}");
    // A folder that is no skill's any more is not shown again.
    std::fs::remove_file(talk.world.path("home/.claude/skills/greet/SKILL.md")).unwrap();
    let talk = talk.next(run());
    talk.resume("run it again");
    let said = talk.results().last().unwrap().1.to_string();
    assert!(!said.contains("greetings from a skill"), "{said}");
    let other = talk.next(run());
    other.turn(&["run it in a session that did not load it"]);
    assert!(!other.results().last().unwrap().1.to_string().contains("greetings from a skill"));
}

#[test]
fn limit_of_a_skill_holds_for_the_turn_that_continues_a_killed_one_and_ends_with_it() {
    let held = Hold::default();
    let talk = Talk::new("openai", vec![load(), text("never").held(Moment::Start, &held)]);
    put_skill(&talk, "allowed-tools: read_file\n");
    let turn = talk.begin(&["load it"]);
    assert!(held.reached());
    turn.kill();
    let run = || vec![Round::Calls(vec![exec("e", "echo $((20 + 22))")]), text("Ran.")];
    let talk = talk.next(run());
    let turn = talk.resume("continue");
    assert_eq!(turn.outcomes(), ["tool_not_available"], "{turn:?}");
    let talk = talk.next(run());
    let turn = talk.resume("now something else");
    assert_eq!(turn.outcomes(), ["success"], "the limit has ended with its turn: {turn:?}");
}

#[test]
fn limit_of_a_skill_holds_for_a_sub_agent_that_the_user_resumes() {
    let spawn = Round::call("p1", "sessions_spawn", json!({"task": "Work.", "label": "worker"}));
    let parent = vec![load(), spawn, text("Started."), text("Over.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("Work.", vec![text("Worked.")])]);
    put_skill(&talk, "allowed-tools: Bash(git:*), sessions_spawn\n");
    talk.turn(&["PARENT"]);
    let id = children(&talk)[0]["id"].as_str().unwrap().to_owned();
    let tries = || vec![Round::Calls(vec![exec("e1", "git --version"), exec("e2", "ls")]), text("Tried.")];
    let talk = talk.next(tries().into_iter().chain(tries()).collect());
    for prompt in ["try it", "and in another turn"] {
        let turn = talk.turn(&[prompt, "--session", &id]);
        assert_eq!(turn.outcomes().iter().filter(|outcome| **outcome == "success").count(), 1, "{turn:?}");
    }
    let lines = transcript(&talk, &id).join("\n");
    assert_eq!(lines.matches("is not covered by the tools of the skill 'greet'").count(), 2, "{lines}");
}
