//! A model of each dialect: shown its own names and parameters, understood in them, by flag, agent and model.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::model::{Talk, done};

/// The tools of a request: name and parameters, required ones first.
fn offered(body: &Value, tool: &str) -> Option<(Vec<String>, Vec<String>)> {
    let tools = body["tools"].as_array().unwrap();
    let function = tools.iter().map(|tool| &tool["function"]).find(|function| function["name"] == tool)?;
    let names = |value: Vec<&str>| value.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let properties = function["parameters"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let required = function["parameters"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Some((names(properties), names(required)))
}

/// The name of a dialect, its call that edits a file, and the parameters that it is offered.
fn edits() -> [(&'static str, &'static str, Value, &'static [&'static str]); 3] {
    [
        (
            "haft",
            "edit_file",
            json!({"path": "notes.txt", "old_string": "axe", "new_string": "saw"}),
            &["path", "old_string", "new_string", "replace_all", "edits"],
        ),
        (
            "claw",
            "edit_file",
            json!({"path": "notes.txt", "old_string": "axe", "new_string": "saw", "replace_all": false}),
            &["path", "old_string", "new_string", "replace_all"],
        ),
        ("openclaw", "edit", json!({"path": "notes.txt", "oldText": "axe", "newText": "saw"}), &["path", "oldText", "newText"]),
    ]
}

#[test]
fn scripted_model_edits_a_file_in_each_dialect() {
    for (dialect, tool, arguments, parameters) in edits() {
        let flag = ["--dialect", dialect];
        for (config, words) in [
            (String::new(), &flag[..]),
            (format!("[agents.main]\ndialect = \"{dialect}\"\n"), &[]),
            (format!("[models.\"work/m1\"]\ndialect = \"{dialect}\"\n"), &[]),
        ] {
            let talk = Talk::with("openai", &config, vec![Round::call("c1", tool, arguments.clone()), done()]);
            talk.world.write("notes.txt", "sharpen the axe\n");
            let ran = talk.says(&[words, &["edit it"]].concat());
            assert_eq!((ran.code, talk.world.read("notes.txt").as_str()), (0, "sharpen the saw\n"), "{dialect} {config}: {ran:?}");
            let request = talk.server.asked().remove(0);
            let (shown, _) = offered(&request.body, tool).unwrap();
            assert_eq!(shown, parameters, "{dialect} {config}");
        }
    }
}

#[test]
fn command_is_required_and_no_dialect_is_shown_parameters_of_another() {
    for (dialect, tool, foreign) in [
        ("haft", "exec", &["dangerously_disable_sandbox", "filesystem_mode", "elevated", "yieldMs"][..]),
        ("claw", "bash", &["allow_host", "dry_run", "commit", "yield_ms", "elevated", "dangerously_disable_sandbox"]),
        ("openclaw", "exec", &["dangerouslyDisableSandbox", "dangerously_disable_sandbox", "dry_run", "memory_mb"]),
    ] {
        let talk = Talk::with("openai", "", vec![Round::call("c1", tool, json!({"command": "echo hello"})), done()]);
        let ran = talk.says(&["--dialect", dialect, "run it"]);
        assert_eq!(ran.code, 0, "{dialect}: {ran:?}");
        let request = talk.server.asked().remove(0);
        let (shown, required) = offered(&request.body, tool).unwrap();
        assert_eq!(required, ["command"], "{dialect}");
        assert!(foreign.iter().all(|name| !shown.iter().any(|shown| shown == name)), "{dialect}: {shown:?}");
    }
}

#[test]
fn flag_of_call_and_explain_decides_what_a_name_means() {
    let world = super::harness::World::new();
    world.write("poem.txt", "one\ntwo\nthree\n");
    for (dialect, tool, first) in [("haft", "read_file", "two"), ("claw", "read_file", "three"), ("openclaw", "read", "two")] {
        let ran = world.run(&["call", "--dialect", dialect, tool, r#"{"path":"poem.txt","offset":2}"#]);
        assert!(ran.code == 0 && ran.stdout.starts_with(first), "{dialect}: {ran:?}");
        let ran = world.run(&["explain", "--dialect", dialect, tool, r#"{"path":"poem.txt"}"#]);
        assert!(ran.code == 0 && ran.stdout.contains("allow"), "{dialect}: {ran:?}");
    }
}
