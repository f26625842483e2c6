//! Turns and approvals: what a page sees, from the message to the result.

use serde_json::{Value, json};

use super::{PageClient, Served};
use crate::suite::harness::World;
use crate::suite::pty::Pty;

/// Every write is asked about.
const ASKS: &str = "[rules]\nask = [\"write(**)\"]\n";

fn items_of(events: &[(String, Value)], kind: &str) -> Vec<Value> {
    events.iter().filter(|(name, data)| name == "item" && data["item"]["type"] == kind).map(|(_, data)| data["item"].clone()).collect()
}

#[test]
fn message_becomes_events_and_a_transcript() {
    let world = World::new();
    world.write("a.txt", "hello *world*\n");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let events = page.turn(&session, "read a.txt");
    assert_eq!(items_of(&events, "user")[0]["text"], "read a.txt");
    assert_eq!(items_of(&events, "call")[0]["call"]["tool"], "read_file");
    let ended = events.iter().find(|(name, data)| name == "call" && data["call"]["state"] == "success").unwrap();
    assert_eq!(ended.1["call"]["title"], "a.txt");
    assert!(ended.1["call"]["result_html"].as_str().unwrap().contains("hello *world*"));
    let text: String = events.iter().filter(|(name, _)| name == "text").map(|(_, data)| data["delta"].as_str().unwrap()).collect();
    assert!(text.contains("read_file: hello"), "{text}");
    assert_eq!(items_of(&events, "turn_end")[0]["reason"], "done");

    // The same after the page was loaded again, from the store.
    let stored = page.read(&format!("/api/sessions/{session}/items"));
    let kinds: Vec<&str> = stored["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "call", "assistant"], "{stored:#}");
    let call = &stored["items"][1]["call"];
    assert_eq!((&call["state"], &call["effects"][0]["target"]), (&json!("success"), &json!("a.txt")));
    assert_eq!(call["decision"]["verdict"], "allow");
    let listed = page.read("/api/sessions");
    assert_eq!((&listed["sessions"][0]["title"], &listed["sessions"][0]["state"]), (&json!("read a.txt"), &json!("idle")));
}

#[test]
fn approval_is_answered_once_and_every_page_learns_by_whom() {
    let world = World::with_config(ASKS);
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let mut other = page.events("");
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
    let approval = &asked["approval"];
    assert_eq!((&approval["tool"], &approval["effects"][0]["target"]), (&json!("write_file"), &json!("b.txt")));
    assert!(approval["diff_html"].as_str().unwrap().contains("+hi"), "{approval:#}");
    assert_eq!(page.read("/api/approvals")["approvals"][0]["id"], approval["id"]);
    assert_eq!(page.read(&format!("/api/sessions/{session}"))["state"], "waiting");
    assert!(!world.file("b.txt").exists());

    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
    let answer = |fingerprint: &Value| page.post(&path, &json!({ "fingerprint": fingerprint, "answer": "once" })).status;
    assert_eq!(answer(&json!("0000")), 409, "an answer for another call");
    assert_eq!(answer(&approval["fingerprint"]), 200);
    assert_eq!(answer(&approval["fingerprint"]), 409, "the first answer counts");
    for reader in [&mut events, &mut other] {
        let (_, closed) = reader.until(|name, _| name == "approval_closed").pop().unwrap();
        assert_eq!((&closed["answer"], &closed["by"]), (&json!("once"), &json!("page 'link'")));
    }
    events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    assert_eq!(world.read("b.txt"), "hi\n");
    assert_eq!(page.read("/api/approvals")["approvals"], json!([]));
}

#[test]
fn denied_call_does_nothing_and_tells_the_model_why() {
    let world = World::with_config(ASKS);
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
    let path = format!("/api/approvals/{}", asked["approval"]["id"].as_str().unwrap());
    let body = json!({ "fingerprint": asked["approval"]["fingerprint"], "answer": "deny", "comment": "not today" });
    assert_eq!(page.post(&path, &body).status, 200);
    let seen = events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    let denied = seen.iter().find(|(name, data)| name == "call" && data["call"]["state"] == "denied").unwrap();
    assert!(denied.1["call"]["message"].as_str().unwrap().contains("not today"));
    assert!(!world.file("b.txt").exists());
    let history = page.read("/api/history?status=denied");
    assert_eq!(history["calls"][0]["tool"], "write_file");
}

#[test]
fn turn_continues_without_a_page_and_resumes_by_number() {
    let world = World::with_config(ASKS);
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
    let last = events.id.unwrap();
    drop(events);
    let path = format!("/api/approvals/{}", asked["approval"]["id"].as_str().unwrap());
    page.post(&path, &json!({ "fingerprint": asked["approval"]["fingerprint"], "answer": "once" }));
    // What happened meanwhile comes first, nothing twice.
    let mut resumed = page.with("last-event-id", &last.to_string()).events("");
    let seen = resumed.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    assert_eq!(seen.iter().filter(|(name, _)| name == "approval").count(), 0);
    assert_eq!(seen.iter().filter(|(name, _)| name == "approval_closed").count(), 1);
    // A number of another server begins anew.
    let (name, _) = page.with("last-event-id", "12").events("").next().unwrap();
    assert_eq!(name, "reset");
}

#[test]
fn snapshot_of_a_running_turn_and_later_events_make_the_whole() {
    let world = World::with_config(ASKS);
    world.write("a.txt", "x");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    page.turn(&session, "read a.txt");
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
    let snapshot = page.read(&format!("/api/sessions/{session}/items"));
    let items = snapshot["items"].as_array().unwrap();
    let ids: std::collections::HashSet<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), items.len(), "{snapshot:#}");
    assert_eq!(items.iter().filter(|item| item["type"] == "user").count(), 2, "{snapshot:#}");
    let call = items.iter().rev().find(|item| item["type"] == "call").unwrap();
    assert_eq!((&call["call"]["state"], &call["call"]["approval"]), (&json!("waiting"), &asked["approval"]["id"]));
    assert!(page.post(&format!("/api/sessions/{session}/cancel"), &json!({})).json()["cancelled"] == true);
    let mut later = page.events(&format!("?after={}", snapshot["seq"]));
    let seen = later.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    assert_eq!(seen.last().unwrap().1["item"]["reason"], "cancelled");
    assert!(!world.file("b.txt").exists());
}

