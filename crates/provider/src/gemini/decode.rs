//! A stream of generateContent as blocks.

use std::mem;

use serde_json::{Value, json};

use super::chunk::{Candidate, Chunk, Counts, FunctionCall, Part};
use super::refusal;
use crate::ids::CallIds;
use crate::refused::{quoted, refused};
use crate::{Block, Decoder, Delta, NameMap, Opaque, Protocol, ProviderError, Reply, StopReason, Trouble, Turn};

pub(super) struct ContentDecoder {
    names: NameMap,
    provider: String,
    ids: CallIds,
    blocks: Vec<Block>,
    calls: usize,
    counts: Counts,
    stop: Option<StopReason>,
}

impl ContentDecoder {
    pub(super) fn new(turn: &Turn<'_>) -> Self {
        Self {
            names: NameMap::new(Protocol::Gemini, turn.tools.iter().map(|tool| &tool.name)),
            provider: turn.model.provider.clone(),
            ids: CallIds::of(turn.messages),
            blocks: Vec::new(),
            calls: 0,
            counts: Counts::default(),
            stop: None,
        }
    }

    fn part(&mut self, part: Part, out: &mut Vec<Delta>) {
        if part.is_foreign() {
            return;
        }
        if let Some(call) = part.function_call {
            return self.call(&call, part.thought_signature, out);
        }
        let text = part.text.unwrap_or_default();
        let is_thought = part.thought == Some(true);
        match part.thought_signature {
            None => self.append(is_thought, &text),
            // A signature belongs to its part as it is: that is neither merged with others nor left out for being empty.
            Some(signature) => {
                let (text, opaque) = (text.clone(), Some(self.opaque(json!({ "thoughtSignature": signature }))));
                self.blocks.push(if is_thought { Block::Thinking { text, opaque } } else { Block::Text { text, opaque } });
            }
        }
        if !text.is_empty() {
            out.push(if is_thought { Delta::Thinking(text) } else { Delta::Text(text) });
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

    /// A call comes whole. Its id on the wire is kept apart from ours: `null` says that none came, so none is sent back.
    fn call(&mut self, call: &FunctionCall, signature: Option<String>, out: &mut Vec<Delta>) {
        let mut value = json!({ "id": call.id });
        if let Some(signature) = signature {
            value["thoughtSignature"] = signature.into();
        }
        let name = self.names.back(call.name.as_deref().unwrap_or_default());
        if call.id.as_deref().is_some_and(|id| !id.is_empty()) && self.has_call(&name, &call.arguments(), &value) {
            // An event that came twice; two calls that are alike have two ids.
            return;
        }
        let index = self.calls;
        self.calls += 1;
        out.push(Delta::CallBegun { index, name: name.clone() });
        let id = self.ids.take(call.id.as_deref().unwrap_or_default());
        let block = Block::Call { id, name, arguments: call.arguments(), opaque: Some(self.opaque(value)) };
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

    fn candidate(&mut self, candidate: Candidate, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out);
        }
        if let Some(reason) = candidate.finish_reason {
            self.stop = Some(stop_reason(&reason, candidate.finish_message.as_deref().unwrap_or_default())?);
        }
        Ok(())
    }
}

/// Output that a filter has held back.
const REFUSED: [&str; 10] = [
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
    let (trouble, why) = match reason {
        "STOP" => return Ok(StopReason::EndTurn),
        "MAX_TOKENS" => return Ok(StopReason::MaxTokens),
        reason if REFUSED.contains(&reason) => return Ok(StopReason::Refused),
        "MALFORMED_FUNCTION_CALL" => (Trouble::Garbled, "it holds a call that cannot be read; fewer or simpler tools may help"),
        "MALFORMED_RESPONSE" => (Trouble::Garbled, "it cannot be read"),
        "UNEXPECTED_TOOL_CALL" => (Trouble::Garbled, "it calls a tool where none was offered"),
        "TOO_MANY_TOOL_CALLS" => (Trouble::Garbled, "it made too many calls in a row; smaller steps may help"),
        // The same request would be refused for the same signature.
        "MISSING_THOUGHT_SIGNATURE" => (Trouble::BadRequest, "a call was sent back without its signature; begin another session"),
        other => return Ok(StopReason::Other(other.to_owned())),
    };
    Err(refused(trouble, &format!("{reason}: {why}. {message}")))
}

impl Decoder for ContentDecoder {
    fn event(&mut self, _name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| refused(Trouble::Malformed, &format!("{error} in the event {}", quoted(data))))?;
        if let Some(error) = &chunk.error {
            return Err(refusal::of_event(error));
        }
        if let Some(counts) = &chunk.usage_metadata {
            self.counts.update(counts);
            out.push(Delta::Usage(self.counts.usage()));
        }
        if chunk.prompt_feedback.and_then(|feedback| feedback.block_reason).is_some() {
            self.stop = Some(StopReason::Refused);
        }
        // We ask for one candidate.
        chunk.candidates.into_iter().flatten().take(1).try_for_each(|candidate| self.candidate(candidate, out))
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Result<Reply, ProviderError> {
        let Some(stop) = self.stop.take() else {
            let what = if self.blocks.is_empty() { "nothing came" } else { "it did not say that it was done" };
            return Err(refused(Trouble::Network, what));
        };
        if let (StopReason::Other(reason), true) = (&stop, self.blocks.is_empty()) {
            return Err(refused(Trouble::Garbled, &format!("it ended with {reason} before it said anything")));
        }
        // The protocol has no reason of its own for calls.
        let stop = if self.calls > 0 && stop == StopReason::EndTurn { StopReason::ToolCalls } else { stop };
        Ok(Reply::new(mem::take(&mut self.blocks), stop, self.counts.usage()))
    }
}
