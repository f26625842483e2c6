//! Decodes a Messages stream into blocks.

use std::collections::BTreeMap;
use std::mem;

use super::refusal;
use super::usage::AnthropicUsage;
use crate::ids::CallIds;
use crate::json::{EventJson, EventTree, EventValue, is_object};
use crate::refused::{quoted, refused};
use crate::{Block, Delta, ModelReply, ModelTurn, NameMap, Opaque, Protocol, ProviderError, ProviderErrorKind, StopReason, StreamDecoder};

pub(super) struct MessagesDecoder {
    names: NameMap,
    provider: String,
    ids: CallIds,
    /// Blocks by the provider's index, which is their order.
    slots: BTreeMap<u64, BlockSlot>,
    /// Calls that ended without a complete object; the next event tells whether they were truncated.
    unconfirmed: Vec<(u64, OpenCall)>,
    calls: usize,
    counts: AnthropicUsage,
    stop: Option<StopReason>,
}

enum BlockSlot {
    Open(OpenBlock),
    Done(Block),
    /// A block of unknown type, or one without content yet.
    Skipped,
}

enum OpenBlock {
    Text(String),
    Thinking { text: String, signature: String },
    Call(OpenCall),
}

struct OpenCall {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl OpenCall {
    fn into_block(self) -> Block {
        let arguments = if self.arguments.trim().is_empty() { "{}".to_owned() } else { self.arguments };
        Block::Call { id: self.id, name: self.name, arguments, opaque: None }
    }
}

impl MessagesDecoder {
    pub(super) fn new(turn: &ModelTurn<'_>) -> Self {
        Self {
            names: NameMap::new(Protocol::Anthropic, turn.tools.iter().map(|tool| &tool.name)),
            provider: turn.model.provider.clone(),
            ids: CallIds::from_messages(turn.messages),
            slots: BTreeMap::new(),
            unconfirmed: Vec::new(),
            calls: 0,
            counts: AnthropicUsage::default(),
            stop: None,
        }
    }

    fn begin(&mut self, index: u64, block: EventJson<'_>, out: &mut Vec<Delta>) {
        if self.stop.is_some() || self.slots.contains_key(&index) {
            return;
        }
        // Another block follows, so the calls before it are complete.
        self.confirm_calls(out);
        let slot = match block.text("type") {
            "text" => {
                push_delta(block.text("text"), Delta::Text, out);
                BlockSlot::Open(OpenBlock::Text(block.text("text").to_owned()))
            }
            "thinking" => {
                push_delta(block.text("thinking"), Delta::Thinking, out);
                let (text, signature) = (block.text("thinking").to_owned(), block.text("signature").to_owned());
                BlockSlot::Open(OpenBlock::Thinking { text, signature })
            }
            "redacted_thinking" => {
                let value = serde_json::json!({ "type": "redacted_thinking", "data": block.text("data") });
                BlockSlot::Done(Block::Thinking { text: String::new(), opaque: Some(self.opaque(value)) })
            }
            "tool_use" => BlockSlot::Open(OpenBlock::Call(self.begin_call(block, out))),
            _ => BlockSlot::Skipped,
        };
        self.slots.insert(index, slot);
    }

    fn begin_call(&mut self, block: EventJson<'_>, out: &mut Vec<Delta>) -> OpenCall {
        let (index, name) = (self.calls, self.names.original(block.text("name")));
        self.calls += 1;
        out.push(Delta::CallBegun { index, name: name.clone() });
        // Some servers send the whole input here; Anthropic sends an empty one, and the text in pieces.
        // Arguments that are no object are kept as they are: the engine reports what is wrong with them.
        let input = block.at("input");
        let arguments = match input.value() {
            EventValue::Null => String::new(),
            EventValue::Object if input.is_empty_object() => String::new(),
            EventValue::Text(text) => text.clone().into_owned(),
            _ => input.to_value().to_string(),
        };
        OpenCall { index, id: self.ids.take(block.text("id")), name, arguments }
    }

    fn append(&mut self, index: u64, piece: EventJson<'_>, out: &mut Vec<Delta>) {
        let Some(BlockSlot::Open(part)) = self.slots.get_mut(&index) else { return };
        match (part, piece.text("type")) {
            (OpenBlock::Text(text), "text_delta") => {
                text.push_str(piece.text("text"));
                push_delta(piece.text("text"), Delta::Text, out);
            }
            (OpenBlock::Thinking { text, .. }, "thinking_delta") => {
                text.push_str(piece.text("thinking"));
                push_delta(piece.text("thinking"), Delta::Thinking, out);
            }
            (OpenBlock::Thinking { signature, .. }, "signature_delta") => signature.push_str(piece.text("signature")),
            (OpenBlock::Call(call), "input_json_delta") => call.arguments.push_str(piece.text("partial_json")),
            _ => {}
        }
    }

