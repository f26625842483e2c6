//! One tool, called by the names and in the units of three systems: what runs is always the same call.

use std::borrow::Cow;
use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, Form, FormParameter, ToolSource, Unit};
use haft_engine::{RegisterError, Registry};
use haft_policy::{ListEntry, PolicySpec, StandardPolicy, catalog::Vocabulary};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

use crate::harness::{Harness, failure, plugin, setup, text};

const EXEC: &[Form] = &[
    Form::new(Dialect::Claw, "bash").parameters(&[
        FormParameter::new("timeout", "timeout").unit(Unit::Milliseconds),
        FormParameter::new("run_in_background", "background"),
    ]),
    Form::new(Dialect::OpenClaw, "exec").parameters(&[FormParameter::new("yieldMs", "yield_after").unit(Unit::Milliseconds)]),
];
const SLEEP: &[Form] =
    &[Form::new(Dialect::Claw, "Sleep").parameters(&[FormParameter::new("duration_ms", "duration").unit(Unit::Milliseconds)])];
const READ: &[Form] = &[
    Form::new(Dialect::Claw, "read_file")
        .parameters(&[FormParameter::new("file_path", "path"), FormParameter::new("offset", "offset").unit(Unit::FromZero)]),
    Form::new(Dialect::OpenClaw, "read"),
];

fn tool(name: &str, forms: &'static [Form], properties: &Value, required: &[&str]) -> ScriptedTool {
    ScriptedTool::new(name)
        .schema(json!({"type": "object", "properties": properties, "required": required}))
        .define(|definition| definition.forms = Cow::Borrowed(forms))
}

fn exec() -> ScriptedTool {
    let properties = json!({
        "command": {"type": "string"},
        "timeout": {"type": "integer", "minimum": 1, "maximum": 600, "x-aliases": ["timeout_seconds"]},
        "background": {"type": "boolean"},
        "yield_after": {"type": "number"}
    });
    tool("exec", EXEC, &properties, &["command"])
}

fn sleep() -> ScriptedTool {
    tool("sleep", SLEEP, &json!({"duration": {"type": "number", "maximum": 300, "default": 1}}), &[])
}

fn read_file() -> ScriptedTool {
    let properties = json!({
        "path": {"type": "string", "x-aliases": ["file"]},
        "offset": {"type": "integer", "minimum": 0},
        "limit": {"type": "integer", "minimum": 1}
    });
    tool("read_file", READ, &properties, &["path"])
}

fn harness(dialect: Dialect) -> Harness {
    setup().tool(exec()).tool(sleep()).tool(read_file()).session(move |session| session.dialect(dialect).loop_limits(None)).build()
}

#[tokio::test]
async fn a_call_means_what_its_name_means_in_that_dialect() {
    use Dialect::{Claw, Haft, OpenClaw};
    for (dialects, name, given, ran) in [
        // `bash` counts milliseconds wherever it is called, and a part of a second is a second.
        (&[Haft, Claw, OpenClaw][..], "bash", json!({"command": "a", "timeout": 700}), json!({"command": "a", "timeout": 1})),
        (&[Haft, Claw, OpenClaw], " Bash ", json!({"command": "a", "timeout": "2000"}), json!({"command": "a", "timeout": 2})),
        (&[Claw], "bash", json!({"command": "a", "runInBackground": "true"}), json!({"command": "a", "background": true})),
        // A canonical name is canonical, in its own unit, unless the form has a parameter of that very name.
        (&[Claw], "bash", json!({"command": "a", "background": true}), json!({"command": "a", "background": true})),
        (&[Claw], "bash", json!({"command": "a", "timeout_seconds": "3"}), json!({"command": "a", "timeout": 3})),
        // `exec` counts seconds wherever it is called.
        (&[Haft, Claw, OpenClaw], "exec", json!({"command": "a", "timeout": 5}), json!({"command": "a", "timeout": 5})),
        (&[OpenClaw], "exec", json!({"command": "a", "yieldMs": 1500}), json!({"command": "a", "yield_after": 1.5})),
        (&[OpenClaw], "exec", json!({"command": "a", "yield_after": 1.5}), json!({"command": "a", "yield_after": 1.5})),
        (&[Haft, Claw, OpenClaw], "sleep", json!({"duration": 2}), json!({"duration": 2})),
        // A name that differs in case alone is the dialect's when it is spelled as the dialect does.
        (&[Haft, Claw, OpenClaw], "Sleep", json!({"duration_ms": 700}), json!({"duration": 0.7})),
        (&[Claw], "sleep", json!({"duration_ms": 700}), json!({"duration": 0.7})),
        (&[Haft], "SLEEP", json!({"duration": 2}), json!({"duration": 2})),
        (&[Claw], "Sleep", json!({}), json!({"duration": 1})),
        // One name, two ways to count: the session's dialect decides.
        (&[Claw], "read_file", json!({"file_path": "a", "offset": 0}), json!({"path": "a", "offset": 1})),
        (&[Claw], "read-file", json!({"path": "a", "offset": "9"}), json!({"offset": 10, "path": "a"})),
        (&[Claw], "read_file", json!({"file": "a", "limit": 5}), json!({"limit": 5, "path": "a"})),
        (&[Haft, OpenClaw], "read_file", json!({"path": "a", "offset": 0}), json!({"path": "a", "offset": 0})),
        (&[Haft, Claw, OpenClaw], "read", json!({"path": "a", "offset": 3}), json!({"path": "a", "offset": 3})),
    ] {
        for dialect in dialects {
            let harness = harness(*dialect);
            let result = harness.call(name, given.clone()).await;
            let echo: Value = serde_json::from_str(&text(&result)).unwrap();
            assert_eq!(echo, ran, "{name} {given} in {dialect}");
            assert_eq!(harness.history().await[0].arguments, ran, "history keeps what ran");
        }
    }
}