#[test]
fn sessions_run_commands_at_the_same_time() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let (long, short) = (page.create(), page.create());
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{long}/messages"), &json!({ "text": "run `echo begun; sleep 300`" }));
    events.until(|name, data| name == "progress" && data["line"] == "begun");
    let turn = page.turn(&short, "run `echo done`");
    let own = |(name, data): &&(String, Value)| name == "call" && data["session"] == short.as_str();
    let call = turn.iter().rev().find(own).map(|(_, data)| &data["call"]).unwrap();
    assert_eq!((&call["state"], &call["result"]), (&json!("success"), &json!("done")), "{call:#}");
    assert_eq!(page.post(&format!("/api/sessions/{long}/cancel"), &json!({})).status, 200);
}

#[test]
fn stop_answers_what_runs_and_ends_well() {
    let world = World::with_config(ASKS);
    let mut served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    events.until(|name, _| name == "approval");
    assert_eq!(served.stop(), Some(0));
    let mut names = Vec::new();
    while let Some((name, _)) = events.next() {
        names.push(name);
    }
    assert_eq!(names.last().map(String::as_str), Some("bye"));
    // The session is whole: the call has its result, and the conversation continues in a new server.
    let again = Served::start(&world);
    let page: PageClient = again.page();
    let events = page.turn(&session, "what time is it?");
    assert_eq!(items_of(&events, "turn_end")[0]["reason"], "done");
}

