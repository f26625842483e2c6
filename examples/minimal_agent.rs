//! A minimal agent: a tool of its own, a model, and the answer as it arrives.
//!
//! The model is a scripted server, so that the example runs without a key. In a program it is one line:
//! `haft::providers::anthropic("claude-sonnet-4-5")?`.
#![allow(clippy::print_stdout, reason = "a program prints")]

use haft::providers::{self, Protocol};
use haft::{Agent, AgentEvent, ToolError};
use haft_testkit::{ModelServer, Round};

/// Greets somebody by name.
#[haft::tool]
async fn greet(
    /// Whom to greet.
    name: String,
) -> Result<String, ToolError> {
    Ok(format!("Hello, {name}!"))
}

/// The text of the model, and the tools that it called.
pub(crate) async fn run() -> Result<String, Box<dyn std::error::Error>> {
    let script = vec![Round::call("1", "greet", serde_json::json!({"name": "Ann"})), Round::Text("I greeted Ann.".into())];
    let server = ModelServer::start(script)?;
    let model = providers::at(Protocol::OpenAi, server.url(), "m1");
    let agent = Agent::builder().provider(model).tool(Greet).system("You are brief.").max_rounds(5).build().await?;
    let mut turn = agent.ask("Greet Ann.");
    let mut shown = String::new();
    while let Some(event) = turn.next().await {
        match event {
            AgentEvent::Text(text) => shown += &text,
            AgentEvent::ToolEnd(result) => shown.extend(["[", &result.to_json(), "] "]),
            _ => {}
        }
    }
    Ok(shown)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{}", run().await?);
    Ok(())
}
