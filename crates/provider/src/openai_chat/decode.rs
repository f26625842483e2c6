//! A stream of Chat Completions.

use serde_json::json;

use super::fragment::{Fragment, Slots};
use super::messages::REASONING;
use crate::json::Json;
use crate::openai_shared::{Calls, broken_event, cut, error_in, usage};
use crate::{Block, Decoder, Delta, Opaque, Protocol, ProviderError, Reply, StopReason, Turn, Usage};

/// Reads one answer.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    provider: String,
    text: String,
    thinking: String,
    wants_thinking_back: bool,
    is_refused: bool,
    slots: Slots,
    usage: Usage,
    end: Option<End>,
    is_done: bool,
}

/// How an answer ended.
#[derive(Debug)]
enum End {
    /// As it should.
    Whole,
    /// In the middle: what is not complete must not run.
    Cut(StopReason),
    /// In words that we do not know.
    Unknown(String),
}

impl ChatDecoder {
    pub(super) fn new(turn: &Turn<'_>) -> Self {
        Self {
            provider: turn.model.provider.clone(),
            text: String::new(),
            thinking: String::new(),
            wants_thinking_back: false,
            is_refused: false,
            slots: Slots::new(Calls::new(Protocol::OpenAi, turn)),
            usage: Usage::default(),
            end: None,
            is_done: false,
        }
    }

    fn choice(&mut self, choice: &Json<'_>, out: &mut Vec<Delta>) {
        if matches!(self.end, Some(End::Cut(_))) {
            return;
        }
        // Servers that do not stream send the whole message.
        let said = ["delta", "message"].iter().find_map(|name| choice.get(name).filter(|said| said.is_object()));
        if let Some(said) = said {
            self.say(said, out);
            self.take_calls(said, out);
        }
        if let Some(reason) = choice.at("finish_reason").as_str().filter(|reason| !reason.is_empty()) {
            self.finish_reason(reason, out);
        }
    }

    fn say(&mut self, said: &Json<'_>, out: &mut Vec<Delta>) {
        match said.at(REASONING).as_str() {
            // An empty one says that the model did not think, and goes back all the same.
            Some(thought) if !thought.is_empty() || said.text("reasoning").is_empty() => {
                self.wants_thinking_back = true;
                self.add_thinking(thought, out);
            }
            _ => self.add_thinking(said.text("reasoning"), out),
        }
        match said.at("content") {
            Json::List(parts) => parts.iter().for_each(|part| self.say_part(part, out)),
            content => self.add_text(content.as_str().unwrap_or_default(), out),
        }
        self.is_refused |= !said.text("refusal").is_empty();
        self.add_text(said.text("refusal"), out);
    }

    /// Mistral sends parts where it thinks.
    fn say_part(&mut self, part: &Json<'_>, out: &mut Vec<Delta>) {
        match part.at("thinking") {
            Json::List(thoughts) => thoughts.iter().for_each(|thought| self.add_thinking(thought.text("text"), out)),
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

    fn take_calls(&mut self, said: &Json<'_>, out: &mut Vec<Delta>) {
        let calls = said.at("tool_calls").list();
        for (place, call) in calls.iter().enumerate().filter(|(_, call)| call.is_object()) {
            self.slots.take(&Fragment::read(call, place, calls.len()), out);
        }
        if let Some(call) = said.get("function_call").filter(|call| call.is_object()) {
            self.slots.take(&Fragment::read(call, 0, 1), out);
        }
    }

    fn finish_reason(&mut self, reason: &str, out: &mut Vec<Delta>) {
        let end = match reason.to_ascii_lowercase().as_str() {
            "stop" | "tool_calls" | "function_call" => End::Whole,
            "length" | "max_tokens" | "model_length" => End::Cut(StopReason::MaxTokens),
            "content_filter" => End::Cut(StopReason::Refused),
            _ => End::Unknown(reason.to_owned()),
        };
        if !matches!(end, End::Cut(_)) {
            self.slots.calls.settle_whole(out);
        }
        self.end = Some(end);
    }

    /// Nothing more comes.
    fn close(&mut self, out: &mut Vec<Delta>) {
        if matches!(self.end, Some(End::Whole)) {
            self.slots.calls.settle_all(out);
        }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let calls = &self.slots.calls;
        let is_called = (0..calls.len()).any(|call| calls.ready(call).is_some());
        if !self.thinking.is_empty() || (self.wants_thinking_back && is_called) {
            let back = self.wants_thinking_back;
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
            Some(End::Cut(reason)) => reason.clone(),
            Some(End::Unknown(reason)) => StopReason::Other(reason.clone()),
            _ if has_calls => StopReason::ToolCalls,
            _ if self.is_refused => StopReason::Refused,
            _ => StopReason::EndTurn,
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        let data = data.trim();
        if data.is_empty() || self.is_done {
            return Ok(());
        }
        if data == "[DONE]" {
            // Some servers never say why the answer ends, but this says that it did.
            self.end.get_or_insert(End::Whole);
            self.is_done = true;
            self.close(out);
            return Ok(());
        }
        let chunk: Json<'_> = serde_json::from_str(data).map_err(|_| broken_event(data))?;
        if let Some(error) = error_in(name, &chunk) {
            return Err(error);
        }
        if let Some(usage) = usage(chunk.at("usage")) {
            self.usage = usage;
            out.push(Delta::Usage(usage));
        }
        if let Some(choice) = chunk.at("choices").list().iter().find(|choice| choice.at("index").as_u64().unwrap_or(0) == 0) {
            self.choice(choice, out);
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Reply, ProviderError> {
        if self.end.is_none() {
            return Err(cut());
        }
        self.close(out);
        let blocks = self.blocks();
        let has_calls = blocks.iter().any(|block| block.call_id().is_some());
        let stop = self.stop(has_calls);
        Ok(Reply::new(blocks, stop, self.usage))
    }
}
