//! The tools with which a model plans: the to-do list, finding tools, waiting, and messages to the user.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::World;
use super::model::{Talk, done, in_every_protocol};

fn calls(tool: &str, arguments: Value) -> Round {
    Round::Calls(vec![("c1".into(), tool.into(), arguments)])
}

fn list() -> Value {
    json!({"todos": [
        {"content": "Read the code", "activeForm": "Reading the code", "status": "in_progress"},
        {"content": "Fix it", "status": "in_progress"},
        {"content": "Run the tests", "status": "pending", "id": "tests"},
    ]})
}

#[test]
fn todo_list_is_shown_and_sent_as_an_event_and_shown_again_when_resumed() {
    in_every_protocol(|protocol| {
        let talk = Talk::new(protocol, vec![calls("todo_write", list()), done()]);
        let happened = talk.turn(&["plan"]);
        let events: Vec<&Value> = happened.of("todos").collect();
        let todos = json!([
            {"content": "Read the code", "active_form": "Reading the code", "status": "in_progress"},
            {"content": "Fix it", "status": "in_progress"},
            {"content": "Run the tests", "status": "pending", "id": "tests"},
        ]);
        assert_eq!(events, [&json!({"type": "todos", "todos": todos})], "{protocol}");
        assert_eq!(talk.results()[0].1["result"], json!("The list has 3 items: 0 completed, 2 in progress, 1 pending."), "{protocol}");
        let talk = talk.next(vec![done()]);
        let resumed = talk.says(&["--session", "last", "continue"]);
        let shown = "To-do, 0 of 3 done\n  now: Reading the code\n  now: Fix it\n  open: Run the tests\n";
        assert!(resumed.stderr.starts_with(shown), "{protocol}: {resumed:?}");
        assert_eq!(resumed.stdout, "All done.\n", "{protocol}");
    });
}

#[test]
fn todo_list_of_calls_is_kept_for_the_workspace() {
    let world = World::new();
    let (code, first) = world.call("todo_write", &list());
    assert_eq!((code, &first["details"]["old_todos"]), (0, &json!([])), "{first}");
    let (_, second) = world.call("TodoWrite", &list());
    assert_eq!(second["details"]["old_todos"].as_array().map(Vec::len), Some(3), "{second}");
    let (code, refused) = world.call("todo_write", &json!({"todos": [{"content": " ", "status": "pending"}]}));
    assert_eq!((code, &refused["error_type"]), (1, &json!("validation_error")), "{refused}");
    let read_only = world.run(&["call", "--access", "read-only", "--json", "todo_write", &list().to_string()]).json();
    assert_eq!(read_only["error_type"], json!("permission_denied"), "{read_only}");
}

#[test]
fn tools_are_found_without_a_model_too() {
    let world = World::with_config("[tools]\ndeny = [\"write_file\"]\n");
    let (code, found) = world.call("tool_search", &json!({"query": "read text file", "max_results": 2}));
    assert_eq!((code, &found["details"]["matches"][0]), (0, &json!("read_file")), "{found}");
    assert!(found["details"]["tools"][0]["parameters"]["properties"]["path"].is_object(), "{found}");
    let (_, found) = world.call("tool_search", &json!({"query": "select:write_file,glob_search"}));
    assert_eq!((&found["details"]["matches"], &found["details"]["not_found"]), (&json!(["glob_search"]), &json!(["write_file"])));
}

#[test]
fn message_to_the_user_is_shown_at_once_and_is_an_event() {
    in_every_protocol(|protocol| {
        let arguments = json!({"message": "Half of it is done.", "level": "warning", "attachments": ["plot.png"]});
        let rounds = || vec![calls("send_user_message", arguments.clone()), done()];
        let talk = Talk::new(protocol, rounds());
        talk.world.write("plot.png", [0; 2048]);
        let happened = talk.turn(&["go"]);
        let event = json!({
            "type": "message",
            "message": "Half of it is done.",
            "level": "warning",
            "proactive": false,
            "attachments": [{"path": "plot.png", "size": 2048, "is_image": true}],
        });
        assert_eq!(happened.of("message").collect::<Vec<_>>(), [&event], "{protocol}");
        let talk = talk.next(rounds());
        let ran = talk.says(&["go"]);
        assert!(ran.stderr.contains("warning: Half of it is done.\n  plot.png, image, 2.0 KB\n"), "{protocol}: {ran:?}");
        assert_eq!(ran.stdout, "All done.\n", "{protocol}");
    });
}

