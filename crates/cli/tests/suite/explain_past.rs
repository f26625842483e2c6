//! `haft explain CALL-ID`: a recorded decision beside the one of today.

use serde_json::{Value, json};

use super::harness::{World, said};
use super::network::server;

/// The newest call in history.
fn newest(world: &World) -> Value {
    world.run(&["history", "--limit", "1", "--json"]).json()[0].take()
}

/// A call that was refused by a rule that is gone since.
fn refused() -> (World, Value) {
    let world = World::with_config("[rules]\ndeny = [\"write(*.txt)\"]\n");
    world.call("write_file", &json!({"path": "a.txt", "content": "one"}));
    world.configure("[rules]\nask = [\"write(*.txt)\"]\n");
    let record = newest(&world);
    (world, record)
}

#[test]
fn then_and_now_in_words() {
    let (world, record) = refused();
    let id = record["id"].as_str().unwrap();
    let ran = world.run(&["explain", &id[id.len() - 8..]]);
    let (head, rest) = ran.stdout.split_once('\n').unwrap();
    assert!(head.starts_with("Then, 20") && head.ends_with(&format!(" UTC, call {id}")), "{head}");
    insta::assert_snapshot!("explain_past", rest);
    assert!(!world.file("a.txt").exists());
    assert_eq!(newest(&world), record, "explaining is not recorded");
}

#[test]
fn then_and_now_as_data() {
    let (world, record) = refused();
    let id = record["id"].as_str().unwrap();
    let mut explained = world.run(&["explain", id, "--json"]).json();
    let now = world.run(&["explain", "write_file", &record["arguments"].to_string(), "--json"]).json();
    assert_eq!((&now["verdict"], &explained["now"]), (&json!("ask"), &now));
    let _ = explained["now"].take();
    let expected = json!({
        "id": id, "call_id": record["call_id"], "tool": "write_file", "started": record["started"], "agent": "main",
        "session": record["session"], "workspace": "[world]/workspace", "arguments": record["arguments"],
        "then": {
            "verdict": "deny",
            "effects": record["effects"],
            "trace": said(&record["decision"]),
            "message": record["summary"],
            "to_change": "remove 'write(*.txt)' from rules.deny ([world]/config/haft/config.toml:2)",
        },
        "now": null,
    });
    assert_eq!(explained, expected);
    for short in [&id[..36], &id[id.len() - 8..], record["call_id"].as_str().unwrap()] {
        assert_eq!(world.run(&["explain", short, "--json"]).json()["id"], id, "{short}");
    }
}

#[test]
fn a_tool_that_was_not_offered_is_explained_alone() {
    let world = World::with_config("[tools]\ndeny = [\"write_file\"]\n");
    world.call("write_file", &json!({"path": "a.txt", "content": "one"}));
    let ran = world.run(&["explain", newest(&world)["id"].as_str().unwrap()]);
    assert!(ran.stdout.contains("(on the tool alone: the arguments were not recorded, because it was not offered)"), "{}", ran.stdout);
}

