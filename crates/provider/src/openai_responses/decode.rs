//! A stream of Responses.

use serde_json::{Value, json};

use super::items::{Item, Items, Kind, text_of_parts};
use crate::openai_shared::{Calls, broken_event, cut, error_event, usage};
use crate::{Block, Decoder, Delta, Opaque, Protocol, ProviderError, Reply, StopReason, Turn, Usage};

/// Reads one answer.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    provider: String,
    items: Items,
    calls: Calls,
    is_refused: bool,
    usage: Usage,
    stop: Option<StopReason>,
    last_number: u64,
}

impl ResponsesDecoder {
    pub(super) fn new(turn: &Turn<'_>) -> Self {
        Self {
            provider: turn.model.provider.clone(),
            items: Items::default(),
            calls: Calls::new(Protocol::OpenAiResponses, turn),
            is_refused: false,
            usage: Usage::default(),
            stop: None,
            last_number: 0,
        }
    }

    /// Events are numbered: one that comes twice is taken once.
    fn is_repeated(&mut self, event: &Value) -> bool {
        let number = event.get("sequence_number").and_then(Value::as_u64).unwrap_or(0);
        let repeated = number > 0 && number == self.last_number;
        self.last_number = number;
        repeated
    }

    fn take(&mut self, kind: &str, event: &Value, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        match kind {
            "response.output_item.added" => self.begin(event, out),
            "response.output_item.done" => self.end_item(event, out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.is_refused |= kind == "response.refusal.delta";
                self.add_text(event, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add_thought(event, text(event, "delta"), out);
            }
            "response.reasoning_summary_part.added" => self.separate_thoughts(event, out),
            "response.function_call_arguments.delta" => self.add_arguments(event, out),
            "response.function_call_arguments.done" => self.end_arguments(event, out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => self.end(kind, event, out)?,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: &Value, out: &mut Vec<Delta>) {
        if self.items.knows(event) {
            return;
        }
        let item = &event["item"];
        match item["type"].as_str() {
            Some("function_call") => {
                let call = self.begin_call(event, out);
                self.calls.set_id(call, text(item, "call_id"));
                self.calls.set_name(call, text(item, "name"), out);
                self.calls.set_arguments(call, text(item, "arguments"));
            }
            Some("message") => self.items.add(event, Kind::Message { text: String::new(), phase: None }),
            Some("reasoning") => self.items.add(event, Kind::Thought { text: String::new(), whole: None }),
            _ => {}
        }
    }

    fn begin_call(&mut self, event: &Value, out: &mut Vec<Delta>) -> usize {
        let call = self.calls.open(out);
        self.items.add(event, Kind::Call(call));
        call
    }

    fn add_text(&mut self, event: &Value, out: &mut Vec<Delta>) {
        let delta = text(event, "delta");
        if self.items.find(event).is_none() {
            self.items.add(event, Kind::Message { text: String::new(), phase: None });
        }
        if let Some(Item { kind: Kind::Message { text, .. }, .. }) = self.items.find(event) {
            say(text, delta, Delta::Text, out);
        }
    }

    fn add_thought(&mut self, event: &Value, delta: &str, out: &mut Vec<Delta>) {
        if self.items.find(event).is_none() {
            self.items.add(event, Kind::Thought { text: String::new(), whole: None });
        }
        if let Some(Item { kind: Kind::Thought { text, .. }, .. }) = self.items.find(event) {
            say(text, delta, Delta::Thinking, out);
        }
    }

    fn separate_thoughts(&mut self, event: &Value, out: &mut Vec<Delta>) {
        if event.get("summary_index").and_then(Value::as_u64).unwrap_or(0) > 0 {
            self.add_thought(event, "\n\n", out);
        }
    }

    fn call(&mut self, event: &Value, out: &mut Vec<Delta>) -> Option<usize> {
        match self.items.find(event) {
            Some(Item { kind: Kind::Call(call), .. }) => Some(*call),
            Some(_) => None,
            None => Some(self.begin_call(event, out)),
        }
    }

    fn add_arguments(&mut self, event: &Value, out: &mut Vec<Delta>) {
        if let Some(call) = self.call(event, out) {
            self.calls.add_arguments(call, text(event, "delta"), out);
        }
    }

    fn end_arguments(&mut self, event: &Value, out: &mut Vec<Delta>) {
        let Some(call) = self.call(event, out) else { return };
        if let Some(arguments) = event.get("arguments").and_then(Value::as_str) {
            self.calls.set_arguments(call, arguments);
        }
        self.calls.set_name(call, text(event, "name"), out);
        // Where the id or the name is missing the item as a whole is waited for: it may bring them.
        if !self.calls.id(call).is_empty() && !self.calls.name(call).is_empty() {
            self.calls.settle_if_whole(call, out);
        }
    }

    fn end_item(&mut self, event: &Value, out: &mut Vec<Delta>) {
        if self.items.find(event).is_none() {
            self.begin(event, out);
        }
        let item = &event["item"];
        match self.items.find(event).map(|known| &mut known.kind) {
            Some(Kind::Call(call)) => {
                let call = *call;
                self.end_call(call, item, out);
            }
            Some(Kind::Message { text, phase }) => {
                let (whole, refused) = text_of_parts(&item["content"]);
                self.is_refused |= refused;
                *phase = item.get("phase").filter(|phase| phase.is_string()).cloned();
                if text.is_empty() {
                    say(text, &whole, Delta::Text, out);
                }
            }
            Some(Kind::Thought { text, whole }) => {
                if text.is_empty() {
                    let said = text_of_parts(&item["summary"]).0 + &text_of_parts(&item["content"]).0;
                    say(text, &said, Delta::Thinking, out);
                }
                let is_encrypted = item["encrypted_content"].as_str().is_some_and(|content| !content.is_empty());
                *whole = is_encrypted.then(|| item.clone());
            }
            None => {}
        }
    }

    /// The status is not asked: OpenAI closes a call that was cut as `in_progress` or `incomplete`, others as `completed`.
    fn end_call(&mut self, call: usize, item: &Value, out: &mut Vec<Delta>) {
        let id = ["call_id", "id"].iter().map(|name| text(item, name)).find(|id| !id.is_empty());
        self.calls.set_id(call, id.unwrap_or_default());
        self.calls.set_name(call, text(item, "name"), out);
        match item.get("arguments") {
            Some(Value::String(arguments)) => self.calls.set_arguments(call, arguments),
            Some(arguments @ Value::Object(_)) => self.calls.set_arguments(call, &arguments.to_string()),
            _ => {}
        }
        self.calls.settle_if_whole(call, out);
    }

    fn end(&mut self, kind: &str, event: &Value, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        let response = &event["response"];
        let status = response["status"].as_str().unwrap_or(kind.trim_start_matches("response."));
        if kind == "response.failed" || status == "failed" {
            return Err(failure(event));
        }
        if let Some(usage) = usage(&response["usage"]) {
            self.usage = usage;
            out.push(Delta::Usage(usage));
        }
        if self.items.is_empty() {
            self.take_output(&response["output"], out);
        }
        if kind == "response.incomplete" || status == "incomplete" {
            self.stop = Some(cut_reason(text(&response["incomplete_details"], "reason")));
        } else {
            self.calls.settle_all(out);
            self.stop = Some(self.stop_reason());
        }
        Ok(())
    }

    /// Some servers send nothing but the end.
    fn take_output(&mut self, output: &Value, out: &mut Vec<Delta>) {
        for (place, item) in output.as_array().map_or(&[][..], Vec::as_slice).iter().enumerate() {
            self.end_item(&json!({ "output_index": place, "item": item }), out);
        }
    }

    fn stop_reason(&self) -> StopReason {
        match (0..self.calls.len()).any(|call| self.calls.ready(call).is_some()) {
            true => StopReason::ToolCalls,
            false if self.is_refused => StopReason::Refused,
            false => StopReason::EndTurn,
        }
    }

    fn block(&self, item: &Item) -> Option<Block> {
        let opaque = |value: Value| Opaque { protocol: Protocol::OpenAiResponses, provider: self.provider.clone(), value };
        match &item.kind {
            Kind::Call(call) => self.calls.ready(*call).cloned(),
            Kind::Message { text, phase } => (!text.is_empty())
                .then(|| Block::Text { text: text.clone(), opaque: phase.as_ref().map(|phase| opaque(json!({ "phase": phase }))) }),
            Kind::Thought { text, whole } => {
                (!text.is_empty() || whole.is_some()).then(|| Block::Thinking { text: text.clone(), opaque: whole.clone().map(opaque) })
            }
        }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" || self.stop.is_some() {
            return Ok(());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| broken_event(data))?;
        let kind = event.get("type").and_then(Value::as_str).unwrap_or(name);
        if let Some(error) = error_event(kind, &event) {
            return Err(error);
        }
        if self.is_repeated(&event) { Ok(()) } else { self.take(kind, &event, out) }
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Result<Reply, ProviderError> {
        let stop = self.stop.clone().ok_or_else(cut)?;
        let blocks = self.items.iter().filter_map(|item| self.block(item)).collect();
        Ok(Reply::new(blocks, stop, self.usage))
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn say(text: &mut String, said: &str, delta: fn(String) -> Delta, out: &mut Vec<Delta>) {
    if !said.is_empty() {
        text.push_str(said);
        out.push(delta(said.to_owned()));
    }
}

fn cut_reason(reason: &str) -> StopReason {
    match reason {
        "max_output_tokens" | "max_tokens" | "" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refused,
        other => StopReason::Other(other.to_owned()),
    }
}

fn failure(event: &Value) -> ProviderError {
    // Called an error, it is read as one whatever it holds.
    error_event("error", event).unwrap_or_else(cut)
}