    fn end(&mut self, index: u64, out: &mut Vec<Delta>) {
        let Some(slot) = self.slots.get_mut(&index) else { return };
        let part = match mem::replace(slot, BlockSlot::Skipped) {
            BlockSlot::Open(part) => part,
            other => {
                *slot = other;
                return;
            }
        };
        let closed = match part {
            OpenBlock::Text(text) if text.is_empty() => BlockSlot::Skipped,
            OpenBlock::Text(text) => BlockSlot::Done(Block::text(text)),
            OpenBlock::Thinking { text, signature } => self.thinking_block(text, &signature),
            OpenBlock::Call(call) if is_object(&call.arguments) => finish_call(call, out),
            OpenBlock::Call(call) => {
                self.unconfirmed.push((index, call));
                BlockSlot::Skipped
            }
        };
        self.slots.insert(index, closed);
    }

    /// A thinking block; without a signature it can be displayed, but not sent back.
    fn thinking_block(&self, text: String, signature: &str) -> BlockSlot {
        if text.is_empty() && signature.is_empty() {
            return BlockSlot::Skipped;
        }
        let value = serde_json::json!({ "type": "thinking", "thinking": text, "signature": signature });
        let opaque = (!signature.is_empty()).then(|| self.opaque(value));
        BlockSlot::Done(Block::Thinking { text, opaque })
    }

    fn opaque(&self, value: serde_json::Value) -> Opaque {
        Opaque { protocol: Protocol::Anthropic, provider: self.provider.clone(), value }
    }

    /// Accepts the calls that were not confirmed yet.
    fn confirm_calls(&mut self, out: &mut Vec<Delta>) {
        for (index, call) in mem::take(&mut self.unconfirmed) {
            self.slots.insert(index, finish_call(call, out));
        }
    }

    fn stop(&mut self, reason: &str, out: &mut Vec<Delta>) {
        for index in self.slots.keys().copied().collect::<Vec<_>>() {
            self.end(index, out);
        }
        let stop = stop_reason(reason);
        if !matches!(stop, StopReason::MaxTokens | StopReason::Refused) {
            self.confirm_calls(out);
        }
        self.stop = Some(stop);
    }

    fn count(&mut self, counts: EventJson<'_>, out: &mut Vec<Delta>) {
        if counts.is_object() {
            self.counts.update(counts);
            out.push(Delta::Usage(self.counts.usage()));
        }
    }
}

fn finish_call(call: OpenCall, out: &mut Vec<Delta>) -> BlockSlot {
    let index = call.index;
    let block = call.into_block();
    out.push(Delta::CallReady { index, call: block.clone() });
    BlockSlot::Done(block)
}

fn push_delta(text: &str, delta: fn(String) -> Delta, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(delta(text.to_owned()));
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refused,
        "pause_turn" => StopReason::Paused,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Whether events of this name are decoded; an event without a name has its type in its data. The protocol promises to grow.
fn is_decoded(name: &str) -> bool {
    let known = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"];
    matches!(name, "" | "message") || known.contains(&name)
}

impl StreamDecoder for MessagesDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        if !is_decoded(name) || matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let tree = EventTree::event(data)
            .map_err(|error| refused(ProviderErrorKind::Malformed, &format!("{error} in the event {}", quoted(data))))?;
        let event = tree.root();
        let index = event.at("index").as_u64();
        match (event.text("type"), index) {
            ("content_block_delta", Some(index)) => self.append(index, event.at("delta"), out),
            ("content_block_start", Some(index)) => self.begin(index, event.at("content_block"), out),
            ("content_block_stop", Some(index)) => self.end(index, out),
            ("message_start", _) => self.count(event.at("message").at("usage"), out),
            ("message_delta", _) => {
                if let (Some(reason), None) = (event.at("delta").at("stop_reason").as_str(), &self.stop) {
                    self.stop(reason, out);
                }
                self.count(event.at("usage"), out);
            }
            // Also in data that is no event of the protocol, as gateways send it.
            _ if event.at("error").is_object() => return Err(refusal::from_event(event.at("error"))),
            ("", _) => return Err(refused(ProviderErrorKind::Malformed, &format!("no type in the event {}", quoted(data)))),
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Result<ModelReply, ProviderError> {
        let Some(stop) = self.stop.take() else {
            let what = if self.slots.is_empty() { "it sent nothing" } else { "it did not say that it was done" };
            return Err(refused(ProviderErrorKind::Network, what));
        };
        let slots = mem::take(&mut self.slots);
        let blocks: Vec<Block> =
            slots.into_values().filter_map(|slot| if let BlockSlot::Done(block) = slot { Some(block) } else { None }).collect();
        let has_calls = blocks.iter().any(|block| block.call_id().is_some());
        let stop = if has_calls && stop == StopReason::EndTurn { StopReason::ToolCalls } else { stop };
        Ok(ModelReply::new(blocks, stop, self.counts.usage()))
    }
}
