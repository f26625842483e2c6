//! Hooks that are commands: what they are given, and what their ends mean. Real commands run in the root tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Effect, ErrorKind, HookEvent, OnFailure, Plan, ProcessOutput, ToolSource};
use haft_engine::{CommandHook, CommandHookSpec};
use haft_policy::catalog::Vocabulary;
use haft_testkit::{FakeProcesses, ScriptedTool};
use serde_json::{Value, json};

use crate::harness::{Harness, failure, setup, text};

fn spec(event: HookEvent) -> CommandHookSpec {
    CommandHookSpec {
        name: "check".into(),
        event,
        matches: Vec::new(),
        command: "my-check --fast".into(),
        timeout: Duration::from_millis(1500),
        on_failure: OnFailure::Block,
        priority: 0,
        directory: PathBuf::from("/work space"),
    }
}

fn exits(code: i32, stdout: &str, stderr: &str) -> ProcessOutput {
    ProcessOutput { code: Some(code), signal: None, stdout: stdout.into(), stderr: stderr.into(), truncated: false, timed_out: false }
}

/// An engine whose commands are written down and answered from a script.
fn with(specs: Vec<CommandHookSpec>, outputs: Vec<ProcessOutput>) -> (Harness, Arc<FakeProcesses>) {
    let processes = Arc::new(FakeProcesses::default());
    for output in outputs {
        processes.answer(output);
    }
    let runner = Arc::clone(&processes);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = ScriptedTool::new("put").schema(schema).plan(|arguments, cx| match arguments["path"].as_str() {
        Some("?") => Ok(Plan::nothing().with(Effect::Unknown { why: "a riddle".into() })),
        Some(path) => Ok(Plan::nothing().write(cx.locate(path)?)),
        None => Ok(Plan::nothing()),
    });
    let harness = setup()
        .tool(tool)
        .engine(move |builder| {
            specs.into_iter().fold(builder, |builder, spec| {
                let hook = CommandHook::new(spec, Arc::clone(&runner) as _, &Vocabulary::of_core(haft_builtin::metas()), &[]).unwrap();
                builder.hook(Arc::new(hook))
            })
        })
        .session(|session| session.id("s1").agent("coder").loop_limits(None))
        .build();
    (harness, processes)
}

fn input(processes: &FakeProcesses, place: usize) -> Value {
    let mut object: Value = serde_json::from_slice(processes.started()[place].input.as_ref().unwrap()).unwrap();
    if let Some(duration) = object.get_mut("duration_ms") {
        assert!(duration.is_u64());
        *duration = json!(0);
    }
    object
}

#[tokio::test]
async fn a_command_is_run_as_it_was_written_and_what_the_model_wrote_comes_on_its_input_alone() {
    let hostile = "$(touch x);\n `id` '\"";
    let (harness, processes) = with(vec![spec(HookEvent::BeforeToolCall)], vec![exits(0, "", "")]);
    harness.call("put", json!({"path": hostile})).await;
    let started = processes.started();
    let command = &started[0];
    assert_eq!(started.len(), 1);
    assert_eq!(
        (&*command.exec.program, &*command.exec.arguments, &*command.exec.directory),
        (Path::new("/bin/sh"), &["-c".to_owned(), "my-check --fast".to_owned()][..], Path::new("/work space"))
    );
    assert!(command.environment.is_empty() && command.exec.environment.is_empty());
    assert_eq!(command.timeout, Duration::from_millis(1500));
    assert_eq!(input(&processes, 0)["arguments"], json!({"path": hostile}));
    assert!(command.input.as_ref().unwrap().ends_with(b"}\n"));
}