#[test]
fn the_workspace_and_the_agent_are_those_of_the_call() {
    let world = World::with_config("[agents.docs]\naccess = \"read-only\"\n");
    std::fs::create_dir(world.path("other")).unwrap();
    let other = world.path("other").to_string_lossy().into_owned();
    world.run(&["call", "write_file", r#"{"path":"a.txt","content":"one"}"#, "--agent", "docs", "--workspace", &other]);
    let id = newest(&world)["id"].as_str().unwrap().to_owned();
    let explained = world.run(&["explain", &id, "--json"]).json();
    let effects = json!([{"effect": "write", "path": "[world]/other/a.txt"}]);
    assert_eq!((&explained["now"]["verdict"], &explained["now"]["effects"]), (&json!("deny"), &effects), "{explained:#}");
    world.configure("");
    let gone = world.run(&["explain", &id]);
    assert_eq!(gone.code, 0);
    assert!(gone.stdout.contains("It cannot be decided.\nerror: there is no agent 'docs'"), "{}", gone.stdout);
}

#[test]
fn what_is_no_call_says_what_to_do() {
    let (world, record) = refused();
    world.call("noop", &json!({}));
    let id = record["id"].as_str().unwrap();
    // Ids begin with the time, so calls of one hour share their beginning.
    for (word, code, says) in
        [("ffffffff", 1, "no call 'ffffffff': `haft history` lists the calls"), (&id[..5], 1, "not found"), ("raed_file", 1, "read_file")]
    {
        let ran = world.run(&["explain", word]);
        assert!(ran.code == code && ran.stderr.contains(says), "{word}: {ran:?}");
    }
    let several = format!("{}-", &id[..8]);
    let ran = world.run(&["explain", &several]);
    assert!(ran.stderr.contains(&format!("'{several}' fits several calls")) && ran.stderr.contains("give more characters"), "{ran:?}");
    let ran = world.run(&["explain", id, "--guest"]);
    assert!(ran.code == 2 && ran.stderr.contains("is a past call, which has a caller of its own"), "{ran:?}");
}

#[test]
fn a_session_names_the_calls_that_tainted_it() {
    let world = World::new();
    world.write("README.md", "sharpen the axe\n");
    world.run_with(&[("HAFT_LOCAL_MODELS", "")], &["run", "what does README.md say?"]);
    let record = newest(&world);
    let mut explained = world.run(&["explain", "--session", "last", "--json"]).json();
    assert!(explained["note"].take().as_str().unwrap().contains("Not recorded"));
    let read = json!({"call": record["id"], "tool": "read_file", "what": "README.md"});
    let expected = json!({
        "session": record["session"], "calls": 1, "grants": [], "private": [read], "untrusted": [], "disclosed": [],
        "connections": [], "refused_connections": [], "note": null,
    });
    assert_eq!(explained, expected);
    let words = world.run(&["explain", "--session", record["session"].as_str().unwrap()]).stdout;
    let id = record["id"].as_str().unwrap();
    assert!(words.contains(&format!("Tainted: private data, read by\n  {id}  read_file  README.md\n")), "{words}");
    let missing = world.run(&["explain", "--session", "nothing"]);
    assert!(missing.code == 1 && missing.stderr.contains("`haft sessions list` lists the sessions"), "{missing:?}");
}

#[test]
fn a_session_names_the_connections_of_its_commands() {
    let ((good, _), (other, _)) = (server("hello"), server("other"));
    let world = World::with_config(&format!(
        "network.allow = ['127.0.0.2:{good}', '127.0.0.2:{other}']\n\
         rules.allow = ['connect(domain:127.0.0.2:{good} method:CONNECT)']\n"
    ));
    let line = format!("curl -s http://127.0.0.2:{good}/; curl -s http://127.0.0.2:{other}/; true");
    assert_eq!(world.run(&["call", "exec", "--command", &line]).code, 0);
    let record = newest(&world);
    let explained = world.run(&["explain", "--session", record["session"].as_str().unwrap(), "--json"]).json();
    let fact = |what: String| json!([{"call": record["id"], "tool": "exec", "what": what}]);
    assert_eq!(explained["connections"], fact(format!("127.0.0.2:{good}")));
    let why = "it needs approval, and no one can approve here";
    assert_eq!(explained["refused_connections"], fact(format!("127.0.0.2:{other}: {why}")));
}

#[test]
fn a_session_and_a_tool_are_not_explained_at_once() {
    let ran = World::new().run(&["explain", "--session", "last", "exec", "--command", "ls"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.starts_with("error: --session explains a whole session, so 'exec' cannot be explained with it\n"), "{ran:?}");
}

#[test]
fn another_caller_can_do_at_most_what_the_owner_can() {
    let world = World::with_config(
        "[tools]\ndeny = [\"noop\"]\n[tools.by_provider.acme]\ndeny = [\"system_info\"]\nalso_allow = [\"noop\"]\n\
         [channels.slack.tools]\ndeny = [\"read_file\"]\n[channels.slack.senders.\"id:ann\"]\nalso_allow = [\"noop\"]\n\
         [rules]\nask = [\"write(*.txt)\"]\n",
    );
    let verdicts = |caller: &[&str]| -> Vec<String> {
        let all = world.run(&[&["explain", "--all", "--json"], caller].concat()).json();
        all.as_array().unwrap().iter().map(|tool| format!("{} {}", tool["tool"], tool["verdict"])).collect()
    };
    let denied = |of: &[String], tool: &str| of.contains(&format!("\"{tool}\" \"deny\""));
    let owner = verdicts(&[]);
    for caller in ["acme/slack/ann/1", "acme/big/slack/bob/", "acme///", "/slack//", "//ann/", "///3", "///"] {
        let theirs = verdicts(&["--as", caller]);
        let wider = owner.iter().zip(&theirs).find(|(owner, their)| owner.ends_with("\"deny\"") && owner != their);
        assert_eq!(wider, None, "{caller}");
        assert_eq!(denied(&theirs, "system_info"), caller.starts_with("acme"), "{caller}");
    }
    // A call is decided as it is explained, and recorded with its caller.
    for (tool, arguments, caller, code) in [
        ("system_info", "{}", "acme///", 1),
        ("system_info", "{}", "other///", 0),
        ("read_file", r#"{"path":"a"}"#, "/slack/bob/", 1),
        ("write_file", r#"{"path":"a.txt","content":""}"#, "//ann/", 1),
        ("noop", "{}", "acme/slack/ann/", 1),
    ] {
        assert_eq!(world.run(&["call", tool, arguments, "--as", caller]).code, code, "{tool} {caller}");
        assert_eq!(newest(&world)["decision"]["caller"]["owner"], json!(false), "{tool} {caller}");
    }
    for (caller, says) in
        [("acme", "write four parts, PROVIDER/CHANNEL/SENDER/DEPTH"), ("///x", "the last part is the number of sub-agents")]
    {
        let ran = world.run(&["call", "--as", caller, "noop"]);
        assert!(ran.code == 2 && ran.stderr.contains(says), "{ran:?}");
    }
}
