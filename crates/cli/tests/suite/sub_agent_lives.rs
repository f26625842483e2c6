//! What sub-agents live through: waits, messages after their answer, the user who resumes them, files, the sandbox.

use std::os::unix::fs::PermissionsExt;

use haft_testkit::{Hold, ModelServer, Moment, Round};
use serde_json::{Value, json};

use super::family::{asks, call, children, explorer, family, result, states, text, transcript};
use super::model::Talk;
use super::network::server;

fn spawn(task: &str, more: &Value) -> Round {
    let mut arguments = json!({"task": task});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Round::call(&format!("s-{task}"), "sessions_spawn", arguments)
}

fn id_of_child(talk: &Talk) -> String {
    children(talk)[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn sleep_of_a_parent_ends_with_its_sub_agent() {
    let work = json!({"task": "Work.", "label": "worker"});
    let parent = vec![
        // Both at once: it need not run when the wait begins.
        Round::Calls(vec![call("p1", "sleep", json!({"duration": 290})), call("p2", "sessions_spawn", work)]),
        text("I know."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("Work.", vec![text("Worked.")])]);
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.ended(), ("done", "I know."));
    let lines = transcript(&talk, "last").join("\n");
    assert!(lines.contains("woken early because the sub-agent 'worker' has ended: done."), "{lines}");
    assert_eq!(lines.matches("Its answer:\nWorked.").count(), 1, "the answer comes with the result: {lines}");
}

#[test]
fn sleep_of_a_sub_agent_ends_with_a_message_of_its_parent() {
    let steer = json!({"action": "steer", "target": "last", "message": "Stop waiting."});
    let parent = vec![spawn("Work.", &json!({})), Round::call("p2", "subagents", steer), text("I wait."), text("Over.")];
    let child = vec![Round::call("c1", "sleep", json!({"duration": 290})), text("Stopped.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("Work.", child)]);
    assert_eq!(talk.turn(&["PARENT"]).ended(), ("done", "Over."));
    let lines = transcript(&talk, &id_of_child(&talk));
    assert!(lines[2].contains("woken early by a message, which follows"), "{lines:?}");
    assert_eq!(lines[3..], ["results: Stop waiting.", "assistant: Stopped."]);
}

#[test]
fn resumed_sub_agent_has_the_rights_of_its_type_and_a_truthful_state() {
    let talk = family("openai", "", vec![("PARENT", asks(explorer("Look."))), ("Look.", vec![text("Looked.")])]);
    talk.turn(&["PARENT"]);
    let id = id_of_child(&talk);
    let write = || Round::call("w", "write_file", json!({"path": "made.txt", "content": "x"}));
    let last = Hold::default();
    let talk = talk.next(vec![write(), text("Tried."), text("never").held(Moment::Start, &last)]);
    let resumed = talk.turn(&["write it", "--session", &id, "--access", "full-access"]);
    assert_eq!((resumed.ended(), resumed.outcomes()), (("done", "Tried."), vec!["tool_not_available"]), "{resumed:?}");
    assert!(!talk.world.file("made.txt").exists());
    let asked = talk.server.asked()[0].body.to_string();
    assert!(asked.contains("You search and read, and change nothing.") && !asked.contains("\"write_file\""), "{asked}");
    assert_eq!(states(&talk), ["Look. done"]);
    assert_eq!(children(&talk)[0]["sub_agent"]["calls"], json!(1), "{:?}", children(&talk));

    let turn = talk.begin(&["again", "--session", &id]);
    assert!(last.reached());
    assert_eq!(states(&talk), ["Look. running"]);
    turn.kill();
    assert_eq!(states(&talk), ["Look. failed"]);
}

#[test]
fn sub_agent_whose_type_is_gone_is_not_resumed_with_other_rights() {
    let request = json!({"prompt": "Look.", "subagent_type": "critic"});
    let talk = family("openai", "", vec![("PARENT", asks(request)), ("Look.", vec![text("Looked.")])]);
    let types = talk.world.path("config/haft/agents");
    std::fs::create_dir_all(&types).unwrap();
    std::fs::write(types.join("critic.md"), "---\ndescription: Reviews\ntools: read_file\n---\nBe strict.\n").unwrap();
    talk.turn(&["PARENT"]);
    std::fs::remove_file(types.join("critic.md")).unwrap();
    let ran = talk.says(&["write it", "--session", &id_of_child(&talk)]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("cannot be resumed with the rights that it had: There is no agent type 'critic'"), "{ran:?}");
}

#[test]
fn open_sub_agent_is_continued_by_messages_and_each_answer_comes_back() {
    let parent = vec![
        spawn("Count.", &json!({"label": "counter", "thread": true})),
        text("I wait."),
        Round::call("m1", "sessions_send", json!({"label": "counter", "message": "And now?"})),
        Round::call("m2", "subagents", json!({"action": "steer", "target": "counter", "message": "Once more."})),
        text("I wait again."),
        text("Three."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("Count.", vec![text("One."), text("Two."), text("Three!")])]);
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.ended(), ("done", "Three."), "{happened:?}");
    let lines = transcript(&talk, "last").join("\n");
    assert!(lines.contains("After its answer it stays open") && lines.contains("answers:\nTwo."), "{lines}");
    assert_eq!(["One.", "Two.", "Three!"].map(|said| lines.matches(&format!("Its answer:\n{said}")).count()), [1, 0, 1], "{lines}");
    let child = transcript(&talk, &id_of_child(&talk)).join("\n");
    assert!(child.contains("user: Count.") && child.contains("And now?") && child.ends_with("assistant: Three!"), "{child}");
    assert_eq!((states(&talk), children(&talk).len()), (vec!["counter done".to_owned()], 1));
}

#[test]
fn modes_that_do_not_fit_and_a_missing_sandbox_are_refused() {
    let calls = vec![
        call("b1", "sessions_spawn", json!({"task": "CHILD", "mode": "session"})),
        call("b2", "sessions_spawn", json!({"task": "CHILD", "sandbox": "require"})),
        call("b3", "sessions_spawn", json!({"task": "CHILD", "attachments": [{"name": "../x", "content": "x"}]})),
        call("b4", "sessions_spawn", json!({"task": "CHILD", "sandbox": "maybe"})),
    ];
    let talk = family("openai", "[sandbox]\nmode = \"off\"\n", vec![("PARENT", vec![Round::Calls(calls), text("Over.")])]);
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.outcomes(), ["validation_error"; 4]);
    let said = talk.results().iter().map(|(_, result)| result.to_string()).collect::<Vec<_>>().join("\n");
    for expected in ["mode='session' needs thread=true", "which is off here", "'../x' is no name for an attachment", "sandbox"] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    assert_eq!(children(&talk).len(), 0);
}

#[test]
fn required_sandbox_holds_for_commands_that_want_out_of_it() {
    let run = |id: &str, more: Value| {
        let mut arguments = json!({"command": "echo $((20 + 22))"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(id, "exec", arguments)
    };
    let child = vec![Round::Calls(vec![run("c1", json!({"host": "host"})), run("c2", json!({}))]), text("Tried.")];
    let parent = vec![spawn("Run it.", &json!({"sandbox": "require"})), text("I wait."), text("Over.")];
    let config = "[rules]\nallow = [\"exec(host:host echo *)\"]\n";
    let talk = family("openai", config, vec![("PARENT", parent), ("Run it.", child)]);
    talk.turn(&["PARENT", "--access", "full-access"]);
    let lines = transcript(&talk, &id_of_child(&talk)).join("\n");
    assert!(lines.contains("run in the sandbox alone, because it was started with sandbox=require"), "{lines}");
    assert_eq!(lines.matches("42").count(), 1, "{lines}");
}

/// A call that reads the attachment which the task names.
fn reads_attachment(body: &Value) -> Round {
    let sent = body["messages"].to_string();
    let path = sent.split_once("data.csv (8 bytes): ").and_then(|(_, rest)| rest.split_once("\\n")).map(|(path, _)| path.to_owned());
    Round::call("r1", "read_file", json!({"path": path.unwrap()}))
}

#[test]
fn attachments_are_private_files_that_the_sub_agent_reads() {
    let files = json!([{"name": "data.csv", "content": "axe,saw\n"}, {"name": "b.bin", "content": "AP8=", "encoding": "base64"}]);
    let parent = vec![spawn("Read it.", &json!({"attachments": files})), text("I wait."), text("Over.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("Read it.", vec![Round::Made(reads_attachment), text("Read.")])]);
    // Not even a session that may write nothing needs a right for it.
    let happened = talk.turn(&["PARENT", "--access", "read-only"]);
    let id = id_of_child(&talk);
    let lines = transcript(&talk, &id).join("\n");
    assert!(lines.contains("result read_file success") && lines.contains("axe,saw"), "{lines}");
    let stored = talk.world.state().join("spills").join(&id).join("b.bin");
    assert_eq!(std::fs::read(&stored).unwrap(), [0, 255]);
    assert_eq!(stored.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let receipt = "b.bin (2 bytes, sha256 06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8)";
    assert!(result(&happened).contains(receipt), "{happened:?}");
}

/// Seed 004's spelling; the types and the folder are hints for the sub-agent, and no way to other files.
#[test]
fn attachments_have_media_types_and_a_folder_that_the_task_calls_them_by() {
    let files = json!([{"name": "data.csv", "content": "axe,saw\n", "mimeType": "text/csv"}]);
    let more = json!({"attachments": files, "attachAs": {"mountPath": "inputs/today"}});
    let parent = vec![spawn("Read inputs/today/data.csv.", &more), text("I wait."), text("Over.")];
    let talk = family("openai", "", vec![("PARENT", parent), ("Read inputs", vec![text("Read.")])]);
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.outcomes(), ["success"], "{happened:?}");
    let lines = transcript(&talk, &id_of_child(&talk)).join("\n");
    let expected =
        "[Files that come with this task, which the task may call inputs/today/NAME; you can read them:\n- data.csv (8 bytes, text/csv): ";
    assert!(lines.contains(expected), "{lines}");
    assert!(talk.world.state().join("spills").join(id_of_child(&talk)).join("data.csv").exists());
    let bad = vec![
        call("b1", "sessions_spawn", json!({"task": "CHILD", "attachAs": {"mountPath": "../up"}})),
        call("b2", "sessions_spawn", json!({"task": "CHILD", "attachments": [{"name": "a", "content": "x", "mimeType": "x]\n[y"}]})),
    ];
    let talk = family("openai", "", vec![("PARENT", vec![Round::Calls(bad), text("Over.")])]);
    assert_eq!(talk.turn(&["PARENT"]).outcomes(), ["validation_error"; 2]);
    assert_eq!(children(&talk).len(), 0);
}

/// Complaint: a sub-agent that was left without tools, and nobody said so (openclaw 92189, 64292).
#[test]
fn parent_is_told_which_tools_a_sub_agent_has() {
    let tools = |config: &str, more: Value| {
        let parent = vec![spawn("Look.", &more), text("I wait."), text("Over.")];
        let talk = family("openai", config, vec![("PARENT", parent), ("Look.", vec![text("Looked.")])]);
        let happened = talk.turn(&["PARENT"]);
        let said = result(&happened);
        let listed = said.split_once("Its tools: ").map(|(_, tools)| tools.trim_end_matches('.').to_owned());
        let offered: Vec<String> = talk
            .server
            .asked()
            .iter()
            .find(|asked| !asked.body.to_string().contains("PARENT"))
            .and_then(|asked| asked.body["tools"].as_array().cloned())
            .unwrap_or_default()
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect();
        (said, listed, offered)
    };
    let explore = json!({"agent_type": "explore"});
    let (_, listed, offered) = tools("", explore.clone());
    assert_eq!(listed.as_deref(), Some("read_file, glob_search, grep_search, web_fetch, web_search, tool_search, skill"));
    let listed: Vec<String> = listed.unwrap().split(", ").map(str::to_owned).collect();
    assert!(offered.iter().all(|tool| listed.contains(tool)), "{offered:?}");
    let (_, listed, _) = tools("[subagents.tools]\ndeny = [\"web_fetch\", \"web_search\"]\n", explore.clone());
    assert_eq!(listed.as_deref(), Some("read_file, glob_search, grep_search, tool_search, skill"));
    let all = "[subagents.tools]\ndeny = [\"group:fs\", \"group:web\", \"read_file\", \"glob_search\", \"grep_search\", \"tool_search\", \"skill\"]\n";
    let (said, listed, offered) = tools(all, explore);
    assert_eq!((listed, offered), (None, Vec::new()), "{said}");
    assert!(said.contains("It has no tools:"), "{said}");
}

/// Its tool says that the user has seen it.
#[test]
fn message_of_a_sub_agent_is_an_event_of_the_conversation() {
    let message = json!({"message": "Halfway there.", "level": "warning"});
    let child = vec![Round::call("c1", "send_user_message", message), text("Done.")];
    let request = json!({"prompt": "Work.", "name": "worker"});
    let talk = family("openai", "", vec![("PARENT", asks(request)), ("Work.", child)]);
    let happened = talk.turn(&["PARENT"]);
    let messages: Vec<&Value> = happened.of("message").collect();
    assert_eq!(messages.len(), 1, "{happened:?}");
    assert_eq!((&messages[0]["message"], &messages[0]["level"]), (&json!("sub-agent 'worker': Halfway there."), &json!("warning")));
}

/// What restricts the parent's agent restricts one of another name, also where files are not named: in a search, and in the sandbox.
#[test]
fn what_the_parent_may_not_read_is_not_found_by_another_agent() {
    let config = "[agents.main.rules]\ndeny = [\"read(private/**)\"]\n[agents.other]\nprompt = \"You are another.\"\n";
    let child = vec![
        Round::Calls(vec![
            call("c1", "grep_search", json!({"pattern": "hunter", "path": "."})),
            call("c2", "exec", json!({"command": "cat p*/*; true"})),
            call("c3", "read_file", json!({"path": "private/key.txt"})),
        ]),
        text("Tried."),
    ];
    let parent = vec![spawn("Find it.", &json!({"agent_id": "other"})), text("I wait."), text("Over.")];
    let talk = family("openai", config, vec![("PARENT", parent), ("Find it.", child)]);
    talk.world.write("private/key.txt", "hunter2 is the word\n");
    talk.world.write("public.txt", "hunters\n");
    let happened = talk.turn(&["PARENT"]);
    let lines = transcript(&talk, &id_of_child(&talk)).join("\n");
    assert!(lines.contains("success: public.txt"), "it searched: {happened:?}\n{lines}");
    assert!(!lines.contains("is the word"), "{lines}");
}

#[test]
fn message_to_an_idle_session_is_read_when_it_is_resumed() {
    let older = Talk::new("openai", vec![text("Hello.")]);
    older.turn(&["an older conversation"]);
    let id = older.world.run(&["sessions", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let send = Round::call("s1", "sessions_send", json!({"session": id, "message": "The build is red."}));
    let talk = Talk { server: ModelServer::start(vec![send, text("Sent."), text("I see.")]).unwrap(), ..older };
    talk.configure("[sessions]\nvisibility = \"agent\"\n");
    let happened = talk.turn(&["tell it"]);
    assert!(result(&happened).ends_with("reads the message when the user resumes it; no answer yet."), "{happened:?}");
    assert_eq!(talk.turn(&["what is new?", "--session", &id]).ended(), ("done", "I see."));
    let told = talk.server.asked().last().unwrap().body.to_string();
    assert!(told.contains("of agent 'main', not from the user]\\nThe build is red."), "{told}");
    assert!(told.find("The build is red.").unwrap() < told.find("what is new?").unwrap(), "{told}");
}

/// Untrusted content that a sub-agent saw, and private data that it read, count for its parent.
#[test]
fn what_a_sub_agent_saw_taints_its_parent() {
    let (page, _) = server("an untrusted page");
    let url = format!("http://127.0.0.2:{page}/");
    let fetch = |id: &str| call(id, "web_fetch", json!({"url": url}));
    let parent = vec![Round::call("p1", "agent", json!({"prompt": "Look."})), Round::Calls(vec![fetch("p2")]), text("Over.")];
    let child = vec![Round::Calls(vec![fetch("c1"), call("c2", "read_file", json!({"path": "a.txt"}))]), text("Looked.")];
    let talk = family("openai", &format!("[network]\nallow = ['127.0.0.2:{page}']\n"), vec![("PARENT", parent), ("Look.", child)]);
    talk.world.write("a.txt", "private\n");
    let happened = talk.turn(&["PARENT", "--access", "full-access"]);
    assert_eq!(happened.outcomes(), ["success", "permission_denied"], "{happened:?}");
    assert!(talk.results().last().unwrap().1.to_string().contains("seen untrusted content"), "{:?}", talk.results());
}

#[test]
fn model_of_the_request_of_the_type_or_of_the_agent_answers_for_a_sub_agent() {
    let config = "[agents.other]\nmodel = \"work/m4\"\n";
    let requests = [
        ("agent", json!({"prompt": "CHILD"}), "m1"),
        ("agent", json!({"prompt": "CHILD", "model": "work/m2"}), "m2"),
        ("agent", json!({"prompt": "CHILD", "subagent_type": "critic"}), "m3"),
        ("agent", json!({"prompt": "CHILD", "subagent_type": "critic", "model": "work/m2"}), "m2"),
        ("sessions_spawn", json!({"task": "CHILD", "agent_id": "other"}), "m4"),
    ];
    for (tool, arguments, model) in requests {
        let parent = vec![Round::call("p1", tool, arguments.clone()), text("I wait."), text("Over.")];
        let talk = family("openai", config, vec![("PARENT", parent), ("CHILD", vec![text("Here.")])]);
        let types = talk.world.path("config/haft/agents");
        std::fs::create_dir_all(&types).unwrap();
        std::fs::write(types.join("critic.md"), "---\ndescription: Reviews\nmodel: work/m3\n---\nBe strict.\n").unwrap();
        let ran = talk.says(&["PARENT"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let of_child: Vec<Value> = talk
            .server
            .asked()
            .iter()
            .filter(|asked| !asked.body.to_string().contains("PARENT"))
            .map(|asked| asked.body["model"].clone())
            .collect();
        assert_eq!(of_child, [json!(model)], "{arguments}");
    }
}

#[test]
fn sub_agent_without_a_lane_is_pending_and_runs_when_one_is_free() {
    let (first, list) = (Hold::default(), Hold::default());
    let parent = vec![
        spawn("First.", &json!({})),
        spawn("Second.", &json!({})),
        Round::call("p3", "subagents", json!({})).held(Moment::Start, &list),
        text("I wait."),
        text("One is over."),
        text("Both are over."),
    ];
    let talk = family(
        "openai",
        "[subagents]\nconcurrency = 1\n",
        vec![("PARENT", parent), ("First.", vec![text("One.").held(Moment::Start, &first)]), ("Second.", vec![text("Two.")])],
    );
    let turn = talk.begin(&["PARENT"]);
    assert!(first.reached() && list.reached());
    let mut now = states(&talk);
    now.sort();
    assert_eq!(now, ["First. running", "Second. pending"]);
    list.release();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while talk.server.asked().len() < 5 {
        assert!(std::time::Instant::now() < deadline, "the parent was told");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    first.release();
    let happened = turn.finish(&talk.world);
    assert_eq!(happened.ended().0, "done", "{happened:?}");
    let lines = transcript(&talk, "last").join("\n");
    assert!(lines.contains("First. (general-purpose): running,") && lines.contains("Second. (general-purpose): pending,"), "{lines}");
    let mut ended = states(&talk);
    ended.sort();
    assert_eq!(ended, ["First. done", "Second. done"]);
}

/// Complaint: kills that leave what was started below (openclaw 24219, orphans).
#[test]
fn kill_ends_everything_beneath_and_nothing_beside() {
    let (deep, kill) = (Hold::default(), Hold::default());
    let writes = Round::call("d1", "write_file", json!({"path": "made.txt", "content": "x"})).held(Moment::Start, &deep);
    let parent = vec![
        Round::Calls(vec![
            call("p1", "sessions_spawn", json!({"task": "Middle.", "label": "middle"})),
            call("p2", "sessions_spawn", json!({"task": "Beside.", "label": "beside"})),
        ]),
        Round::call("p3", "subagents", json!({"action": "kill", "target": "middle"})).held(Moment::Start, &kill),
        text("I wait."),
        text("Over."),
    ];
    let middle = vec![Round::call("m1", "sessions_spawn", json!({"task": "Deep.", "label": "deep"})), text("Waiting.")];
    let talk = family(
        "openai",
        "[subagents]\nmax_depth = 2\n",
        vec![("PARENT", parent), ("Middle.", middle), ("Beside.", vec![text("Fine.")]), ("Deep.", vec![writes, text("never")])],
    );
    let turn = talk.begin(&["PARENT"]);
    assert!(deep.reached() && kill.reached());
    kill.release();
    let happened = turn.finish(&talk.world);
    assert_eq!(happened.ended().0, "done", "{happened:?}");
    let mut ended = states(&talk);
    ended.sort();
    assert_eq!(ended, ["beside done", "deep killed", "middle killed"]);
    let said = transcript(&talk, "last").join("\n");
    assert!(said.contains("Ended 2: ") && said.contains("'deep' (killed)"), "{said}");
    assert!(!talk.world.file("made.txt").exists());
}

/// Complaint: hooks that do not run for sub-agents (seed 001 runs none there).
#[test]
fn hooks_run_for_calls_of_sub_agents() {
    let hook = r#"cat > /dev/null; echo '{"decision": "block", "reason": "not here"}'"#;
    let config = format!("[[hooks]]\nname = \"guard\"\nevent = \"before_tool_call\"\nmatch = [\"write_file\"]\ncommand = '''{hook}'''\n");
    let child = vec![Round::call("c1", "write_file", json!({"path": "made.txt", "content": "x"})), text("Tried.")];
    let talk = family("openai", &config, vec![("PARENT", asks(json!({"prompt": "Write it."}))), ("Write it.", child)]);
    let happened = talk.turn(&["PARENT"]);
    let lines = transcript(&talk, &id_of_child(&talk)).join("\n");
    assert!(lines.contains("result write_file error: ") && lines.contains("not here"), "{lines} {happened:?}");
    assert!(!talk.world.file("made.txt").exists());
}
