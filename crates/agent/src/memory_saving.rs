//! Before context is lost: the model is given one turn to write what must last to memory, when a conversation is summarized.
//!
//! The turn is made with the messages that the summary replaces, and is no part of the conversation: its calls are in the history like
//! all others, and the user sees one line of it.

use haft_contract::ToolCall;
use haft_provider::{Block, Message, ModelTurn, OfferedTool, ProviderErrorKind, ResultPart, Role};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::events::TurnEvent;
use crate::runner::{Runner, result_block};
use crate::turn::{TurnProgress, TurnStop};

/// Requests of the turn, at most: look, write, correct, done.
const MAX_ROUNDS: usize = 4;
/// Calls of one answer, at most.
const MAX_CALLS: usize = 8;

/// How a model saves to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySaving {
    /// What the model is told.
    pub instruction: String,
    /// The tools that it has, as it knows them.
    pub tools: Vec<String>,
}

/// The outcome of the turn, for the line that the user sees.
#[derive(Debug, Default)]
struct SavedNotes {
    written: Vec<String>,
    failed: usize,
}

impl Runner {
    /// Lets the model save what it needs of messages that are about to be summarized. That it cannot is no reason to stop.
    pub(crate) async fn save_memory(
        &self,
        part: &[Message],
        cancel: &CancellationToken,
        progress: &mut TurnProgress,
    ) -> Result<(), TurnStop> {
        let Some(saving) = &self.memory_saving else { return Ok(()) };
        let tools: Vec<OfferedTool> = self.tools().tools.iter().filter(|tool| saving.tools.contains(&tool.name)).cloned().collect();
        if tools.is_empty() || part.is_empty() {
            return Ok(());
        }
        let mut messages = part.to_vec();
        match messages.last_mut() {
            Some(message) if message.role == Role::User => message.blocks.push(Block::text(saving.instruction.as_str())),
            _ => messages.push(Message::user(saving.instruction.as_str())),
        }
        let mut saved = SavedNotes::default();
        for round in 0..MAX_ROUNDS {
            // The turn itself was permitted; more requests of it must be, too.
            if round > 0 && self.meter.permit().await.is_err() {
                break;
            }
            let turn = ModelTurn { model: self.provider.model(), system: &self.system, messages: &messages, tools: &tools };
            let reply = match self.provider.answer(turn, cancel, &mut |_| {}).await {
                Ok(answer) => answer.reply,
                Err(error) if error.kind == ProviderErrorKind::Cancelled => return Err(TurnStop::Provider(error)),
                Err(error) => {
                    self.watcher.event(&TurnEvent::Notice(&format!("memory: nothing more could be saved: {error}")));
                    return Ok(());
                }
            };
            self.count(reply.usage, progress).await?;
            let results = self.run_saving(&reply.blocks, saving, cancel, &mut saved).await;
            if results.is_empty() {
                break;
            }
            messages.push(Message::assistant(reply.blocks));
            messages.push(Message::results(results));
        }
        self.watcher.event(&TurnEvent::Notice(&saved.line()));
        Ok(())
    }

    /// Runs the calls of one answer; those of other tools are refused without running.
    async fn run_saving(&self, blocks: &[Block], saving: &MemorySaving, cancel: &CancellationToken, saved: &mut SavedNotes) -> Vec<Block> {
        let mut results = Vec::new();
        let mut count = 0;
        for block in blocks {
            let Block::Call { id, name, arguments, .. } = block else { continue };
            count += 1;
            if !saving.tools.contains(name) || count > MAX_CALLS {
                results.push(refused(id, name, saving));
                continue;
            }
            let result = self.engine.run_until(ToolCall::new(id.clone(), name.clone(), arguments.clone()), &self.session, cancel).await;
            let path = serde_json::from_str::<Value>(arguments).ok().and_then(|arguments| {
                let named = ["path", "file_path"].iter().find_map(|key| arguments[*key].as_str());
                named.map(str::to_owned)
            });
            match (result.is_success(), path.filter(|_| self.changes_files(&result.tool))) {
                (true, Some(path)) if !saved.written.contains(&path) => saved.written.push(path),
                (false, _) => saved.failed += 1,
                _ => {}
            }
            results.extend(result_block(block, std::slice::from_ref(&result)));
        }
        results
    }

    fn changes_files(&self, tool: &str) -> bool {
        let entry = self.engine.registry().get(tool);
        entry.is_some_and(|entry| !entry.definition().hints.read_only)
    }
}

fn refused(id: &str, name: &str, saving: &MemorySaving) -> Block {
    let message =
        format!("Only these tools can be called while you save to memory, at most {MAX_CALLS} at once: {}.", saving.tools.join(", "));
    let envelope = serde_json::json!({"status": "error", "error_type": "tool_not_available", "message": message});
    Block::Result {
        id: id.to_owned(),
        name: name.to_owned(),
        content: vec![ResultPart::Text { text: envelope.to_string() }],
        is_error: true,
    }
}

impl SavedNotes {
    fn line(&self) -> String {
        let failed = if self.failed > 0 { format!("; {} failed", haft_text::numbers::count(self.failed, "call")) } else { String::new() };
        match self.written.as_slice() {
            [] => format!("memory: nothing was saved before the conversation is summarized{failed}"),
            written => format!("memory: saved to {} before the conversation is summarized{failed}", written.join(", ")),
        }
    }
}
