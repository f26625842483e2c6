//! Tools of the `ToolInfo` kind, written as its own documentation writes them.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::collections::HashMap;
use std::sync::Mutex;
use std::thread;

use haft_compat::oneclaw::{OneClawError, Result, Tool, ToolInfo, ToolParam, ToolResult, adapt, adapt_trusted};
use haft_contract::{DynTool, ErrorKind, PlanContext, ToolOutput};
use haft_testkit::{FakeHost, run_tool};
use serde_json::{Value, json};

struct MyTool;

impl Tool for MyTool {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "my_tool".into(),
            description: "Does something useful".into(),
            params: vec![
                ToolParam { name: "input".into(), description: "The input value".into(), required: true },
                ToolParam { name: "mode".into(), description: "How".into(), required: false },
            ],
            category: "system".into(),
        }
    }

    fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult> {
        let input = params.get("input").ok_or_else(|| OneClawError::Tool("Missing input".into()))?;
        let mode = params.get("mode").map_or("default", String::as_str);
        if !matches!(mode, "default" | "read" | "write" | "append") {
            return Ok(ToolResult::err(format!("Invalid mode: {mode}")).with_meta("allowed", "read, write, append"));
        }
        Ok(ToolResult::ok(format!("{input} ({mode})")).with_meta("execution_time", "15ms").with_meta("a", "b"))
    }
}

struct NoopTool;

impl Tool for NoopTool {
    fn info(&self) -> ToolInfo {
        ToolInfo { name: "noop".into(), description: "Does nothing (test tool)".into(), params: vec![], category: "system".into() }
    }

    fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult> {
        Ok(ToolResult::ok(format!("noop executed with {} params", params.len())))
    }
}

struct StatefulTool {
    counter: Mutex<u64>,
}

impl Tool for StatefulTool {
    fn info(&self) -> ToolInfo {
        ToolInfo { name: "stateful".into(), description: "Counts".into(), params: vec![], category: "system".into() }
    }

    fn execute(&self, _params: &HashMap<String, String>) -> Result<ToolResult> {
        let mut count = self.counter.lock().unwrap();
        *count += 1;
        Ok(ToolResult::ok(format!("Execution #{count}")))
    }
}

/// A tool that is all info, and shows what it was given.
struct Shown(ToolInfo);

impl Tool for Shown {
    fn info(&self) -> ToolInfo {
        self.0.clone()
    }
    fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult> {
        let mut params: Vec<_> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        params.sort_unstable();
        Ok(ToolResult::ok(params.join("\n")))
    }
}

fn shown(name: &str, category: &str) -> Shown {
    Shown(ToolInfo { name: name.into(), description: "Shows".into(), params: vec![], category: category.into() })
}

type Failure = (ErrorKind, String, Option<Value>);

async fn run(tool: &dyn DynTool, arguments: Value) -> std::result::Result<ToolOutput, Failure> {
    let outcome = run_tool(tool, arguments, FakeHost::new()).await;
    outcome.map_err(|error| (error.kind(), error.message().to_owned(), error.details().cloned()))
}

#[test]
fn an_info_becomes_a_definition_that_registers() {
    let mut definition = adapt(MyTool).definition().clone();
    assert_eq!(definition.parameters.lint(), Ok(()));
    assert_eq!(
        serde_json::to_value(&definition).unwrap(),
        json!({
            "name": "my_tool",
            "label": "my_tool",
            "description": "Does something useful",
            "parameters": {
                "type": "object",
                "properties": {
                    "input": {"type": "string", "description": "The input value"},
                    "mode": {"type": "string", "description": "How"}
                },
                "required": ["input"]
            },
            "section": "system",
            "category": "system",
            "access": "full-access",
            "permissions": [],
            "timeout_seconds": 120,
            "profiles": [],
            "aliases": [],
            "owner_only": false,
            "hints": {"read_only": false, "destructive": true, "idempotent": false, "open_world": true}
        })
    );
    assert_eq!(definition.parameters.hints().verbatim, ["input", "mode"]);
}