#[tokio::test]
async fn a_wrong_call_is_answered_in_the_words_it_was_made_in() {
    let harness = harness(Dialect::Claw);
    let bash = "Expected: bash(command: string, timeout?: integer, run_in_background?: boolean, yield_after?: number).";
    let read = "Expected: read_file(file_path: string, offset?: integer, limit?: integer).";
    for (name, given, message) in [
        ("read_file", json!({}), format!("Missing required parameter: 'file_path'. {read}")),
        ("read_file", json!({"file_path": "a", "offset": -1}), format!("Parameter 'offset' is wrong: -1 is less than the minimum of 0. {read}")),
        ("read_file", json!({"file_path": ["a"]}), format!("Parameter 'file_path' expected type 'string' but got array: [\"a\"]. {read}")),
        ("bash", json!({"command": "a", "timeout": 0}), format!("Parameter 'timeout' is wrong: 0 is less than the minimum of 1. {bash}")),
        (
            "bash",
            json!({"command": "a", "timeout": 600_001}),
            format!("Parameter 'timeout' is wrong: 600001 is greater than the maximum of 600000. {bash}"),
        ),
        (
            "bash",
            json!({"command": "a", "timeout": "soon"}),
            format!("Parameter 'timeout' expected type 'integer' but got string: \"soon\". {bash}"),
        ),
        ("bash", json!([1]), format!("The arguments must be a JSON object, not array. {bash}")),
        ("exec", json!({}), "Missing required parameter: 'command'. Expected: exec(command: string, timeout?: integer, background?: boolean, yield_after?: number).".into()),
    ] {
        let result = harness.call(name, given.clone()).await;
        assert_eq!(failure(&result), (ErrorKind::ValidationError, message), "{name} {given}");
    }
}

