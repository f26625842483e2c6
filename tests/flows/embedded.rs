//! Tools that were written for the traits of seeds 001 and 003, in the engine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use haft::compat::{claw, oneclaw};
use haft::{
    Access, BoxFuture, ErrorKind, ToolCall,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use serde_json::json;

use crate::support::{World, failure, text};

/// Approves everything and remembers each request.
#[derive(Default)]
struct RecordingApprover(Mutex<Vec<String>>);

impl Approver for RecordingApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.0.lock().unwrap().push(request.call.tool);
        Box::pin(async { ApprovalAnswer::Once })
    }
}

/// The example of seed 001.
fn executor() -> claw::StaticToolExecutor {
    claw::StaticToolExecutor::new()
        .register("Launch", |_input| Ok("output".to_string()))
        .register("Recipe", |input| if input.contains("none") { Err(claw::ToolError::new("no such skill")) } else { Ok(input.to_string()) })
}

fn specs() -> Vec<claw::ToolSpec> {
    let input_schema = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        claw::ToolSpec {
            name: "Launch",
            description: "Launch a sub-agent",
            input_schema: input_schema("prompt"),
            required_permission: claw::PermissionMode::DangerFullAccess,
        },
        claw::ToolSpec {
            name: "Recipe",
            description: "Load a local skill definition",
            input_schema: input_schema("skill"),
            required_permission: claw::PermissionMode::ReadOnly,
        },
    ]
}

#[tokio::test]
async fn the_executor_of_seed_001_answers_calls() {
    let recorder = Arc::new(RecordingApprover::default());
    let approver = Arc::clone(&recorder);
    let world = World::with(&[], |session| session.access(Access::FullAccess).approver(approver));
    for tool in claw::adapt(executor(), specs()) {
        world.toolbox.add_dyn(tool).unwrap();
    }
    assert_eq!(text(&world.call("Launch", json!({"prompt": "ls"})).await), "output");
    assert_eq!(text(&world.call("Recipe", json!({"skill": "sharpen"})).await), r#"{"skill":"sharpen"}"#);
    let (kind, message) = failure(&world.call("recipe", json!({"skill": "none"})).await);
    assert!(kind == ErrorKind::ExecutionError && message.contains("no such skill"), "{message}");
    assert_eq!(failure(&world.call("Launch", json!({})).await).0, ErrorKind::ValidationError);
    assert_eq!(*recorder.0.lock().unwrap(), ["launch", "recipe", "recipe"], "what cannot be planned is asked about");

    let careful = World::new();
    for tool in claw::adapt_trusted(executor(), specs()) {
        careful.toolbox.add_dyn(tool).unwrap();
    }
    assert_eq!(text(&careful.call("recipe", json!({"skill": "x"})).await), r#"{"skill":"x"}"#);
    assert_eq!(failure(&careful.call("Launch", json!({"prompt": "ls"})).await).0, ErrorKind::PermissionDenied);
}

/// The example of seed 003, with state behind a lock.
struct Counter {
    count: Mutex<u64>,
}

impl oneclaw::Tool for Counter {
    fn info(&self) -> oneclaw::ToolInfo {
        let input = oneclaw::ToolParam { name: "input".into(), description: "The input value".into(), required: true };
        oneclaw::ToolInfo { name: "counter".into(), description: "Counts".into(), params: vec![input], category: "system".into() }
    }
    fn execute(&self, params: &HashMap<String, String>) -> oneclaw::Result<oneclaw::ToolResult> {
        let mut count = self.count.lock().unwrap();
        *count += 1;
        Ok(oneclaw::ToolResult::ok(format!("Execution #{count}: {}", params["input"])).with_meta("execution_time", "15ms"))
    }
}

#[tokio::test]
async fn a_tool_of_seed_003_answers_calls_and_is_never_run_without_what_it_requires() {
    let world = World::new();
    world.toolbox.add_dyn(oneclaw::adapt_trusted(Counter { count: Mutex::new(0) })).unwrap();
    let result = world.call("counter", json!({"input": 5})).await;
    assert_eq!((text(&result).as_str(), &result.details().unwrap()["execution_time"]), ("Execution #1: 5", &json!("15ms")));
    for arguments in [json!({}), json!({"input": null})] {
        let (kind, message) = failure(&world.call("counter", arguments).await);
        assert!(kind == ErrorKind::ValidationError && message.starts_with("Missing required parameter: 'input'."), "{message}");
    }
    let calls = (0..20).map(|number| ToolCall::new(number.to_string(), "counter", json!({"input": number.to_string()}))).collect();
    let mut counts: Vec<u64> = world.toolbox.call_all(calls).await.iter().map(|result| number_in(&text(result))).collect();
    counts.sort_unstable();
    assert_eq!(counts, (2..=21).collect::<Vec<_>>(), "no execution was lost or counted twice, and none of the refused ones ran");
}

fn number_in(text: &str) -> u64 {
    text.trim_start_matches("Execution #").split(':').next().unwrap().parse().unwrap()
}
