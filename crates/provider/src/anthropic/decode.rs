//! A Messages stream as blocks.

use std::collections::BTreeMap;
use std::mem;

use super::event::{Begun, Counts, Event};
use super::refusal;
use crate::ids::CallIds;
use crate::json::Json;
use crate::refused::{quoted, refused};
use crate::{Block, Decoder, Delta, NameMap, Opaque, Protocol, ProviderError, Reply, StopReason, Trouble, Turn, Usage};

pub(super) struct MessagesDecoder {
    names: NameMap,
    provider: String,
    ids: CallIds,
    /// By the provider's index, which is their order.
    slots: BTreeMap<u64, Slot>,
    /// Calls that have ended, but may have been cut: what follows tells.
    held: Vec<(u64, Call)>,
    calls: usize,
    counts: Counts,
    stop: Option<StopReason>,
}

enum Slot {
    Open(Part),
    Done(Block),
    /// Of a kind that we do not know, or nothing that can be kept yet.
    Skipped,
}

enum Part {
    Text(String),
    Thinking { text: String, signature: String },
    Call(Call),
}

struct Call {
    index: usize,
    id: String,
    name: String,
    arguments: String,
}

impl Call {
    /// A whole object has its closing brace, so nothing can be missing. Anything else may be the beginning of something.
    fn is_whole(&self) -> bool {
        self.arguments.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    fn into_block(self) -> Block {
        let arguments = if self.arguments.trim().is_empty() { "{}".to_owned() } else { self.arguments };
        Block::Call { id: self.id, name: self.name, arguments, opaque: None }
    }
}

impl MessagesDecoder {
    pub(super) fn new(turn: &Turn<'_>) -> Self {
        Self {
            names: NameMap::new(Protocol::Anthropic, turn.tools.iter().map(|tool| &tool.name)),
            provider: turn.model.provider.clone(),
            ids: CallIds::of(turn.messages),
            slots: BTreeMap::new(),
            held: Vec::new(),
            calls: 0,
            counts: Counts::default(),
            stop: None,
        }
    }

    fn begin(&mut self, index: u64, block: Begun, out: &mut Vec<Delta>) {
        if self.stop.is_some() || self.slots.contains_key(&index) {
            return;
        }
        // That another block follows shows that the calls before it were written to their end.
        self.settle(out);
        let slot = match block {
            Begun::Text { text } => {
                say(&text, Delta::Text, out);
                Slot::Open(Part::Text(text))
            }
            Begun::Thinking { thinking, signature } => {
                say(&thinking, Delta::Thinking, out);
                Slot::Open(Part::Thinking { text: thinking, signature })
            }
            Begun::RedactedThinking { data } => {
                let value = serde_json::json!({ "type": "redacted_thinking", "data": data });
                Slot::Done(Block::Thinking { text: String::new(), opaque: Some(self.opaque(value)) })
            }
            Begun::ToolUse { id, name, input } => Slot::Open(Part::Call(self.begin_call(&id, &name, &input, out))),
            Begun::Unknown => Slot::Skipped,
        };
        self.slots.insert(index, slot);
    }

    fn begin_call(&mut self, id: &str, name: &str, input: &serde_json::Value, out: &mut Vec<Delta>) -> Call {
        let (index, name) = (self.calls, self.names.back(name));
        self.calls += 1;
        out.push(Delta::CallBegun { index, name: name.clone() });
        // Some servers send the whole input here; the provider itself sends an empty one, and the text in pieces.
        // What is no object is kept as it came: whoever checks the arguments says what is wrong with it.
        let arguments = match input {
            serde_json::Value::Null => String::new(),
            serde_json::Value::Object(input) if input.is_empty() => String::new(),
            serde_json::Value::String(text) => text.clone(),
            whole => whole.to_string(),
        };
        Call { index, id: self.ids.take(id), name, arguments }
    }

    fn append(&mut self, index: u64, piece: &Json<'_>, out: &mut Vec<Delta>) {
        let Some(Slot::Open(part)) = self.slots.get_mut(&index) else { return };
        match (part, piece.text("type")) {
            (Part::Text(text), "text_delta") => {
                text.push_str(piece.text("text"));
                say(piece.text("text"), Delta::Text, out);
            }
            (Part::Thinking { text, .. }, "thinking_delta") => {
                text.push_str(piece.text("thinking"));
                say(piece.text("thinking"), Delta::Thinking, out);
            }
            (Part::Thinking { signature, .. }, "signature_delta") => signature.push_str(piece.text("signature")),
            (Part::Call(call), "input_json_delta") => call.arguments.push_str(piece.text("partial_json")),
            _ => {}
        }
    }

