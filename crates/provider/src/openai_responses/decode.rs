//! A stream of Responses.

use serde_json::{Value, json};

use super::items::{Item, Items, Kind, text_of_parts};
use crate::json::Json;
use crate::openai_shared::{Calls, broken_event, cut, error_event, error_in, usage};
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
    fn is_repeated(&mut self, event: &Json<'_>) -> bool {
        let number = event.at("sequence_number").as_u64().unwrap_or(0);
        let repeated = number > 0 && number == self.last_number;
        self.last_number = number;
        repeated
    }

    fn take(&mut self, kind: &str, event: &Json<'_>, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        match kind {
            "response.output_item.added" => self.begin(event, out),
            "response.output_item.done" => self.end_item(event, out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.is_refused |= kind == "response.refusal.delta";
                self.add_text(event, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add_thought(event, event.text("delta"), out);
            }
            "response.reasoning_summary_part.added" => self.separate_thoughts(event, out),
            "response.function_call_arguments.delta" => self.add_arguments(event, out),
            "response.function_call_arguments.done" => self.end_arguments(event, out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => self.end(kind, event, out)?,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        if self.items.knows(event) {
            return;
        }
        let item = event.at("item");
        match item.at("type").as_str() {
            Some("function_call") => {
                let call = self.begin_call(event, out);
                self.calls.set_id(call, item.text("call_id"));
                self.calls.set_name(call, item.text("name"), out);
                self.calls.set_arguments(call, item.text("arguments"));
            }
            Some("message") => self.items.add(event, Kind::Message { text: String::new(), phase: None }),
            Some("reasoning") => self.items.add(event, Kind::Thought { text: String::new(), whole: None }),
            _ => {}
        }
    }

    fn begin_call(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) -> usize {
        let call = self.calls.open(out);
        self.items.add(event, Kind::Call(call));
        call
    }

    fn add_text(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        let delta = event.text("delta");
        if self.items.find(event).is_none() {
            self.items.add(event, Kind::Message { text: String::new(), phase: None });
        }
        if let Some(Item { kind: Kind::Message { text, .. }, .. }) = self.items.find(event) {
            say(text, delta, Delta::Text, out);
        }
    }

    fn add_thought(&mut self, event: &Json<'_>, delta: &str, out: &mut Vec<Delta>) {
        if self.items.find(event).is_none() {
            self.items.add(event, Kind::Thought { text: String::new(), whole: None });
        }
        if let Some(Item { kind: Kind::Thought { text, .. }, .. }) = self.items.find(event) {
            say(text, delta, Delta::Thinking, out);
        }
    }

    fn separate_thoughts(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        if event.at("summary_index").as_u64().unwrap_or(0) > 0 {
            self.add_thought(event, "\n\n", out);
        }
    }

    fn call(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) -> Option<usize> {
        match self.items.find(event) {
            Some(Item { kind: Kind::Call(call), .. }) => Some(*call),
            Some(_) => None,
            None => Some(self.begin_call(event, out)),
        }
    }

    fn add_arguments(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        if let Some(call) = self.call(event, out) {
            self.calls.add_arguments(call, event.text("delta"), out);
        }
    }

    fn end_arguments(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        let Some(call) = self.call(event, out) else { return };
        if let Some(arguments) = event.at("arguments").as_str() {
            self.calls.set_arguments(call, arguments);
        }
        self.calls.set_name(call, event.text("name"), out);
        // Where the id or the name is missing the item as a whole is waited for: it may bring them.
        if !self.calls.id(call).is_empty() && !self.calls.name(call).is_empty() {
            self.calls.settle_if_whole(call, out);
        }
    }

    fn end_item(&mut self, event: &Json<'_>, out: &mut Vec<Delta>) {
        if self.items.find(event).is_none() {
            self.begin(event, out);
        }
        let item = event.at("item");
        match self.items.find(event).map(|known| &mut known.kind) {
            Some(Kind::Call(call)) => {
                let call = *call;
                self.end_call(call, item, out);
            }
            Some(Kind::Message { text, phase }) => {
                let (whole, refused) = text_of_parts(item.at("content"));
                self.is_refused |= refused;
                *phase = item.at("phase").as_str().map(Value::from);
                if text.is_empty() {
                    say(text, &whole, Delta::Text, out);
                }
            }
            Some(Kind::Thought { text, whole }) => {
                if text.is_empty() {
                    let said = text_of_parts(item.at("summary")).0 + &text_of_parts(item.at("content")).0;
                    say(text, &said, Delta::Thinking, out);
                }
                let is_encrypted = !item.text("encrypted_content").is_empty();
                *whole = is_encrypted.then(|| item.to_value());
            }
            None => {}
        }
    }

    /// The status is not asked: OpenAI closes a call that was cut as `in_progress` or `incomplete`, others as `completed`.
    fn end_call(&mut self, call: usize, item: &Json<'_>, out: &mut Vec<Delta>) {
        let id = ["call_id", "id"].iter().map(|name| item.text(name)).find(|id| !id.is_empty());
        self.calls.set_id(call, id.unwrap_or_default());
        self.calls.set_name(call, item.text("name"), out);
        match item.at("arguments") {
            Json::Text(arguments) => self.calls.set_arguments(call, arguments),
            Json::Null => {}
            // Of whatever kind: whoever checks the arguments says what is wrong with them.
            arguments => self.calls.set_arguments(call, &arguments.to_value().to_string()),
        }
        self.calls.settle_if_whole(call, out);
    }

    fn end(&mut self, kind: &str, event: &Json<'_>, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        let response = event.at("response");
        let status = response.at("status").as_str().unwrap_or(kind.trim_start_matches("response."));
        if kind == "response.failed" || status == "failed" {
            return Err(failure(event));
        }
        if let Some(usage) = usage(response.at("usage")) {
            self.usage = usage;
            out.push(Delta::Usage(usage));
        }
        if self.items.is_empty() {
            self.take_output(response.at("output"), out);
        }
        if kind == "response.incomplete" || status == "incomplete" {
            self.stop = Some(cut_reason(response.at("incomplete_details").text("reason")));
        } else {
            self.calls.settle_all(out);
            self.stop = Some(self.stop_reason());
        }
        Ok(())
    }

    /// Some servers send nothing but the end.
    fn take_output(&mut self, output: &Json<'_>, out: &mut Vec<Delta>) {
        for (place, item) in output.list().iter().enumerate() {
            let event = vec![("output_index".into(), Json::Number(place.into())), ("item".into(), item.clone())];
            self.end_item(&Json::Object(event), out);
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
        let event: Json<'_> = serde_json::from_str(data).map_err(|_| broken_event(data))?;
        let kind = event.at("type").as_str().unwrap_or(name);
        if let Some(error) = error_in(kind, &event) {
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

fn failure(event: &Json<'_>) -> ProviderError {
    // Called an error, it is read as one whatever it holds.
    error_event("error", &event.to_value()).unwrap_or_else(cut)
}
