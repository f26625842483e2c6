//! The events of a turn, for a terminal, JSON lines or a web page.

mod record;

use std::time::Duration;

use haft_contract::ports::{Todo, UserMessage};
use haft_contract::{Effect, ToolResult};
use haft_provider::Usage;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use self::record::{TurnEndRecord, TurnEventRecord};
use crate::cost::Micros;

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The model is done.
    Done,
    /// Its last answer was cut at its limit.
    MaxTokens,
    /// It, or a filter of its provider, refused.
    Refused,
    /// The loop guard stopped it.
    Loop,
    /// More rounds than the configuration allows.
    MaxRounds,
    /// The budget is used up.
    Budget,
    /// The user stopped it.
    Cancelled,
    /// The model did not give the structured output that the caller wants.
    NoOutput,
    /// There was no answer.
    Failed,
}

impl EndReason {
    const ALL: [Self; 9] = [
        Self::Done,
        Self::MaxTokens,
        Self::Refused,
        Self::Loop,
        Self::MaxRounds,
        Self::Budget,
        Self::Cancelled,
        Self::NoOutput,
        Self::Failed,
    ];

    /// The word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxTokens => "max_tokens",
            Self::Refused => "refused",
            Self::Loop => "loop",
            Self::MaxRounds => "max_rounds",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::NoOutput => "no_output",
            Self::Failed => "failed",
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnEnd {
    /// Why.
    pub reason: EndReason,
    /// The last text of the model.
    pub text: String,
    /// How often it was asked.
    pub rounds: u32,
    /// How many calls it made.
    pub calls: u32,
    /// Its tokens.
    pub usage: Usage,
    /// Its cost; `None` where the price of an answer is not known.
    pub cost: Option<Micros>,
    /// About how many tokens the conversation has now.
    pub context: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// The structured output, where the caller wanted one and the model gave it.
    pub output: Option<Value>,
    /// What went wrong, if something did: one sentence with what to do next.
    pub error: Option<String>,
}

impl TurnEnd {
    /// The end of a turn in which nothing happened yet.
    pub fn new(reason: EndReason) -> Self {
        let (text, usage, elapsed) = (String::new(), Usage::default(), Duration::ZERO);
        Self { reason, text, rounds: 0, calls: 0, usage, cost: None, context: 0, elapsed, output: None, error: None }
    }
}

/// An event of a turn.
#[derive(Debug)]
#[non_exhaustive]
pub enum TurnEvent<'a> {
    /// A turn begins.
    Start {
        /// The session's id.
        session: &'a str,
        /// The model, as provider/model.
        model: &'a str,
    },
    /// Text of the model.
    Text(&'a str),
    /// Thinking of the model.
    Thinking(&'a str),
    /// A call is on its way to its tool.
    ToolStart {
        /// The provider's id.
        call_id: &'a str,
        /// The tool, as the model named it.
        tool: &'a str,
        /// The arguments, as they came.
        arguments: &'a str,
    },
    /// Progress of a call.
    ToolUpdate {
        /// The provider's id.
        call_id: &'a str,
        /// The tool.
        tool: &'a str,
        /// The message.
        message: &'a str,
    },
    /// The user is asked to approve a call; later, the answer.
    Approval {
        /// The provider's id.
        call_id: &'a str,
        /// The tool.
        tool: &'a str,
        /// The effects of the call.
        effects: &'a [Effect],
        /// Why it is asked.
        reason: &'a str,
        /// `once`, `session`, `always`, `deny`, or `none` when the question was withdrawn; absent while it is open.
        answer: Option<&'a str>,
    },
    /// A call has its result.
    ToolEnd(&'a ToolResult),
    /// Tokens of an answer, and its cost where the price is known.
    Usage(Usage, Option<Micros>),
    /// A message to the user.
    Notice(&'a str),
    /// The to-do list has changed, or is shown again.
    Todos(&'a [Todo]),
    /// The model has sent the user a message.
    Message(&'a UserMessage),
    /// The turn is over. Always the last one.
    End(&'a TurnEnd),
}

/// Receives the events of a turn; must not block.
pub trait TurnWatcher: Send + Sync {
    /// Called for each event.
    fn event(&self, event: &TurnEvent<'_>);
}

/// Ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullWatcher;

impl TurnWatcher for NullWatcher {
    fn event(&self, _: &TurnEvent<'_>) {}
}

impl Serialize for TurnEvent<'_> {
    /// One line of `--json`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Start { session, model } => {
                map.serialize_entry("type", "turn_start")?;
                map.serialize_entry("schema", &1)?;
                map.serialize_entry("session", session)?;
                map.serialize_entry("model", model)?;
            }
            Self::Text(text) => entries(&mut map, "text_delta", &[("text", json!(text))])?,
            Self::Thinking(text) => entries(&mut map, "thinking_delta", &[("text", json!(text))])?,
            Self::ToolStart { call_id, tool, arguments } => {
                map.serialize_entry("type", "tool_start")?;
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("tool", tool)?;
                match RawValue::from_string((*arguments).to_owned()) {
                    Ok(value) => map.serialize_entry("arguments", &value)?,
                    Err(_) => map.serialize_entry("arguments", arguments)?,
                }
            }
            Self::ToolUpdate { call_id, tool, message } => {
                entries(&mut map, "tool_update", &[("call_id", json!(call_id)), ("tool", json!(tool)), ("message", json!(message))])?;
            }
            Self::Approval { call_id, tool, effects, reason, answer } => {
                entries(&mut map, "approval", &[("call_id", json!(call_id)), ("tool", json!(tool))])?;
                map.serialize_entry("effects", effects)?;
                map.serialize_entry("reason", reason)?;
                if let Some(answer) = answer {
                    map.serialize_entry("answer", answer)?;
                }
            }
            Self::ToolEnd(result) => tool_end(&mut map, result)?,
            Self::Usage(usage, cost) => {
                entries(&mut map, "usage", &tokens(*usage))?;
                map.serialize_entry("cost", &dollars(*cost))?;
            }
            Self::Todos(todos) => entries(&mut map, "todos", &[("todos", json!(todos))])?,
            Self::Message(message) => entries(&mut map, "message", &message_fields(message))?,
            Self::Notice(text) => entries(&mut map, "notice", &[("text", json!(text))])?,
            Self::End(end) => turn_end(&mut map, end)?,
        }
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, kind: &str, fields: &[(&str, Value)]) -> Result<(), M::Error> {
    map.serialize_entry("type", kind)?;
    fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}

fn message_fields(message: &UserMessage) -> [(&'static str, Value); 4] {
    [
        ("message", json!(message.message)),
        ("level", json!(message.level)),
        ("proactive", json!(message.proactive)),
        ("attachments", json!(message.attachments)),
    ]
}

fn tool_end<M: SerializeMap>(map: &mut M, result: &ToolResult) -> Result<(), M::Error> {
    entries(map, "tool_end", &[("call_id", json!(result.call_id)), ("tool", json!(result.tool))])?;
    match &result.outcome {
        Ok(output) => {
            map.serialize_entry("status", "success")?;
            map.serialize_entry("result", &output.texts().collect::<Vec<_>>().join("\n"))?;
        }
        Err(error) => {
            map.serialize_entry("status", "error")?;
            map.serialize_entry("error_type", error.kind().as_str())?;
            map.serialize_entry("message", error.message())?;
        }
    }
    map.serialize_entry("duration_ms", &milliseconds(result.elapsed))
}

fn turn_end<M: SerializeMap>(map: &mut M, end: &TurnEnd) -> Result<(), M::Error> {
    let counts = [("rounds", json!(end.rounds)), ("calls", json!(end.calls))];
    entries(map, "turn_end", &[("reason", json!(end.reason.as_str())), ("text", json!(end.text))])?;
    counts.into_iter().chain(tokens(end.usage)).try_for_each(|(name, value)| map.serialize_entry(name, &value))?;
    map.serialize_entry("cost", &dollars(end.cost))?;
    map.serialize_entry("context_tokens", &end.context)?;
    map.serialize_entry("duration_ms", &milliseconds(end.elapsed))?;
    end.output.iter().try_for_each(|output| map.serialize_entry("output", output))?;
    end.error.iter().try_for_each(|error| map.serialize_entry("error", error))
}

fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}

/// In dollars; `null` where it is not known, which is not zero.
#[allow(clippy::cast_precision_loss, reason = "amounts of money here are far below 2^52 micros")]
fn dollars(cost: Option<Micros>) -> Option<f64> {
    cost.map(|Micros(micros)| micros as f64 / 1e6)
}

fn tokens(usage: Usage) -> [(&'static str, Value); 4] {
    [
        ("input_tokens", json!(usage.input)),
        ("output_tokens", json!(usage.output)),
        ("cached_tokens", json!(usage.cached)),
        ("reasoning_tokens", json!(usage.reasoning)),
    ]
}