#[test]
fn categories_and_names_are_translated() {
    for (category, ours) in [("io", "io"), ("network", "network"), ("system", "system"), ("notify", "notify"), ("weather", "system")] {
        assert_eq!(adapt(shown("x", category)).definition().category.as_str(), ours);
    }
    let tool = adapt(shown("Send-Mail", "notify"));
    assert_eq!(tool.definition().name, "send_mail");
    assert_eq!(tool.definition().aliases, ["Send-Mail"]);
}

#[tokio::test]
async fn results_keep_their_output_and_their_metadata() {
    let tool = adapt(MyTool);
    let details = json!({"a": "b", "execution_time": "15ms"});
    assert_eq!(run(&*tool, json!({"input": "x"})).await, Ok(ToolOutput::text("x (default)").with_details(details.clone())));
    assert_eq!(run(&*tool, json!({"input": "x", "mode": "read"})).await, Ok(ToolOutput::text("x (read)").with_details(details)));
    let failure = (ErrorKind::ExecutionError, "Invalid mode: burn".to_owned(), Some(json!({"allowed": "read, write, append"})));
    assert_eq!(run(&*tool, json!({"input": "x", "mode": "burn"})).await, Err(failure));
    assert_eq!(run(&*tool, json!({})).await, Err((ErrorKind::ExecutionError, "Missing input".into(), None)));
    assert_eq!(run(&*adapt(NoopTool), json!({})).await, Ok(ToolOutput::text("noop executed with 0 params")));
    assert_eq!(run(&*adapt(NoopTool), json!({"a": "1", "b": "2"})).await, Ok(ToolOutput::text("noop executed with 2 params")));
}

#[tokio::test]
async fn values_arrive_as_text() {
    let arguments = json!({"text": " a ", "whole": 5, "part": 1.5, "flag": true, "none": null, "list": [1, "b"], "object": {"k": "v"}});
    let expected = "flag=true\nlist=[1,\"b\"]\nobject={\"k\":\"v\"}\npart=1.5\ntext= a \nwhole=5";
    assert_eq!(run(&*adapt(shown("x", "io")), arguments).await, Ok(ToolOutput::text(expected)));
    let failure = run(&*adapt(shown("x", "io")), json!([1])).await;
    assert_eq!(failure, Err((ErrorKind::ValidationError, "The arguments must be a JSON object, not [1]".into(), None)));
}

#[tokio::test]
async fn a_failure_without_words_is_given_some() {
    struct Silent;
    impl Tool for Silent {
        fn info(&self) -> ToolInfo {
            shown("silent", "io").0
        }
        fn execute(&self, _params: &HashMap<String, String>) -> Result<ToolResult> {
            Ok(ToolResult::err(""))
        }
    }
    let failure = (ErrorKind::ExecutionError, "The tool 'silent' failed and gave no reason.".to_owned(), None);
    assert_eq!(run(&*adapt(Silent), json!({})).await, Err(failure));
}

#[test]
fn a_tool_touches_nothing_only_when_the_program_vouches_for_it() {
    let host = FakeHost::new();
    let effects = |tool: &dyn DynTool| {
        let prepared = tool.prepare(json!({}), &PlanContext::new(&*host)).unwrap();
        serde_json::to_value(prepared.plan().effects()).unwrap()
    };
    let why = "'noop' was adapted from the oneclaw trait, which cannot say beforehand what a call will do";
    assert_eq!(effects(&*adapt(NoopTool)), json!([{"effect": "unknown", "why": why}]));
    let trusted = adapt_trusted(NoopTool);
    assert_eq!(effects(&*trusted), json!([]));
    assert_eq!((trusted.definition().access.as_str(), trusted.definition().hints.read_only), ("read-only", true));
}

#[test]
fn state_is_shared_by_calls_from_many_threads() {
    let tool = adapt(StatefulTool { counter: Mutex::new(0) });
    let mut seen: Vec<String> = thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| blocking(&*tool))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    seen.sort_unstable();
    assert_eq!(seen, (1..=8).map(|count| format!("Execution #{count}")).collect::<Vec<_>>());
}

fn blocking(tool: &dyn DynTool) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(run(tool, json!({}))).unwrap().texts().collect()
}
