//! Events of a turn as they travel between processes: what a page shows of them, and no more.

use std::time::Duration;

use haft_contract::ports::{MessageLevel, Todo, UserMessage};
use haft_contract::{ErrorKind, ToolError, ToolOutput, ToolResult};
use haft_provider::Usage;
use haft_text::truncate::first_bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EndReason, TurnEnd, TurnEvent, TurnWatcher};
use crate::cost::Micros;

/// Text of one event; the store has all of it.
const MOST_TEXT: usize = 128 << 10;

/// An event of a turn that runs in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TurnEventRecord {
    /// A turn begins.
    Start {
        /// The session's id.
        session: String,
        /// The model, as provider/model.
        model: String,
    },
    /// Text of the model.
    Text {
        /// The text.
        text: String,
    },
    /// Thinking of the model.
    Thinking {
        /// The text.
        text: String,
    },
    /// A call is on its way to its tool.
    ToolStart {
        /// The provider's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// The arguments, as they came.
        arguments: String,
    },
    /// Progress of a call.
    ToolUpdate {
        /// The provider's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// The message.
        message: String,
    },
    /// A question about a call is open, or answered.
    Approval {
        /// The provider's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// Why it is asked.
        reason: String,
        /// The answer; absent while it is open.
        answer: Option<String>,
    },
    /// A call has its result.
    ToolEnd {
        /// The provider's id.
        call_id: String,
        /// The tool.
        tool: String,
        /// The kind of the error; absent if it worked.
        error_type: Option<String>,
        /// The text of the result or of the error.
        text: String,
        /// For people and programs.
        details: Option<Value>,
        /// How long it took.
        milliseconds: u64,
    },
    /// Tokens of an answer, and its cost.
    Usage {
        /// The tokens.
        usage: Usage,
        /// In millionths of a dollar.
        cost: Option<i64>,
    },
    /// A message to the user.
    Notice {
        /// The text.
        text: String,
    },
    /// The to-do list.
    Todos {
        /// Its items.
        todos: Vec<Todo>,
    },
    /// The model has sent the user a message.
    Message {
        /// The text.
        message: String,
        /// How it is meant.
        level: MessageLevel,
        /// Whether the user did not ask for it.
        proactive: bool,
    },
    /// The turn is over.
    End {
        /// How.
        end: TurnEndRecord,
    },
}

/// The end of a turn as it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEndRecord {
    reason: String,
    text: String,
    rounds: u32,
    calls: u32,
    usage: Usage,
    cost: Option<i64>,
    context: u64,
    milliseconds: u64,
    output: Option<Value>,
    error: Option<String>,
}

impl From<&TurnEnd> for TurnEndRecord {
    fn from(end: &TurnEnd) -> Self {
        Self {
            reason: end.reason.as_str().to_owned(),
            text: bounded(&end.text),
            rounds: end.rounds,
            calls: end.calls,
            usage: end.usage,
            cost: end.cost.map(|Micros(micros)| micros),
            context: end.context,
            milliseconds: milliseconds(end.elapsed),
            output: end.output.clone(),
            error: end.error.clone(),
        }
    }
}

impl From<TurnEndRecord> for TurnEnd {
    /// A reason that this version does not know is a failure, and says so.
    fn from(record: TurnEndRecord) -> Self {
        let reason = EndReason::ALL.into_iter().find(|reason| reason.as_str() == record.reason);
        let unknown = || Some(format!("The turn ended with '{}', which this version does not know.", record.reason));
        Self {
            reason: reason.unwrap_or(EndReason::Failed),
            text: record.text,
            rounds: record.rounds,
            calls: record.calls,
            usage: record.usage,
            cost: record.cost.map(Micros),
            context: record.context,
            elapsed: Duration::from_millis(record.milliseconds),
            output: record.output,
            error: record.error.or_else(|| if reason.is_none() { unknown() } else { None }),
        }
    }
}

impl TurnEventRecord {
    /// The record of an event.
    pub fn from_event(event: &TurnEvent<'_>) -> Self {
        let owned = |text: &str| text.to_owned();
        match event {
            TurnEvent::Start { session, model } => Self::Start { session: owned(session), model: owned(model) },
            TurnEvent::Text(text) => Self::Text { text: owned(text) },
            TurnEvent::Thinking(text) => Self::Thinking { text: owned(text) },
            TurnEvent::ToolStart { call_id, tool, arguments } => {
                Self::ToolStart { call_id: owned(call_id), tool: owned(tool), arguments: bounded(arguments) }
            }
            TurnEvent::ToolUpdate { call_id, tool, message } => {
                Self::ToolUpdate { call_id: owned(call_id), tool: owned(tool), message: bounded(message) }
            }
            TurnEvent::Approval { call_id, tool, reason, answer, .. } => {
                Self::Approval { call_id: owned(call_id), tool: owned(tool), reason: owned(reason), answer: answer.map(owned) }
            }
            TurnEvent::ToolEnd(result) => tool_end(result),
            TurnEvent::Usage(usage, cost) => Self::Usage { usage: *usage, cost: cost.map(|Micros(micros)| micros) },
            TurnEvent::Notice(text) => Self::Notice { text: owned(text) },
            TurnEvent::Todos(todos) => Self::Todos { todos: todos.to_vec() },
            // Its files are on the machine where the turn runs.
            TurnEvent::Message(UserMessage { message, level, proactive, .. }) => {
                Self::Message { message: message.clone(), level: *level, proactive: *proactive }
            }
            TurnEvent::End(end) => Self::End { end: TurnEndRecord::from(*end) },
        }
    }

