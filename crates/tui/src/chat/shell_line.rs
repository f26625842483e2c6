//! `!command`: a command of the user, run by the same tool, policy, sandbox and record as one of the model.

use haft_agent::TurnEvent;
use haft_contract::{ToolCall, ToolResult};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::chat_session::{AfterTurn, ChatSession};
use super::input::ChatInput;
use super::live_input::{LiveInput, LiveResult, run_with_input};
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::signals::Signals;

const TOOL: &str = "exec";
/// What the tool says for a command without output.
const NO_OUTPUT: &str = "(no output)";
/// The longest that the tool waits before a command continues in the background.
const WAITED_MS: u64 = 120_000;

impl ChatSession<'_> {
    /// Runs a command, and prints its output. The model is not told.
    pub(super) async fn run_shell(
        &mut self,
        command: &str,
        typed: &str,
        input: &mut ChatInput,
        signals: &mut Signals,
    ) -> Result<AfterTurn, Failure> {
        let cancel = CancellationToken::new();
        self.shell_calls += 1;
        let Conversation { runner, record, log, .. } = &mut self.conversation;
        // What the user repeats is no loop of the model.
        runner.session.begin_turn();
        let (steering, details) = (runner.steering.clone(), &|all| self.display.details(all));
        let (answers, session) = (&self.answers, record.id.as_str());
        let live = LiveInput { input, signals, answers, session, steering, typed, cancel: cancel.clone(), details };
        let (id, arguments) = (format!("user_{}", self.shell_calls), json!({ "command": command, "yield_ms": WAITED_MS }));
        runner.watcher.event(&TurnEvent::ToolStart { call_id: &id, tool: TOOL, arguments: &arguments.to_string() });
        let running = async {
            // On the heap: every turn would carry its size.
            let call = ToolCall::new(id.clone(), TOOL, arguments.clone());
            let result = Box::pin(runner.engine.run_until(call, &runner.session, &cancel)).await;
            log.flush().await.map(|()| result)
        };
        let LiveResult { done, typed, later, stopped } = run_with_input(running, live).await;
        let result = done?;
        runner.watcher.event(&TurnEvent::ToolEnd(&result));
        self.show_output(&result)?;
        Ok(AfterTurn { done: (), typed, later, stopped })
    }

    /// The output of a command that went well; that of another one is below its line already.
    fn show_output(&self, result: &ToolResult) -> Result<(), Failure> {
        match &result.outcome {
            Ok(output) if !self.output.json => {
                let text = output.texts().collect::<Vec<_>>().join("\n");
                // The line of the call says that there is none.
                if text.trim() == NO_OUTPUT { Ok(()) } else { self.output.tool_text(&text) }
            }
            _ => Ok(()),
        }
    }
}
