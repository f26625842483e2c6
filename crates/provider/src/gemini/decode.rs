//! Decodes a generateContent stream into blocks.

use std::mem;

use serde_json::{Value, json};

use super::refusal;
use super::usage::GeminiUsage;
use crate::ids::CallIds;
use crate::json::{EventJson, EventTree, EventValue};
use crate::refused::{quoted, refused};
use crate::{Block, Delta, ModelReply, ModelTurn, NameMap, Opaque, Protocol, ProviderError, ProviderErrorKind, StopReason, StreamDecoder};

pub(super) struct ContentDecoder {
    names: NameMap,
    provider: String,
    ids: CallIds,
    blocks: Vec<Block>,
    calls: usize,
    counts: GeminiUsage,
    stop: Option<StopReason>,
}

impl ContentDecoder {
    pub(super) fn new(turn: &ModelTurn<'_>) -> Self {
        Self {
            names: NameMap::new(Protocol::Gemini, turn.tools.iter().map(|tool| &tool.name)),
            provider: turn.model.provider.clone(),
            ids: CallIds::from_messages(turn.messages),
            blocks: Vec::new(),
            calls: 0,
            counts: GeminiUsage::default(),
            stop: None,
        }
    }

    fn part(&mut self, part: EventJson<'_>, out: &mut Vec<Delta>) {
        // Nearly every part.
        if let Some(text) = part.only_text("text").filter(|text| !text.is_empty()) {
            self.append(false, text);
            return out.push(Delta::Text(text.to_owned()));
        }
        // Media and code that were not requested.
        if ["inlineData", "executableCode", "codeExecutionResult"].iter().any(|name| !part.at(name).is_null()) {
            return;
        }
        let signature = part.at("thoughtSignature").as_str();
        if part.at("functionCall").is_object() {
            return self.call(part.at("functionCall"), signature, out);
        }
        let text = part.text("text");
        let is_thought = *part.at("thought").value() == EventValue::Bool(true);
        match signature {
            None => self.append(is_thought, text),
            // A signed part is neither merged with others nor dropped when it is empty.
            Some(signature) => {
                let (text, opaque) = (text.to_owned(), Some(self.opaque(json!({ "thoughtSignature": signature }))));
                self.blocks.push(if is_thought { Block::Thinking { text, opaque } } else { Block::Text { text, opaque } });
            }
        }
        if !text.is_empty() {
            out.push(if is_thought { Delta::Thinking(text.to_owned()) } else { Delta::Text(text.to_owned()) });
        }
    }

    fn append(&mut self, is_thought: bool, more: &str) {
        match (self.blocks.last_mut(), is_thought) {
            _ if more.is_empty() => {}
            (Some(Block::Text { text, opaque: None }), false) | (Some(Block::Thinking { text, opaque: None }), true) => text.push_str(more),
            (_, false) => self.blocks.push(Block::text(more)),
            (_, true) => self.blocks.push(Block::Thinking { text: more.to_owned(), opaque: None }),
        }
    }

    /// A call, which arrives complete. Its wire id is stored beside ours: `null` if there was none, so that none is sent back.
    fn call(&mut self, call: EventJson<'_>, signature: Option<&str>, out: &mut Vec<Delta>) {
        let mut value = json!({ "id": call.at("id").as_str() });
        if let Some(signature) = signature {
            value["thoughtSignature"] = signature.into();
        }
        let (name, arguments) = (self.names.original(call.text("name")), arguments(call.at("args")));
        if !call.text("id").is_empty() && self.has_call(&name, &arguments, &value) {
            // A repeated event: two equal calls have different ids.
            return;
        }
        let index = self.calls;
        self.calls += 1;
        out.push(Delta::CallBegun { index, name: name.clone() });
        let id = self.ids.take(call.text("id"));
        let block = Block::Call { id, name, arguments, opaque: Some(self.opaque(value)) };
        out.push(Delta::CallReady { index, call: block.clone() });
        self.blocks.push(block);
    }

