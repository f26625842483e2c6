//! A stream of generateContent as blocks.

use std::mem;

use serde_json::{Value, json};

use super::chunk::{Candidate, Chunk, Counts, FunctionCall, Part};
use super::refusal;
use crate::refused::{quoted, refused};
use crate::replay::CallIds;
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
        if !text.is_empty() {
            out.push(if is_thought { Delta::Thinking(text.clone()) } else { Delta::Text(text.clone()) });
        }
        match part.thought_signature {
            None => self.append(is_thought, &text),
            // A signature belongs to its part as it is: that is neither merged with others nor left out for being empty.
            Some(signature) => {
                let opaque = Some(self.opaque(json!({ "thoughtSignature": signature })));
                self.blocks.push(if is_thought { Block::Thinking { text, opaque } } else { Block::Text { text, opaque } });
            }
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
        let index = self.calls;
        self.calls += 1;
        let name = self.names.back(call.name.as_deref().unwrap_or_default());
        out.push(Delta::CallBegun { index, name: name.clone() });
        let id = self.ids.take(call.id.as_deref().unwrap_or_default());
        let block = Block::Call { id, name, arguments: call.arguments(), opaque: Some(self.opaque(value)) };
        out.push(Delta::CallReady { index, call: block.clone() });
        self.blocks.push(block);
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
const REFUSED: [&str; 9] = [
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

fn stop_reason(reason: &str, message: &str) -> Result<StopReason, ProviderError> {
    let trouble = match reason {
        "STOP" => return Ok(StopReason::EndTurn),
        "MAX_TOKENS" => return Ok(StopReason::MaxTokens),
        reason if REFUSED.contains(&reason) => return Ok(StopReason::Refused),
        "MALFORMED_FUNCTION_CALL" => "the model wrote a call that cannot be read; ask again, or offer fewer or simpler tools",
        "UNEXPECTED_TOOL_CALL" => "the model called a tool where none was offered; ask again, with that tool",
        "TOO_MANY_TOOL_CALLS" => "the model made too many calls in a row; ask again in smaller steps",
        other => return Ok(StopReason::Other(other.to_owned())),
    };
    Err(refused(Trouble::Malformed, &format!("{reason}: {trouble} {message}")))
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
        // The protocol has no reason of its own for calls.
        let stop = if self.calls > 0 && stop == StopReason::EndTurn { StopReason::ToolCalls } else { stop };
        Ok(Reply::new(mem::take(&mut self.blocks), stop, self.counts.usage()))
    }
}