#[test]
fn session_is_renamed_forked_and_removed() {
    let world = World::new();
    world.write("a.txt", "x");
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    page.turn(&session, "read a.txt");
    let path = format!("/api/sessions/{session}");
    assert_eq!(page.send("PATCH", &path, br#"{"title":"Mine"}"#).json()["title"], "Mine");
    let fork = page.post(&format!("{path}/fork"), &json!({})).json();
    assert_eq!(fork["fork_of"], json!(session));
    assert_eq!(page.send("DELETE", &path, b"").status, 200);
    assert_eq!(page.get(&path).status, 404);
    assert_eq!(page.read("/api/sessions")["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn approval_is_asked_at_the_terminal_too_and_the_first_answer_counts() {
    let world = World::with_config(ASKS);
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("HAFT_LOCAL_MODELS", "").env("TERM", "dumb");
    let mut terminal = Pty::start(command, 200);
    let shown = terminal.waits_for("Ctrl-C ends the server.");
    let link = shown.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let (address, token) = link.trim_start_matches("http://").split_once("/#token=").unwrap();
    let page = PageClient::sign_in(address, token);
    let session = page.create();
    let mut events = page.events("");
    // The terminal answers first.
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"hi\" to b.txt" }));
    terminal.waits_for("answer, then Enter");
    terminal.types("y\n");
    let (_, closed) = events.until(|name, _| name == "approval_closed").pop().unwrap();
    assert_eq!((&closed["answer"], &closed["by"]), (&json!("once"), &json!("terminal")));
    events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    assert_eq!(world.read("b.txt"), "hi\n");
    // The page answers first, and the terminal says so.
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "write \"ho\" to c.txt" }));
    let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
    let path = format!("/api/approvals/{}", asked["approval"]["id"].as_str().unwrap());
    let body = json!({ "fingerprint": asked["approval"]["fingerprint"], "answer": "deny" });
    assert_eq!(page.post(&path, &body).status, 200);
    terminal.waits_for("answered on the page 'link': deny");
    events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    assert!(!world.file("c.txt").exists());
    terminal.signals(rustix::process::Signal::INT);
    let (status, _) = terminal.ends();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn call_that_runs_is_running_in_the_history_too() {
    let world = World::new();
    let served = Served::start(&world);
    let page = served.page();
    let session = page.create();
    let mut events = page.events("");
    page.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": "run `echo begun; sleep 60`" }));
    events.until(|name, _| name == "progress");
    let state = |page: &PageClient| page.read("/api/history")["calls"][0]["state"].clone();
    assert_eq!(state(&page), "running");
    page.post(&format!("/api/sessions/{session}/cancel"), &json!({}));
    events.until(|name, data| name == "item" && data["item"]["type"] == "turn_end");
    assert_eq!(page.read("/api/history?limit=1")["calls"][0]["state"], "cancelled");
}

#[test]
fn run_with_a_server_shows_the_turn_of_it() {
    let world = World::new();
    world.write("a.txt", "hello\n");
    let none = world.run(&["run", "--server", "read a.txt"]);
    assert!(none.code == 1 && none.stderr.contains("no server runs"), "{}", none.stderr);
    let served = Served::start(&world);
    let ran = world.run(&["run", "--server", "read a.txt"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("read_file: hello"), "{}", ran.stdout);
    assert!(ran.stderr.contains("read_file a.txt"), "{}", ran.stderr);
    assert_eq!(served.page().read("/api/sessions")["sessions"][0]["title"], "read a.txt");
    let json = world.run(&["run", "--server", "--json", "read a.txt"]);
    let lines: Vec<Value> = json.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).filter(|kind| *kind != "text_delta").collect();
    assert_eq!(kinds, ["turn_start", "tool_start", "tool_end", "usage", "turn_end"], "{}", json.stdout);
    assert_eq!((&lines[0]["schema"], &lines[0]["model"]), (&json!(1), &json!("demo/demo")));
    let end = lines.last().unwrap();
    assert!(end["reason"] == "done" && end["text"].as_str().unwrap().contains("read_file: hello") && end["calls"] == 1, "{end:#}");
    let foreign = world.run(&["run", "--server=http://192.0.2.1:80", "hi"]);
    assert!(foreign.code == 2 && foreign.stderr.contains("no server of this machine"), "{}", foreign.stderr);
}