    fn has_call(&self, name: &str, arguments: &str, value: &Value) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Call { name: known, arguments: same, opaque: Some(opaque), .. } => {
                known == name && same == arguments && opaque.value == *value
            }
            _ => false,
        })
    }

    fn opaque(&self, value: Value) -> Opaque {
        Opaque { protocol: Protocol::Gemini, provider: self.provider.clone(), value }
    }

    fn candidate(&mut self, candidate: EventJson<'_>, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        for part in candidate.at("content").at("parts").list() {
            self.part(part, out);
        }
        if let Some(reason) = candidate.at("finishReason").as_str() {
            self.stop = Some(stop_reason(reason, candidate.text("finishMessage"))?);
        }
        Ok(())
    }
}

/// The arguments as text; the protocol sends an object, or nothing if there are none.
fn arguments(value: EventJson<'_>) -> String {
    match value.value() {
        EventValue::Null => "{}".to_owned(),
        EventValue::Text(text) => text.clone().into_owned(),
        _ => value.to_value().to_string(),
    }
}

/// Finish reasons of output that a filter blocked.
const FILTERED: [&str; 10] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

fn stop_reason(reason: &str, message: &str) -> Result<StopReason, ProviderError> {
    let (kind, why) = match reason {
        "STOP" => return Ok(StopReason::EndTurn),
        "MAX_TOKENS" => return Ok(StopReason::MaxTokens),
        reason if FILTERED.contains(&reason) => return Ok(StopReason::Refused),
        "MALFORMED_FUNCTION_CALL" => (ProviderErrorKind::Garbled, "it holds a call that cannot be read; fewer or simpler tools may help"),
        "MALFORMED_RESPONSE" => (ProviderErrorKind::Garbled, "it cannot be read"),
        "UNEXPECTED_TOOL_CALL" => (ProviderErrorKind::Garbled, "it calls a tool where none was offered"),
        "TOO_MANY_TOOL_CALLS" => (ProviderErrorKind::Garbled, "it made too many calls in a row; smaller steps may help"),
        "MISSING_THOUGHT_SIGNATURE" => (ProviderErrorKind::BadRequest, "a call was sent back without its signature; begin another session"),
        other => return Ok(StopReason::Other(other.to_owned())),
    };
    Err(refused(kind, &format!("{reason}: {why}. {message}")))
}

impl StreamDecoder for ContentDecoder {
    fn event(&mut self, _name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let tree = EventTree::event(data)
            .map_err(|error| refused(ProviderErrorKind::Malformed, &format!("{error} in the event {}", quoted(data))))?;
        let (mut error, mut counts, mut feedback, mut candidates) = (None, None, None, None);
        for (name, value) in tree.root().fields() {
            match name {
                "error" => error = Some(value),
                "usageMetadata" => counts = Some(value),
                "promptFeedback" => feedback = Some(value),
                "candidates" => candidates = Some(value),
                _ => {}
            }
        }
        if let Some(error) = error.filter(|error| error.is_object()) {
            return Err(refusal::from_event(error));
        }
        if let Some(counts) = counts.filter(|counts| counts.is_object()) {
            self.counts.update(counts);
            out.push(Delta::Usage(self.counts.usage()));
        }
        if feedback.is_some_and(|feedback| !feedback.at("blockReason").is_null()) {
            self.stop = Some(StopReason::Refused);
        }
        // The request asks for one candidate.
        candidates.and_then(|candidates| candidates.list().next()).map_or(Ok(()), |candidate| self.candidate(candidate, out))
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Result<ModelReply, ProviderError> {
        let Some(stop) = self.stop.take() else {
            let what = if self.blocks.is_empty() { "it sent nothing" } else { "it did not say that it was done" };
            return Err(refused(ProviderErrorKind::Network, what));
        };
        if let (StopReason::Other(reason), true) = (&stop, self.blocks.is_empty()) {
            return Err(refused(ProviderErrorKind::Garbled, &format!("it ended with {reason} before any output")));
        }
        // The protocol has no finish reason for calls.
        let stop = if self.calls > 0 && stop == StopReason::EndTurn { StopReason::ToolCalls } else { stop };
        Ok(ModelReply::new(mem::take(&mut self.blocks), stop, self.counts.usage()))
    }
}
