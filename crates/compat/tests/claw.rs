//! Tools of the `ToolExecutor` kind, written as its own documentation writes them.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use haft_compat::claw::{PermissionMode, StaticToolExecutor, ToolError, ToolExecutor, ToolSpec, adapt, adapt_trusted};
use haft_contract::{DynTool, ErrorKind, PlanContext, ToolOutput};
use haft_testkit::{FakeHost, Trial, run_tool};
use serde_json::{Value, json};

const MODES: [(PermissionMode, &str); 3] =
    [(PermissionMode::ReadOnly, "look"), (PermissionMode::WorkspaceWrite, "change"), (PermissionMode::DangerFullAccess, "anything")];

fn spec(name: &'static str, required_permission: PermissionMode) -> ToolSpec {
    let input_schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false
    });
    ToolSpec { name, description: "A tool of the executor.", input_schema, required_permission }
}

fn one(name: &'static str, handler: impl FnMut(&str) -> Result<String, ToolError> + Send + 'static) -> Arc<dyn DynTool> {
    let executor = StaticToolExecutor::new().register(name, handler);
    adapt(executor, vec![spec(name, PermissionMode::ReadOnly)]).remove(0)
}

async fn run(tool: &dyn DynTool, arguments: Value) -> Result<ToolOutput, (ErrorKind, String)> {
    run_tool(tool, arguments, FakeHost::new()).await.map_err(|error| (error.kind(), error.message().to_owned()))
}

fn effects(tool: &dyn DynTool) -> Value {
    let host = FakeHost::new();
    let prepared = tool.prepare(json!({"path": "x"}), &PlanContext::new(&*host)).unwrap();
    serde_json::to_value(prepared.plan().effects()).unwrap()
}

#[tokio::test]
async fn the_executor_of_the_documentation_runs_unchanged() {
    let executor = StaticToolExecutor::new()
        .register("bash", |_input| {
            // Parse input, run command
            Ok("output".to_string())
        })
        .register("read_file", |_input| Ok("file contents".to_string()));
    let tools = adapt(executor, vec![spec("bash", PermissionMode::DangerFullAccess), spec("read_file", PermissionMode::ReadOnly)]);
    assert_eq!(run(&*tools[0], json!({"command": "ls"})).await, Ok(ToolOutput::text("output")));
    assert_eq!(run(&*tools[1], json!({"path": "a"})).await, Ok(ToolOutput::text("file contents")));
}

#[test]
fn a_spec_becomes_a_definition_that_registers() {
    let tools = adapt(StaticToolExecutor::new(), vec![spec("WebFetch", PermissionMode::ReadOnly)]);
    let mut definition = tools[0].definition().clone();
    assert_eq!(definition.parameters.lint(), Ok(()));
    assert_eq!(
        serde_json::to_value(&definition).unwrap(),
        json!({
            "name": "web_fetch",
            "label": "WebFetch",
            "description": "A tool of the executor.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            "section": "system",
            "category": "system",
            "access": "full-access",
            "permissions": [],
            "timeout_seconds": 120,
            "profiles": [],
            "aliases": ["WebFetch"],
            "owner_only": false,
            "hints": {"read_only": false, "destructive": true, "idempotent": false, "open_world": true}
        })
    );
    assert_eq!(definition.parameters.hints().verbatim, ["path"]);
}