#[tokio::test]
async fn each_event_has_its_own_input() {
    let with_effects = CommandHookSpec { matches: vec!["effect:write".into()], ..spec(HookEvent::BeforeToolCall) };
    let specs = vec![spec(HookEvent::BeforeToolCall), with_effects, spec(HookEvent::AfterToolCall), spec(HookEvent::ToolResultPersist)];
    let (harness, processes) = with(specs, vec![exits(0, "", ""); 4]);
    assert!(harness.call("put", json!({"path": "a"})).await.is_success());
    let effects = || json!([{"effect": "write", "path": "/workspace/a"}]);
    let common = |event: &str, more: Value| {
        let mut object =
            json!({"event": event, "call_id": "call", "tool": "put", "session": "s1", "agent": "coder", "arguments": {"path": "a"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let expected = [
        common("before_tool_call", json!({})),
        common("before_tool_call", json!({"effects": effects()})),
        common("after_tool_call", json!({"effects": effects(), "status": "success", "result": r#"{"path":"a"}"#, "duration_ms": 0})),
        common("tool_result_persist", json!({"effects": effects(), "stored": r#"{"path":"a"}"#})),
    ];
    for (place, expected) in expected.into_iter().enumerate() {
        assert_eq!(input(&processes, place), expected);
    }
}

#[tokio::test]
async fn a_failed_call_is_told_as_the_model_is_told() {
    let (harness, processes) = with(vec![spec(HookEvent::AfterToolCall)], vec![exits(0, "", "")]);
    harness.call("putt", json!({})).await;
    assert_eq!(
        input(&processes, 0),
        json!({
            "event": "after_tool_call", "call_id": "call", "tool": "putt", "session": "s1", "agent": "coder", "arguments": null,
            "status": "error", "error_type": "tool_not_found", "message": "Tool 'putt' not found. Did you mean 'put'?", "duration_ms": 0
        })
    );
}

#[tokio::test]
async fn an_exit_code_is_a_word_a_refusal_or_a_failure() {
    let could_not = |why: &str| format!("The hook 'check' could not run, so the call was not made: {why}. Tell the user.");
    let refused = |reason: &str| format!("Blocked by the hook 'check': {reason}");
    let long = format!("sk-ant-api03-abcdefghijklmnop {}", "é".repeat(5000));
    let cut = format!("[redacted:anthropic_key] {}…", "é".repeat(1975));
    let timed_out = ProcessOutput { code: None, signal: Some(15), timed_out: true, ..exits(0, "{}", "") };
    let killed = ProcessOutput { code: None, signal: Some(9), ..exits(0, "", "") };
    let endless = ProcessOutput { truncated: true, ..exits(0, &" ".repeat(64 << 20), "") };
    let talkative = ProcessOutput { truncated: true, ..exits(0, "{}", "much of standard error was dropped") };
    for (output, expected) in [
        (exits(0, "", "a note"), None),
        (exits(0, "{}", ""), None),
        (talkative, None),
        (exits(2, "", " not here\n"), Some(refused("not here"))),
        (exits(2, r#"{"decision":"approve"}"#, "no"), Some(refused("no"))),
        (exits(2, "", ""), Some(refused("it gave no reason"))),
        (exits(2, "", &long), Some(refused(&cut))),
        (exits(1, r#"{"decision":"continue"}"#, ""), Some(could_not("it ended with exit code 1"))),
        (exits(127, "", "sh: my-check: not found\n"), Some(could_not("it ended with exit code 127: sh: my-check: not found"))),
        (killed, Some(could_not("signal 9 ended it"))),
        (timed_out, Some(could_not("it took longer than 1.5 s"))),
        (endless, Some(could_not("it printed more than 64 MB"))),
    ] {
        let shown = format!("{:?} {:?}", output.code, output.signal);
        let (harness, _) = with(vec![spec(HookEvent::BeforeToolCall)], vec![output]);
        let result = harness.call("put", json!({"path": "a"})).await;
        match expected {
            None => assert_eq!(text(&result), r#"{"path":"a"}"#, "{shown}"),
            Some(message) => assert_eq!(failure(&result), (ErrorKind::Blocked, message), "{shown}"),
        }
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_a_failure() {
    let (harness, _) = with(vec![spec(HookEvent::BeforeToolCall)], vec![]);
    assert_eq!(
        failure(&harness.call("put", json!({"path": "a"})).await).1,
        "The hook 'check' could not run, so the call was not made: no output was scripted for '/bin/sh'. Tell the user."
    );
}

#[tokio::test]
async fn a_hook_on_effects_also_matches_unknown_effects() {
    for (path, asked) in [(json!({"path": "a"}), 1), (json!({"path": "?"}), 1), (json!({}), 0)] {
        let guard = CommandHookSpec { matches: vec!["effect:write".into()], ..spec(HookEvent::BeforeToolCall) };
        let (harness, processes) = with(vec![guard], vec![exits(2, "", "no")]);
        harness.call("put", path.clone()).await;
        assert_eq!(processes.started().len(), asked, "{path}");
    }
}

#[tokio::test]
async fn no_command_is_skipped_wherever_a_tool_comes_from() {
    for source in [ToolSource::BuiltIn, ToolSource::Plugin("p".into()), ToolSource::Mcp("server".into())] {
        let (harness, processes) = with(HookEvent::ALL.map(spec).to_vec(), vec![exits(0, "", ""); 3]);
        harness.engine.registry().register(ScriptedTool::new("other").shared(), source.clone()).unwrap();
        assert!(harness.call("other", json!({})).await.is_success());
        let events: Vec<Value> = (0..3).map(|place| input(&processes, place)["event"].clone()).collect();
        assert_eq!(events, HookEvent::ALL.map(|event| json!(event.as_str())), "{source:?}");
    }
}
