//! `haft explain`: the verdict, its reasons, and what to change.

use serde_json::{Value, json};

use super::harness::{World, said};

#[test]
fn in_words() {
    let world = World::with_config("[tools]\ndeny = [\n  \"http_*\",\n]\n");
    let runs = [
        world.run(&["explain", "write_file", r#"{"path":"/outside.txt","content":"y"}"#]),
        world.run(&["explain", "write_file", "--path", "x", "--content", "y"]),
        world.run(&["explain", "http_request"]),
        world.run(&["explain", "get_current_time"]),
        world.run(&["explain", "nothing_like_it"]),
        world.run(&["explain", "read_file", "{}"]),
    ];
    // Denied, or not there without a channel, a page or a model that sees.
    let absent = ["http_request", "message", "canvas", "image"];
    let all: Vec<&str> = haft_builtin::metas().map(|meta| meta.name).filter(|name| !absent.contains(name)).collect();
    insta::assert_snapshot!("explain", runs.map(|ran| ran.all()).join("\n").replace(&all.join(", "), "[every tool that is offered]"));
}

#[test]
fn a_narrow_terminal_cuts_nothing() {
    let world = World::with_config("[tools]\nallow = [\"write_*\"]\n");
    let ran = world.run_with(&[("COLUMNS", "30")], &["explain", "write_file", "--path", "../x", "--content", "y"]);
    let because: Vec<&str> = ran.stdout.lines().skip_while(|line| *line != "Because").skip(1).take_while(|line| !line.is_empty()).collect();
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 30), "{}", ran.stdout);
    assert_eq!(
        because.last_chunk(),
        Some(&[
            "  12.  deny  access level",
            "    write needs full-access,",
            "    the session has",
            "    workspace-write",
            "  nothing configured: switched",
            "  off, profile, provider",
            "  profile, global per",
            "  provider, agent, agent per",
            "  provider, group, sandbox,",
            "  sub-agent, owner-only,",
            "  rules, exec, asking",
        ]),
        "{because:#?}"
    );
}

#[test]
fn as_data() {
    let world = World::with_config("[tools]\nallow = [\"write_*\"]\n");
    let ran = world.run(&["explain", "write_file", r#"{"path":"../x","content":"y"}"#, "--json"]);
    let expected = json!({
        "verdict": "deny",
        "tool": "write_file",
        "effects": [{"effect": "write", "path": "[world]/x", "outside": true}],
        "trace": [
            {"step": "global", "outcome": "pass", "entry": "allow write_*", "file": "[world]/config/haft/config.toml", "line": 2},
            {"step": "access level", "outcome": "deny", "entry": "write needs full-access, the session has workspace-write"},
        ],
        "message": "Access denied: path is outside the workspace: '[world]/x'. Use a path inside the workspace; only the user can grant full-access.",
        "to_change": "set ask = \"beyond\" and add 'write_file([world]/x)' to rules.allow",
        "advice": {
            "edits": [
                {"edit": "set", "key": "ask", "value": "beyond"},
                {"edit": "add", "key": "rules.allow", "entry": "write_file([world]/x)"},
            ],
            "then": "allow",
        },
    });
    let mut explained = ran.json();
    let steps: Vec<Value> = explained["trace"].as_array().unwrap().iter().map(|entry| entry["step"].clone()).collect();
    assert_eq!(steps, haft_policy::STEPS, "every step is there, in order");
    explained["trace"] = said(&explained).into();
    assert_eq!((ran.code, explained), (0, expected));
    let unknown = world.run(&["explain", "raed_file", "--json"]);
    assert_eq!((unknown.code, &unknown.json()["error_type"]), (1, &json!("tool_not_found")));
}

#[test]
fn nothing_is_done_and_nothing_recorded() {
    let world = World::new();
    let ran = world.run(&["explain", "write_file", r#"{"path":"x","content":"y"}"#]);
    assert!(ran.stdout.starts_with("write_file: allow\n"), "{ran:?}");
    assert!(!world.file("x").exists());
    assert_eq!(world.run(&["history", "--json"]).json(), json!([]));
}

#[test]
fn what_it_says_is_what_a_call_gets() {
    let world = World::with_config("[tools]\ndeny = [\"system_info\"]\n");
    for (tool, arguments) in [
        ("read_file", json!({"path": "../x"})),
        ("write_file", json!({"path": ".git/config", "content": ""})),
        ("http_request", json!({"url": "http://10.0.0.1/"})),
        ("system_info", json!({})),
    ] {
        let explained = world.run(&["explain", tool, &arguments.to_string(), "--json"]).json();
        let (_, called) = world.call(tool, &arguments);
        assert_eq!((&explained["verdict"], &explained["message"]), (&json!("deny"), &called["message"]), "{tool}");
        assert_eq!(explained["to_change"], called["details"]["to_change"], "{tool}");
        assert_eq!(json!(said(&explained)), called["details"]["decision"], "{tool}");
    }
}