    /// Tells a watcher of it, as if the turn ran here.
    pub fn tell(self, watcher: &dyn TurnWatcher) {
        match &self {
            Self::Start { session, model } => watcher.event(&TurnEvent::Start { session, model }),
            Self::Text { text } => watcher.event(&TurnEvent::Text(text)),
            Self::Thinking { text } => watcher.event(&TurnEvent::Thinking(text)),
            Self::ToolStart { call_id, tool, arguments } => watcher.event(&TurnEvent::ToolStart { call_id, tool, arguments }),
            Self::ToolUpdate { call_id, tool, message } => watcher.event(&TurnEvent::ToolUpdate { call_id, tool, message }),
            Self::Approval { call_id, tool, reason, answer } => {
                watcher.event(&TurnEvent::Approval { call_id, tool, effects: &[], reason, answer: answer.as_deref() });
            }
            Self::ToolEnd { .. } => {
                if let Some(result) = self.into_result() {
                    watcher.event(&TurnEvent::ToolEnd(&result));
                }
            }
            Self::Usage { usage, cost } => watcher.event(&TurnEvent::Usage(*usage, cost.map(Micros))),
            Self::Notice { text } => watcher.event(&TurnEvent::Notice(text)),
            Self::Todos { todos } => watcher.event(&TurnEvent::Todos(todos)),
            Self::Message { message, level, proactive } => {
                let (message, attachments) = (message.clone(), Vec::new());
                watcher.event(&TurnEvent::Message(&UserMessage { message, level: *level, proactive: *proactive, attachments }));
            }
            Self::End { end } => watcher.event(&TurnEvent::End(&end.clone().into())),
        }
    }

    /// The result of a call, if it is one.
    pub fn into_result(self) -> Option<ToolResult> {
        let Self::ToolEnd { call_id, tool, error_type, text, details, milliseconds } = self else { return None };
        let outcome = match error_type {
            None => Ok(details.into_iter().fold(ToolOutput::text(text), ToolOutput::with_details)),
            Some(kind) => {
                let error = ToolError::new(kind.parse().unwrap_or(ErrorKind::ExecutionError), text);
                Err(details.into_iter().fold(error, ToolError::with_details))
            }
        };
        Some(ToolResult { call_id, tool: tool.into(), outcome, elapsed: Duration::from_millis(milliseconds), stored: None })
    }
}

fn tool_end(result: &ToolResult) -> TurnEventRecord {
    let (error_type, text) = match &result.outcome {
        Ok(output) => (None, output.texts().collect::<Vec<_>>().join("\n")),
        Err(error) => (Some(error.kind().as_str().to_owned()), error.message().to_owned()),
    };
    // What is too long for a message is in the history.
    let details = result.details().filter(|details| details.to_string().len() <= MOST_TEXT).cloned();
    TurnEventRecord::ToolEnd {
        call_id: result.call_id.clone(),
        tool: result.tool.to_string(),
        error_type,
        text: bounded(&text),
        details,
        milliseconds: milliseconds(result.elapsed),
    }
}

fn bounded(text: &str) -> String {
    first_bytes(text, MOST_TEXT).to_owned()
}

fn milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;

    /// Keeps the records of what it is told.
    #[derive(Default)]
    struct RecordingWatcher(Mutex<Vec<TurnEventRecord>>);

    impl TurnWatcher for RecordingWatcher {
        fn event(&self, event: &TurnEvent<'_>) {
            self.0.lock().unwrap().push(TurnEventRecord::from_event(event));
        }
    }

    #[test]
    fn events_survive_the_way_and_long_texts_are_cut() {
        let ok = ToolOutput::text("out").with_details(json!({"exit_code": 0}));
        let result =
            |outcome| ToolResult { call_id: "c".into(), tool: "exec".into(), outcome, elapsed: Duration::from_millis(7), stored: None };
        let mut end = TurnEnd::new(EndReason::MaxRounds);
        (end.text, end.cost, end.error) = ("done".into(), Some(Micros(5)), Some("why".into()));
        let long = "ä".repeat(MOST_TEXT);
        let events = [
            TurnEvent::Start { session: "s", model: "demo/demo" },
            TurnEvent::Text("hello"),
            TurnEvent::ToolStart { call_id: "c", tool: "exec", arguments: &long },
            TurnEvent::Approval { call_id: "c", tool: "exec", effects: &[], reason: "r", answer: Some("once") },
            TurnEvent::ToolEnd(&result(Ok(ok))),
            TurnEvent::ToolEnd(&result(Err(ToolError::denied("no").with_details(json!({"to_change": "x"}))))),
            TurnEvent::End(&end),
        ];
        let sent: Vec<TurnEventRecord> = events.iter().map(TurnEventRecord::from_event).collect();
        let text = serde_json::to_string(&sent).unwrap();
        assert!(text.len() < MOST_TEXT * 2);
        let watcher = RecordingWatcher::default();
        serde_json::from_str::<Vec<TurnEventRecord>>(&text).unwrap().into_iter().for_each(|event| event.tell(&watcher));
        assert_eq!(*watcher.0.lock().unwrap(), sent);
        let unknown = TurnEndRecord { reason: "later".into(), ..TurnEndRecord::from(&TurnEnd::new(EndReason::Done)) };
        assert!(TurnEnd::from(unknown).error.unwrap().contains("'later'"));
    }
}
