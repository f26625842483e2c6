//! An approver of the program's own: it allows one host for the session, and refuses everything else with a comment for the model.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::sync::Arc;

use haft::ports::{ApprovalAnswer, ApprovalRequest};
use haft::{CallbackApprover, Connect, Effect, Plan, PlanContext, ToolError, Toolbox};

/// Adds a word.
#[haft::tool(category = Network, plan = goes_out)]
async fn look_up(
    /// The host to ask.
    host: String,
) -> Result<String, ToolError> {
    Ok(format!("asked {host}"))
}

#[expect(clippy::unnecessary_wraps, reason = "a plan may fail; this one cannot")]
fn goes_out(params: &LookUpParams, _: &PlanContext<'_>) -> Result<Plan, ToolError> {
    Ok(Plan::nothing().with(Effect::Connect(Connect::new("https", &params.host, 443, "POST"))))
}

fn decide(request: &ApprovalRequest) -> ApprovalAnswer {
    let known = |effect: &Effect| matches!(effect, Effect::Connect(connect) if connect.host == "dictionary.example");
    if request.effects.iter().all(known) {
        return ApprovalAnswer::Session;
    }
    ApprovalAnswer::Deny { comment: Some("only dictionary.example".into()) }
}

/// The results of three calls.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let approver = CallbackApprover::new(|request| async move { decide(&request) });
    let toolbox = Toolbox::builder().tool(LookUp).approver(Arc::new(approver)).build()?;
    let mut results = String::new();
    for host in ["dictionary.example", "elsewhere.example", "dictionary.example"] {
        results += &toolbox.call("look_up", serde_json::json!({"host": host})).await.to_json();
        results += "\n";
    }
    Ok(results)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