/// Not every rule can be shown in another unit; it holds all the same.
#[tokio::test]
async fn what_a_form_cannot_say_the_canonical_schema_checks() {
    let tool = tool("sleep", SLEEP, &json!({"duration": {"type": "integer", "multipleOf": 5}}), &[]);
    let harness = setup().tool(tool).session(|session| session.dialect(Dialect::Claw)).build();
    assert_eq!(text(&harness.call("Sleep", json!({"duration_ms": 10_000})).await), r#"{"duration":10}"#);
    let message = "Parameter 'duration' is wrong: 7 is not a multiple of 5. Expected: sleep(duration?: integer).";
    assert_eq!(failure(&harness.call("Sleep", json!({"duration_ms": 7000})).await), (ErrorKind::ValidationError, message.into()));
}

#[tokio::test]
async fn history_keeps_what_was_refused_as_it_came() {
    let harness = harness(Dialect::Claw);
    harness.call("bash", json!({"command": "a", "timeout": 0})).await;
    assert_eq!(harness.history().await[0].arguments, json!({"command": "a", "timeout": 0}));
}

#[tokio::test]
async fn the_same_thing_said_twice_counts_once() {
    let harness = harness(Dialect::Claw);
    let warnings = ["'duration' was ignored: 'duration_ms' is given as well", "unknown parameter 'loudly' was ignored"];
    for given in [r#"{"duration":9,"duration_ms":500,"loudly":true}"#, r#"{"duration_ms":500,"duration":9,"loudly":true}"#] {
        let result = harness.call("Sleep", given).await;
        assert_eq!(text(&result), r#"{"duration":0.5,"loudly":true}"#);
        assert_eq!(result.details().unwrap()["warnings"], json!(warnings));
    }
}

#[tokio::test]
async fn a_call_is_explained_as_it_would_be_read() {
    let harness = setup().tool(read_file().plans_read()).session(|session| session.dialect(Dialect::Claw)).build();
    let explained = harness.engine.explain("read_file", Some(json!({"file_path": "a"}).into()), &harness.session).await.unwrap();
    assert_eq!(explained.effects[0]["path"], "/workspace/a");
    let error = harness.engine.explain("read_file", Some(json!({}).into()), &harness.session).await.unwrap_err();
    assert!(error.message().starts_with("Missing required parameter: 'file_path'"), "{error}");
}

#[tokio::test]
async fn suggestions_are_the_names_that_the_model_was_shown() {
    for (dialect, wrong, hint) in [
        (Dialect::Haft, "bassh", "Did you mean 'bash'?"),
        (Dialect::Haft, "read_fil", "Did you mean 'read_file' or 'read'?"),
        (Dialect::OpenClaw, "read_fil", "Did you mean 'read'?"),
        (Dialect::Claw, "slep", "Did you mean 'Sleep'?"),
        (Dialect::Claw, "zzzz", "The tools are: bash, Sleep, read_file."),
        (Dialect::Haft, "zzzz", "The tools are: exec, sleep, read_file."),
    ] {
        let (kind, message) = failure(&harness(dialect).call(wrong, json!({})).await);
        assert_eq!((kind, message), (ErrorKind::ToolNotFound, format!("Tool '{wrong}' not found. {hint}")));
    }
}

#[test]
fn the_name_of_a_form_is_taken_like_any_other() {
    let registry = Registry::new();
    registry.register(exec().shared(), ToolSource::BuiltIn).unwrap();
    let error = registry.register(ScriptedTool::new("bash").shared(), plugin()).unwrap_err();
    assert_eq!(error.to_string(), "Tool 'bash' is already registered: 'exec' answers to it");
    assert_eq!(registry.get("BASH").unwrap().name(), "exec");
    assert!(registry.unregister("exec") && registry.get("bash").is_none());
}

#[test]
fn a_form_that_does_not_fit_is_refused_with_its_path() {
    let unfit = ScriptedTool::new("t").define(|definition| definition.forms = Cow::Borrowed(SLEEP));
    let error = Registry::new().register(unfit.shared(), plugin()).unwrap_err();
    assert!(matches!(error, RegisterError::BadForm { .. }));
    assert_eq!(
        error.to_string(),
        "Tool 't' has forms that do not fit it:\n  forms.Sleep.duration_ms: the tool has no parameter 'duration'"
    );
}

#[tokio::test]
async fn a_policy_may_speak_any_dialect() {
    const BREW: &[Form] = &[Form::new(Dialect::Claw, "TeaKettle")];
    let brew = || tool("brew", BREW, &json!({}), &[]);
    let mut spec = PolicySpec::default();
    spec.tools.deny = vec![ListEntry::new("teakettle")];
    let policy = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let denied = setup().tool(brew()).engine(|engine| engine.policy(Arc::new(policy))).build();
    assert_eq!(failure(&denied.call("brew", json!({})).await).0, ErrorKind::ToolNotAvailable);
    let selected = setup().tool(brew()).session(|session| session.tools(["TeaKettle"])).build();
    assert_eq!(text(&selected.call("brew", json!({})).await), "{}");
}

#[tokio::test]
async fn a_cut_output_is_read_on_in_the_words_of_the_model() {
    for (dialect, words) in [
        (Dialect::Haft, "read_file with that path and offset=102401 continues."),
        (Dialect::Claw, "read_file with that path and offset=102400 continues."),
        (Dialect::OpenClaw, "read with that path and offset=102401 continues."),
    ] {
        let flood = ScriptedTool::new("flood").returns("\n".repeat(200_000));
        let harness = setup().tool(flood).tool(read_file()).session(move |session| session.dialect(dialect)).build();
        let shown = text(&harness.call("flood", json!({})).await);
        assert!(shown.ends_with(&format!("{words})")), "{}", shown.trim_start());
    }
}
