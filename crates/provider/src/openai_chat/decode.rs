//! Decodes a stream of Chat Completions.

use serde_json::json;

use super::fragment::{CallFragment, IndexedCalls};
use super::messages::REASONING;
use crate::json::{EventJson, EventTree, EventValue};
use crate::openai_shared::{CallAssembler, broken_event, error_in, truncated, usage};
use crate::{Block, Delta, ModelReply, ModelTurn, Opaque, Protocol, ProviderError, StopReason, StreamDecoder, Usage};

#[derive(Debug)]
pub(super) struct ChatDecoder {
    provider: String,
    text: String,
    thinking: String,
    returns_thinking: bool,
    is_refused: bool,
    slots: IndexedCalls,
    usage: Usage,
    end: Option<ChatEnd>,
    is_done: bool,
}

/// End of an answer.
#[derive(Debug)]
enum ChatEnd {
    /// Complete.
    Whole,
    /// Truncated: incomplete calls must not run.
    Truncated(StopReason),
    /// A reason that we do not know.
    Unknown(String),
}

impl ChatDecoder {
    pub(super) fn new(turn: &ModelTurn<'_>) -> Self {
        Self {
            provider: turn.model.provider.clone(),
            text: String::new(),
            thinking: String::new(),
            returns_thinking: false,
            is_refused: false,
            slots: IndexedCalls::new(CallAssembler::new(Protocol::OpenAi, turn)),
            usage: Usage::default(),
            end: None,
            is_done: false,
        }
    }

    fn choice(&mut self, choice: EventJson<'_>, out: &mut Vec<Delta>) {
        if matches!(self.end, Some(ChatEnd::Truncated(_))) {
            return;
        }
        // Servers that do not stream send the whole message.
        let message = ["delta", "message"].iter().find_map(|name| choice.get(name).filter(|message| message.is_object()));
        if let Some(text) = message.and_then(|message| message.only_text("content")) {
            // Nearly every event.
            self.add_text(text, out);
        } else if let Some(message) = message {
            self.add_content(message, out);
            self.add_calls(message, out);
        }
        if let Some(reason) = choice.at("finish_reason").as_str().filter(|reason| !reason.is_empty()) {
            self.finish_reason(reason, out);
        }
    }

    fn add_content(&mut self, message: EventJson<'_>, out: &mut Vec<Delta>) {
        match message.at(REASONING).as_str() {
            // An empty text means that the model did not reason; it is sent back as well.
            Some(text) if !text.is_empty() || message.text("reasoning").is_empty() => {
                self.returns_thinking = true;
                self.add_thinking(text, out);
            }
            _ => self.add_thinking(message.text("reasoning"), out),
        }
        match message.at("content").value() {
            EventValue::List => message.at("content").list().for_each(|part| self.add_part(part, out)),
            EventValue::Text(text) => self.add_text(text, out),
            _ => {}
        }
        self.is_refused |= !message.text("refusal").is_empty();
        self.add_text(message.text("refusal"), out);
    }

    /// Mistral sends parts if it reasons.
    fn add_part(&mut self, part: EventJson<'_>, out: &mut Vec<Delta>) {
        match part.at("thinking").value() {
            EventValue::List => part.at("thinking").list().for_each(|text| self.add_thinking(text.text("text"), out)),
            _ => self.add_text(part.text("text"), out),
        }
    }

    fn add_text(&mut self, text: &str, out: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.text.push_str(text);
            out.push(Delta::Text(text.to_owned()));
        }
    }

    fn add_thinking(&mut self, text: &str, out: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.thinking.push_str(text);
            out.push(Delta::Thinking(text.to_owned()));
        }
    }

    fn add_calls(&mut self, message: EventJson<'_>, out: &mut Vec<Delta>) {
        let calls = message.at("tool_calls");
        for (index, call) in calls.list().enumerate().filter(|(_, call)| call.is_object()) {
            self.slots.add(&CallFragment::read(call, index, calls.list().count()), out);
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            self.slots.add(&CallFragment::read(call, 0, 1), out);
        }
    }

    fn finish_reason(&mut self, reason: &str, out: &mut Vec<Delta>) {
        let end = match reason.to_ascii_lowercase().as_str() {
            "stop" | "tool_calls" | "function_call" => ChatEnd::Whole,
            "length" | "max_tokens" | "model_length" => ChatEnd::Truncated(StopReason::MaxTokens),
            "content_filter" => ChatEnd::Truncated(StopReason::Refused),
            _ => ChatEnd::Unknown(reason.to_owned()),
        };
        if !matches!(end, ChatEnd::Truncated(_)) {
            self.slots.calls.finish_complete(out);
        }
        self.end = Some(end);
    }

    /// Completes the calls of an answer that ended well.
    fn close(&mut self, out: &mut Vec<Delta>) {
        if matches!(self.end, Some(ChatEnd::Whole)) {
            self.slots.calls.finish_all(out);
        }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let calls = &self.slots.calls;
        let is_called = (0..calls.len()).any(|call| calls.ready(call).is_some());
        if !self.thinking.is_empty() || (self.returns_thinking && is_called) {
            let back = self.returns_thinking;
            let opaque = || Opaque { protocol: Protocol::OpenAi, provider: self.provider.clone(), value: json!(REASONING) };
            blocks.push(Block::Thinking { text: self.thinking.clone(), opaque: back.then(opaque) });
        }
        if !self.text.is_empty() {
            blocks.push(Block::text(self.text.clone()));
        }
        blocks.extend((0..calls.len()).filter_map(|call| calls.ready(call).cloned()));
        blocks
    }

    fn stop(&self, has_calls: bool) -> StopReason {
        match &self.end {
            Some(ChatEnd::Truncated(reason)) => reason.clone(),
            Some(ChatEnd::Unknown(reason)) => StopReason::Other(reason.clone()),
            _ if has_calls => StopReason::ToolCalls,
            _ if self.is_refused => StopReason::Refused,
            _ => StopReason::EndTurn,
        }
    }
}

impl StreamDecoder for ChatDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        let data = data.trim();
        if data.is_empty() || self.is_done {
            return Ok(());
        }
        if data == "[DONE]" {
            // Some servers send no finish reason, only this.
            self.end.get_or_insert(ChatEnd::Whole);
            self.is_done = true;
            self.close(out);
            return Ok(());
        }
        let tree = EventTree::event(data).map_err(|_| broken_event(data))?;
        let chunk = tree.root();
        if let Some(error) = error_in(name, chunk) {
            return Err(error);
        }
        if let Some(usage) = usage(chunk.at("usage")) {
            self.usage = usage;
            out.push(Delta::Usage(usage));
        }
        if let Some(choice) = chunk.at("choices").list().find(|choice| choice.at("index").as_u64().unwrap_or(0) == 0) {
            self.choice(choice, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<ModelReply, ProviderError> {
        if self.end.is_none() {
            return Err(truncated());
        }
        self.close(out);
        let blocks = self.blocks();
        let has_calls = blocks.iter().any(|block| block.call_id().is_some());
        let stop = self.stop(has_calls);
        Ok(ModelReply::new(blocks, stop, self.usage))
    }
}
