//! `haft run` and `haft sessions`: a model with real tools, from the command line.

use haft_testkit::{ModelServer, Round};
use serde_json::{Value, json};

use super::harness::{Ran, World};

/// Without keys and without servers of this machine.
const ALONE: &[(&str, &str)] = &[("HAFT_LOCAL_MODELS", "")];

fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[test]
fn the_demo_model_makes_real_calls_and_says_what_it_is() {
    let world = World::new();
    world.write("README.md", "sharpen the axe\n");
    let ran = world.run_with(ALONE, &["run", "What time is it in Tokyo, and what does README.md say?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("[demo model") && ran.stdout.contains("read_file: sharpen the axe"), "{ran:?}");
    assert!(ran.stderr.contains("ok read_file README.md") && ran.stderr.contains("ok get_current_time Asia/Tokyo"), "{ran:?}");
    let history = world.run(&["history", "--json"]).json();
    let tools: Vec<&Value> = history.as_array().unwrap().iter().map(|call| &call["tool"]).collect();
    assert_eq!(tools.len(), 2, "{history}");
}

#[test]
fn events_are_lines_and_every_start_has_one_end() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let ran = world.run_with(ALONE, &["run", "--json", "read a.txt and missing.txt"]);
    let events = events(&ran);
    let expected = ["turn_start", "tool_start", "tool_start", "tool_end", "tool_end", "usage", "text_delta", "usage", "turn_end"];
    let mut sorted = kinds(&events);
    assert_eq!((sorted.first(), sorted.last()), (Some(&"turn_start"), Some(&"turn_end")), "{sorted:?}");
    sorted.sort_unstable();
    let mut wanted = expected.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted);
    assert_eq!(events[0]["schema"], 1);
    let ids = |kind: &str| -> Vec<String> {
        let mut ids: Vec<String> =
            events.iter().filter(|event| event["type"] == kind).map(|event| event["call_id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("tool_start"), ids("tool_end"));
    let failed = events.iter().find(|event| event["status"] == "error").unwrap();
    assert_eq!((&failed["tool"], &failed["error_type"]), (&json!("read_file"), &json!("file_not_found")));
}

#[test]
fn last_session_is_that_of_the_folder_and_one_of_another_is_named() {
    let world = World::new();
    let home = world.path("home").display().to_string();
    assert_eq!(world.run_with(ALONE, &["run", "what time is it?"]).code, 0);
    assert_eq!(
        world
            .run_with(ALONE, &["run", "--workspace", &home, "--session", "last", "what time is it?"])
            .all()
            .matches("yet: this is the last one of")
            .count(),
        1
    );
    assert_eq!(world.run_with(ALONE, &["run", "--workspace", &home, "what day is it?"]).code, 0);
    let ran = world.run_with(ALONE, &["run", "--session", "last", "how much memory is there?"]);
    assert!(ran.code == 0 && !ran.all().contains("the last one of"), "{ran:?}");
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(sessions[0]["title"], "what time is it?", "{sessions}");
}

#[test]
fn session_resumes_where_it_was_left() {
    let world = World::new();
    assert_eq!(world.run_with(ALONE, &["run", "what time is it?"]).code, 0);
    assert_eq!(world.run_with(ALONE, &["run", "--session", "last", "how much memory is there?"]).code, 0);
    let sessions = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    assert_eq!(sessions[0]["title"], "what time is it?");
    let shown = world.run(&["sessions", "show", "last"]);
    assert!(shown.stdout.contains("what time is it?") && shown.stdout.contains("→ system_info {}"), "{shown:?}");
    let exported = world.run(&["sessions", "export", "last"]).json();
    let kinds: Vec<&Value> = exported["entries"].as_array().unwrap().iter().map(|entry| &entry["kind"]).collect();
    let turn = ["user", "begun", "assistant", "results", "assistant"];
    assert_eq!(kinds, [turn, turn].concat());
    let forked = world.run(&["sessions", "fork", "last", "--at", "5", "--json"]).json();
    let copy = world.run(&["sessions", "export", forked["id"].as_str().unwrap()]).json();
    assert_eq!(copy["entries"].as_array().map(Vec::len), Some(5));
    assert_eq!(world.run(&["sessions", "delete", forked["id"].as_str().unwrap()]).code, 0);
    assert_eq!(world.run(&["sessions", "list", "--json"]).json().as_array().map(Vec::len), Some(1));
}

#[test]
fn the_policy_holds_for_models_too() {
    let world = World::with_config("[tools]\ndeny = [\"read_file\"]\n");
    let ran = world.run_with(ALONE, &["run", "read a.txt"]);
    assert!(ran.stdout.contains("`haft explain read_file` says why"), "{ran:?}");
}

#[test]
fn every_protocol_is_spoken_over_the_wire() {
    for protocol in ["openai", "openai-responses", "anthropic", "gemini"] {
        let call = ("call_1".to_owned(), "read_file".to_owned(), json!({"path": "a.txt"}));
        let server = ModelServer::start(vec![Round::Calls(vec![call]), Round::Text("It says one.".into())]).unwrap();
        let config = format!(
            "model = \"work/m1\"\n[providers.work]\nprotocol = \"{protocol}\"\nbase_url = \"{}\"\napi_key_env = \"WORK_KEY\"\n",
            server.url()
        );
        let world = World::with_config(&config);
        world.write("a.txt", "one\n");
        let ran = world.run_with(&[("WORK_KEY", "k-123")], &["run", "what does a.txt say?"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "It says one.\n"), "{protocol}: {ran:?}");
        assert!(ran.stderr.contains("ok read_file a.txt"), "{protocol}: {ran:?}");
        assert_eq!(server.asked().len(), 2, "{protocol}");
        assert!(
            server.asked()[1].body.to_string().replace("\\\\n", "\\n").contains("one\\n"),
            "{protocol}: the result goes back: {}",
            server.asked()[1].body
        );
        let missing = world.run(&["run", "hi"]);
        assert!(missing.code == 2 && missing.stderr.contains("WORK_KEY"), "{protocol}: {missing:?}");
    }
}

#[test]
fn wrong_models_are_said_in_a_sentence() {
    let world = World::new();
    for (model, words) in [("nonsense", "provider/model"), ("nobody/x", "there is no provider 'nobody'"), ("anthropic/", "provider/model")]
    {
        let ran = world.run(&["run", "--model", model, "hi"]);
        assert!(ran.code == 2 && ran.stderr.contains(words), "{model}: {ran:?}");
    }
    let ran = world.run(&["run", ""]);
    assert!(ran.code == 2 && ran.stderr.contains("the prompt is empty"), "{ran:?}");
}
