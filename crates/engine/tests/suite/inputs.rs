//! Names and arguments, good and bad: every one gets an answer.

use haft_contract::{Arguments, ErrorKind};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

use crate::harness::{Harness, failure, setup, text};

fn harness() -> Harness {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "x-aliases": ["file_path"]},
            "count": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["overwrite", "append"]}
        },
        "required": ["path"]
    });
    let tool = ScriptedTool::new("echo_path").schema(schema).define(|definition| definition.aliases.push("echo".into()));
    setup()
        .tool(tool)
        .tool(ScriptedTool::new("read_file"))
        .tool(ScriptedTool::new("anything"))
        .session(|builder| builder.loop_limits(None))
        .build()
}

#[tokio::test]
async fn names_are_forgiven_blanks_case_hyphens_and_aliases() {
    let harness = harness();
    for name in ["echo_path", " Echo_Path ", "ECHO-PATH", "echo", "Echo path"] {
        let result = harness.call(name, json!({"path": "a"})).await;
        assert_eq!((text(&result).as_str(), result.tool.as_ref()), (r#"{"path":"a"}"#, "echo_path"), "{name}");
    }
}

#[tokio::test]
async fn unknown_tool_is_answered_with_the_nearest_names() {
    let harness = harness();
    let result = harness.call("read_fil", json!({})).await;
    assert_eq!(failure(&result), (ErrorKind::ToolNotFound, "Tool 'read_fil' not found. Did you mean 'read_file'?".into()));
    let (kind, message) = failure(&harness.call(&"zzz".repeat(1000), json!({})).await);
    assert_eq!(kind, ErrorKind::ToolNotFound);
    assert!(message.len() < 300 && message.ends_with("The tools are: echo_path, read_file, anything."), "{message}");
    assert_eq!(harness.history().await.len(), 2, "refused calls are in the history too");
}

#[tokio::test]
async fn wrong_arguments_are_named_with_what_was_expected_and_what_came() {
    let harness = harness();
    let signature = "Expected: echo_path(path: string, count?: integer, mode?: overwrite|append).";
    let cases: Vec<(Arguments, String)> = vec![
        (json!({}).into(), format!("Missing required parameter: 'path'. {signature}")),
        (json!({"path": null}).into(), format!("Missing required parameter: 'path'. {signature}")),
        (json!({"path": ""}).into(), format!("Missing required parameter: 'path'. {signature}")),
        ("".into(), format!("Missing required parameter: 'path'. {signature}")),
        (json!({"path": {"a": 1}}).into(), format!("Parameter 'path' expected type 'string' but got object: {{\"a\":1}}. {signature}")),
        (json!({"path": [1]}).into(), format!("Parameter 'path' expected type 'string' but got array: [1]. {signature}")),
        (
            json!({"path": "a", "count": "x"}).into(),
            format!("Parameter 'count' expected type 'integer' but got string: \"x\". {signature}"),
        ),
        (json!({"path": "a", "count": 1.5}).into(), format!("Parameter 'count' expected type 'integer' but got number: 1.5. {signature}")),
        (
            json!({"path": "a", "mode": "prepend"}).into(),
            format!("Parameter 'mode' must be one of: overwrite, append (got \"prepend\"). {signature}"),
        ),
        (json!({"path": "a", "count": 0}).into(), format!("Parameter 'count' is wrong: 0 is less than the minimum of 1. {signature}")),
        (json!([1]).into(), format!("The arguments must be a JSON object, not array. {signature}")),
        ("3".into(), format!("The arguments must be a JSON object, not integer. {signature}")),
        ("\"x\"".into(), format!("The arguments must be a JSON object, not string. {signature}")),
    ];
    for (arguments, expected) in cases {
        let result = harness.call("echo_path", arguments.clone()).await;
        assert_eq!(failure(&result), (ErrorKind::ValidationError, expected), "{arguments:?}");
    }
}

#[tokio::test]
async fn hostile_argument_text_is_a_bounded_typed_error() {
    let harness = harness();
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let huge = format!("{{\"path\":\"{}\"}}", "x".repeat(17 << 20));
    for (text, said) in [
        ("{", "not valid JSON"),
        (r#"{"path":"a","path":"b"}"#, "the key 'path' is given twice"),
        (deep.as_str(), "recursion limit"),
        (huge.as_str(), "too large"),
    ] {
        let (kind, message) = failure(&harness.call("echo_path", text).await);
        assert_eq!(kind, ErrorKind::ValidationError);
        assert!(message.contains(said) && message.len() < 400, "{message}");
    }
}

#[tokio::test]
async fn ten_megabytes_of_arguments_pass_and_history_keeps_only_their_head() {
    let harness = harness();
    let content = "y".repeat(10 << 20);
    let result = harness.call("echo_path", json!({"path": content}).to_string()).await;
    assert!(result.is_success());
    let kept = &harness.history().await[0].arguments["path"];
    assert!(kept.as_str().unwrap().ends_with("… (10485760 bytes)") && kept.as_str().unwrap().len() < 1100);
}

#[tokio::test]
async fn unknown_parameters_are_ignored_and_reported_in_details() {
    let harness = harness();
    let result = harness.call("echo_path", json!({"path": "a", "colour": "red"})).await;
    assert!(result.is_success());
    assert_eq!(result.details().unwrap()["warnings"], json!(["unknown parameter 'colour' was ignored"]));
    assert_eq!(result.to_json(), json!({"status": "success", "result": "{\"path\":\"a\",\"colour\":\"red\"}"}).to_string());
}

#[tokio::test]
async fn history_keeps_the_arguments_of_refused_calls() {
    let harness = harness();
    harness.call("echo_path", json!({"count": "x"})).await;
    harness.call("echo_path", r#"{"count": 0}"#).await;
    harness.call("echo_path", "{broken").await;
    let kept: Vec<_> = harness.history().await.into_iter().map(|record| record.arguments).collect();
    assert_eq!(kept, [json!("{broken"), json!({"count": 0}), json!({"count": "x"})]);
}

#[tokio::test]
async fn a_null_gives_way_to_an_alias() {
    let harness = harness();
    assert_eq!(text(&harness.call("echo_path", json!({"path": null, "file_path": "a"})).await), r#"{"path":"a"}"#);
}

#[tokio::test]
async fn empty_parameters_are_fine_where_nothing_is_required() {
    let harness = harness();
    for arguments in [Arguments::from(""), Arguments::from(Value::Null), Arguments::from(json!({}))] {
        assert_eq!(text(&harness.call("anything", arguments).await), "{}");
    }
}

#[tokio::test]
async fn a_tool_that_is_not_built_yet_is_not_taken_for_a_typing_error() {
    let harness = setup().tool(ScriptedTool::new("noop")).build();
    let (kind, message) = failure(&harness.call("whatsapp_login", json!({})).await);
    let expected = "Tool 'whatsapp_login' not found. It is known, but this version does not have it yet. The tools are: noop.";
    assert_eq!((kind, message.as_str()), (ErrorKind::ToolNotFound, expected));
    let (_, message) = failure(&harness.call("zzzz", json!({})).await);
    assert_eq!(message, "Tool 'zzzz' not found. The tools are: noop.");
}
