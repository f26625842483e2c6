//! What happens in a turn, for those who watch: a terminal, lines of JSON, a page.

use std::time::Duration;

use haft_contract::ToolResult;
use haft_provider::Usage;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

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
    /// It ran in circles.
    Loop,
    /// More rounds than the configuration allows.
    MaxRounds,
    /// The person stopped it.
    Cancelled,
    /// There was no answer.
    Failed,
}

impl EndReason {
    /// The word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxTokens => "max_tokens",
            Self::Refused => "refused",
            Self::Loop => "loop",
            Self::MaxRounds => "max_rounds",
            Self::Cancelled => "cancelled",
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
    /// What the model said last.
    pub text: String,
    /// How often it was asked.
    pub rounds: u32,
    /// What all of it cost in tokens.
    pub usage: Usage,
    /// What went wrong, if something did: one sentence with what to do next.
    pub error: Option<String>,
}

/// Something that happened.
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
    /// The model says something.
    Text(&'a str),
    /// The model thinks aloud.
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
    /// A call has its result.
    ToolEnd(&'a ToolResult),
    /// What an answer cost.
    Usage(Usage),
    /// Something that a person should know.
    Notice(&'a str),
    /// The turn is over. Always the last one.
    End(&'a TurnEnd),
}

/// Sees what happens; must not block.
pub trait Watcher: Send + Sync {
    /// Called for each event.
    fn event(&self, event: &TurnEvent<'_>);
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
            Self::ToolEnd(result) => tool_end(&mut map, result)?,
            Self::Usage(usage) => entries(&mut map, "usage", &tokens(*usage))?,
            Self::Notice(text) => entries(&mut map, "notice", &[("text", json!(text))])?,
            Self::End(end) => {
                entries(
                    &mut map,
                    "turn_end",
                    &[("reason", json!(end.reason.as_str())), ("text", json!(end.text)), ("rounds", json!(end.rounds))],
                )?;
                for (name, value) in tokens(end.usage) {
                    map.serialize_entry(name, &value)?;
                }
                if let Some(error) = &end.error {
                    map.serialize_entry("error", error)?;
                }
            }
        }
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, kind: &str, fields: &[(&str, Value)]) -> Result<(), M::Error> {
    map.serialize_entry("type", kind)?;
    fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
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

fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}

fn tokens(usage: Usage) -> [(&'static str, Value); 4] {
    [
        ("input_tokens", json!(usage.input)),
        ("output_tokens", json!(usage.output)),
        ("cached_tokens", json!(usage.cached)),
        ("reasoning_tokens", json!(usage.reasoning)),
    ]
}
