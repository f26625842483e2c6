//! A call of a tool that works on conversations: it gets one, and its sub-agents end before the command does.

use std::sync::Arc;

use haft_agent::NullWatcher;
use haft_contract::ToolCall;
use haft_contract::ports::SubAgents;
use haft_tui::conversation::Conversation;

use super::answer;
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::conversation::{self, ConversationStart};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wire::{CallSetup, UserPrompts, Wire};

pub(super) fn run(wire: &Arc<Wire>, call: ToolCall, prompts: UserPrompts, output: &Output) -> Result<Exit, Failure> {
    block_on(async {
        let start = ConversationStart { session: None, model: None, prompts, max_rounds: None, waits_for_agents: true, output: None };
        let mut conversation = conversation::open(wire, start, Arc::new(NullWatcher)).await?;
        let title = format!("haft call {}", call.name);
        let (engine, session) = (conversation.runner.engine.clone(), conversation.runner.session.clone());
        let setup = CallSetup::new(engine, session, Arc::clone(&conversation.log));
        let exit = answer(&setup, call).await?.show(output)?;
        let exit = wait_for_agents(&conversation, exit, output).await?;
        conversation.finish().await;
        let (sessions, id) = (Arc::clone(&conversation.sessions), conversation.record.id.clone());
        if sessions.sub_agents(&id).await?.is_empty() {
            // The runner holds the claim on the session.
            drop((setup, conversation));
            sessions.delete(&id).await?;
        } else {
            conversation.title_from(&title).await?;
        }
        Ok(exit)
    })
}

/// Prints the answers of sub-agents that the call left in the background.
async fn wait_for_agents(conversation: &Conversation, exit: Exit, output: &Output) -> Result<Exit, Failure> {
    let waiting = async {
        while conversation.agents.next_end().await {
            for status in conversation.agents.end_notices() {
                let text = status.answer.clone().or(status.error.clone()).unwrap_or_default();
                if !output.json {
                    output.tool_text(&format!("{} ({}):\n{text}\n", status.label, status.state))?;
                }
            }
        }
        Ok::<(), Failure>(())
    };
    let (shown, stopped) = interruptible(Box::pin(waiting), conversation.runner.session.cancellation()).await?;
    shown?;
    Ok(stopped.unwrap_or(exit))
}