#[tokio::test]
async fn the_executor_gets_the_original_name_and_the_arguments_as_json_text() {
    struct Echo;
    impl ToolExecutor for Echo {
        fn execute(&mut self, tool_name: &str, input: &str) -> Result<String, ToolError> {
            Ok(format!("{tool_name} {input}"))
        }
    }
    let tools = adapt(Echo, vec![spec("TodoWrite", PermissionMode::WorkspaceWrite), spec("PowerShell", PermissionMode::DangerFullAccess)]);
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.clone()).collect();
    assert_eq!(names, ["todo_write", "powershell"]);
    let output = run(&*tools[0], json!({"todos": [{"id": 1, "text": " a "}]})).await;
    assert_eq!(output, Ok(ToolOutput::text(r#"TodoWrite {"todos":[{"id":1,"text":" a "}]}"#)));
    assert_eq!(run(&*tools[1], json!({})).await, Ok(ToolOutput::text("PowerShell {}")));
}

#[tokio::test]
async fn a_failure_keeps_its_words() {
    let failing = one("failing", |_| Err(ToolError::new("no such host: example.org")));
    assert_eq!(run(&*failing, json!({})).await, Err((ErrorKind::ExecutionError, "no such host: example.org".into())));
    let silent = one("silent", |_| Err(ToolError::new(" ")));
    assert_eq!(run(&*silent, json!({})).await, Err((ErrorKind::ExecutionError, "The tool 'silent' failed and gave no reason.".into())));
    let executor = StaticToolExecutor::new().register("a", |_| Ok(String::new())).register("b", |_| Ok(String::new()));
    let missing = adapt(executor, vec![spec("c", PermissionMode::ReadOnly)]);
    let message = "unknown tool: 'c'. This executor has: a, b";
    assert_eq!(run(&*missing[0], json!({})).await, Err((ErrorKind::ExecutionError, message.into())));
}

#[test]
fn a_mode_is_believed_only_when_the_program_vouches_for_it() {
    let unknown = |name| {
        let why = format!("'{name}' was adapted from the claw trait, which cannot say beforehand what a call will do");
        json!([{"effect": "unknown", "why": why}])
    };
    let specs = || MODES.map(|(mode, name)| spec(name, mode)).to_vec();
    let seen = |tools: Vec<Arc<dyn DynTool>>| -> Vec<(Value, &'static str, bool)> {
        tools.iter().map(|tool| (effects(&**tool), tool.definition().access.as_str(), tool.definition().hints.read_only)).collect()
    };
    assert_eq!(seen(adapt(StaticToolExecutor::new(), specs())), MODES.map(|(_, name)| (unknown(name), "full-access", false)));
    assert_eq!(
        seen(adapt_trusted(StaticToolExecutor::new(), specs())),
        [(json!([]), "read-only", true), (unknown("change"), "full-access", false), (unknown("anything"), "full-access", false)]
    );
}

#[tokio::test]
async fn a_panic_leaves_the_executor_to_the_other_tools() {
    let executor = StaticToolExecutor::new().register("bad", |_| panic!("broken")).register("good", |_| Ok("still here".into()));
    let mut tools = adapt(executor, vec![spec("bad", PermissionMode::ReadOnly), spec("good", PermissionMode::ReadOnly)]);
    let (good, bad) = (tools.remove(1), tools.remove(0));
    let fate = tokio::spawn(async move { run(&*bad, json!({})).await }).await;
    assert!(fate.unwrap_err().is_panic());
    assert_eq!(run(&*good, json!({})).await, Ok(ToolOutput::text("still here")));
}

#[tokio::test]
async fn a_call_that_was_stopped_before_its_turn_does_nothing() {
    let (ran, runs) = mpsc::channel();
    let tool = one("slow", move |_| {
        ran.send(()).unwrap();
        Ok("done".into())
    });
    let trial = Trial::new(FakeHost::new());
    trial.cancel.cancel();
    let error = trial.run(&*tool, json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Cancelled, "'slow' was stopped while it waited for another tool of its executor; it did nothing.")
    );
    drop(tool);
    assert_eq!(runs.iter().count(), 0);
}

#[test]
fn calls_from_many_threads_take_turns() {
    let mut count = 0_u64;
    let tool = one("count", move |_| {
        count += 1;
        Ok(count.to_string())
    });
    let mut seen: Vec<String> = thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| blocking(&*tool))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    seen.sort_unstable();
    assert_eq!(seen, ["1", "2", "3", "4", "5", "6", "7", "8"]);
}

fn blocking(tool: &dyn DynTool) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(run(tool, json!({}))).unwrap().texts().collect()
}