#[test]
fn message_with_a_secret_file_or_one_that_is_missing_is_refused() {
    let world = World::new();
    world.write(".env", "KEY=1");
    for (path, kind) in [(".env", "path_not_allowed"), ("gone.txt", "file_not_found")] {
        let (code, refused) = world.call("Brief", &json!({"message": "x", "status": "normal", "attachments": [path]}));
        assert_eq!((code, &refused["error_type"]), (1, &json!(kind)), "{refused}");
    }
    let shown = world.run(&["call", "send_user_message", r#"{"message": "Hello"}"#]);
    assert!(shown.stderr.contains("message: Hello\n") && shown.code == 0, "{shown:?}");
}

#[test]
fn wait_out_of_bounds_says_the_limit() {
    let world = World::new();
    let year = 365 * 24 * 3600;
    for (tool, arguments, limit) in [
        ("sleep", json!({"duration": year}), "300"),
        ("sleep", json!({"duration": -1}), "0"),
        ("Sleep", json!({"duration_ms": 300_001}), "300000"),
        ("Sleep", json!({"duration_ms": -1}), "0"),
    ] {
        let (code, refused) = world.call(tool, &arguments);
        assert_eq!((code, &refused["error_type"]), (1, &json!("validation_error")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(limit), "{refused}");
    }
    let (code, slept) = world.call("Sleep", &json!({"duration_ms": 0}));
    assert_eq!((code, &slept["details"]["woken_by"]), (0, &json!("time")), "{slept}");
}

#[test]
fn settings_are_read_and_those_for_models_set_and_undone() {
    let text = "access = \"workspace-write\" # mine\n";
    let world = World::with_config(text);
    let file = world.path("config/haft/config.toml");
    let on_disk = || std::fs::read_to_string(&file).unwrap();
    let (code, read) = world.call("config", &json!({"setting": "access"}));
    let source = "[world]/config/haft/config.toml:1:10";
    let expected = json!([{"setting": "access", "value": "workspace-write", "source": source, "settable": false}]);
    assert_eq!((code, &read["details"]["settings"]), (0, &expected), "{read}");
    let (code, set) = world.call("Config", &json!({"setting": "display.usage", "value": false}));
    assert_eq!((code, &set["details"]["previous_value"], &set["details"]["new_value"]), (0, &json!(true), &json!(false)), "{set}");
    assert!(set["details"]["diff"].as_str().unwrap().contains("+display.usage = false"), "{set}");
    assert_eq!(on_disk(), format!("{text}\n[display]\nusage = false\n"));
    let undone = world.run(&["undo", "last"]);
    assert_eq!((undone.code, on_disk().as_str()), (0, text), "{undone:?}");
    let denied = world.run(&["call", "--access", "read-only", "--json", "config", r#"{"setting": "display.usage", "value": "false"}"#]);
    assert_eq!((denied.json()["error_type"].clone(), on_disk().as_str()), (json!("permission_denied"), text));
}

#[test]
fn settings_about_rights_are_refused_to_a_model_however_they_are_written() {
    in_every_protocol(|protocol| {
        let attempts = [
            json!({"setting": "access", "value": "full-access"}),
            json!({"setting": "Access", "value": "full-access"}),
            json!({"setting": "sandbox.mode.", "value": "off"}),
            json!({"setting": "sandbox", "value": {"mode": "off"}}),
            json!({"setting": {"access": "full-access"}, "value": "full-access"}),
            json!({"setting": ["access"], "value": "full-access"}),
            json!({"setting": "rules.allow[0]", "value": "exec(*)"}),
            json!({"key": "permissions.defaultMode", "value": "auto"}),
            json!({"setting": "display.todo_list\"]\naccess = \"full-access\"\n[\"x", "value": "true"}),
            json!({"setting": "display.todo_list", "value": "true\naccess = \"full-access\""}),
        ];
        let calls = (0..).zip(attempts).map(|(number, arguments)| (format!("c{number}"), "config".to_owned(), arguments)).collect();
        let talk = Talk::new(protocol, vec![Round::Calls(calls), done()]);
        let file = talk.world.path("config/haft/config.toml");
        let before = std::fs::read_to_string(&file).unwrap();
        let happened = talk.turn(&["go"]);
        let (refused, invalid) = ("permission_denied", "validation_error");
        let expected = [refused, refused, refused, invalid, invalid, invalid, refused, refused, refused, invalid];
        assert_eq!(happened.outcomes(), expected, "{protocol}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{protocol}");
    });
}