    fn end(&mut self, index: u64, out: &mut Vec<Delta>) {
        let Some(slot) = self.slots.get_mut(&index) else { return };
        let part = match mem::replace(slot, Slot::Skipped) {
            Slot::Open(part) => part,
            other => {
                *slot = other;
                return;
            }
        };
        let closed = match part {
            Part::Text(text) if text.is_empty() => Slot::Skipped,
            Part::Text(text) => Slot::Done(Block::text(text)),
            Part::Thinking { text, signature } => self.thought(text, &signature),
            Part::Call(call) if call.is_whole() => ready(call, out),
            Part::Call(call) => {
                self.held.push((index, call));
                Slot::Skipped
            }
        };
        self.slots.insert(index, closed);
    }

    /// Without a signature it can be shown, but never sent back.
    fn thought(&self, text: String, signature: &str) -> Slot {
        if text.is_empty() && signature.is_empty() {
            return Slot::Skipped;
        }
        let value = serde_json::json!({ "type": "thinking", "thinking": text, "signature": signature });
        let opaque = (!signature.is_empty()).then(|| self.opaque(value));
        Slot::Done(Block::Thinking { text, opaque })
    }

    fn opaque(&self, value: serde_json::Value) -> Opaque {
        Opaque { protocol: Protocol::Anthropic, provider: self.provider.clone(), value }
    }

    /// Calls that were held are complete.
    fn settle(&mut self, out: &mut Vec<Delta>) {
        for (index, call) in mem::take(&mut self.held) {
            self.slots.insert(index, ready(call, out));
        }
    }

    fn stopped(&mut self, reason: &str, out: &mut Vec<Delta>) {
        for index in self.slots.keys().copied().collect::<Vec<_>>() {
            self.end(index, out);
        }
        let stop = stop_reason(reason);
        if !matches!(stop, StopReason::MaxTokens | StopReason::Refused) {
            self.settle(out);
        }
        self.stop = Some(stop);
    }

    fn count(&mut self, counts: Option<Counts>, out: &mut Vec<Delta>) {
        if let Some(counts) = counts {
            self.counts.update(counts);
            out.push(Delta::Usage(self.usage()));
        }
    }

    fn usage(&self) -> Usage {
        self.counts.usage()
    }
}

fn ready(call: Call, out: &mut Vec<Delta>) -> Slot {
    let index = call.index;
    let block = call.into_block();
    out.push(Delta::CallReady { index, call: block.clone() });
    Slot::Done(block)
}

fn say(text: &str, delta: fn(String) -> Delta, out: &mut Vec<Delta>) {
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

impl Decoder for MessagesDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        if !Event::is_known(name) || matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let broken = |error: serde_json::Error| {
            refusal::inside(data).unwrap_or_else(|| refused(Trouble::Malformed, &format!("{error} in the event {}", quoted(data))))
        };
        let read: Json<'_> = serde_json::from_str(data).map_err(broken)?;
        if let ("content_block_delta", Some(index)) = (read.text("type"), read.at("index").as_u64()) {
            self.append(index, read.at("delta"), out);
            return Ok(());
        }
        match serde_json::from_str(data).map_err(broken)? {
            Event::MessageStart { message } => self.count(message.usage, out),
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block, out),
            Event::ContentBlockStop { index } => self.end(index, out),
            Event::MessageDelta { delta, usage } => {
                if let (Some(reason), None) = (delta.stop_reason, &self.stop) {
                    self.stopped(&reason, out);
                }
                self.count(usage, out);
            }
            Event::Error { error } => return Err(refusal::of_event(&error)),
            Event::Other => {}
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Result<Reply, ProviderError> {
        let Some(stop) = self.stop.take() else {
            let what = if self.slots.is_empty() { "nothing came" } else { "it did not say that it was done" };
            return Err(refused(Trouble::Network, what));
        };
        let slots = mem::take(&mut self.slots);
        let blocks: Vec<Block> =
            slots.into_values().filter_map(|slot| if let Slot::Done(block) = slot { Some(block) } else { None }).collect();
        let has_calls = blocks.iter().any(|block| block.call_id().is_some());
        let stop = if has_calls && stop == StopReason::EndTurn { StopReason::ToolCalls } else { stop };
        Ok(Reply::new(blocks, stop, self.usage()))
    }
}
