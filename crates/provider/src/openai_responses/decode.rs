//! Decodes a stream of Responses.

use serde_json::{Value, json};

use super::items::{ItemKind, OutputItem, OutputItems, text_of_parts};
use crate::json::{EventJson, EventTree, EventValue};
use crate::openai_shared::{CallAssembler, broken_event, error_event, error_in, truncated, usage};
use crate::{Block, Delta, ModelReply, ModelTurn, Opaque, Protocol, ProviderError, StopReason, StreamDecoder, Usage};

#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    provider: String,
    items: OutputItems,
    calls: CallAssembler,
    is_refused: bool,
    usage: Usage,
    stop: Option<StopReason>,
    last_number: u64,
}

impl ResponsesDecoder {
    pub(super) fn new(turn: &ModelTurn<'_>) -> Self {
        Self {
            provider: turn.model.provider.clone(),
            items: OutputItems::default(),
            calls: CallAssembler::new(Protocol::OpenAiResponses, turn),
            is_refused: false,
            usage: Usage::default(),
            stop: None,
            last_number: 0,
        }
    }

    /// Whether the event was seen already; events are numbered.
    fn is_repeated(&mut self, event: EventJson<'_>) -> bool {
        let number = event.at("sequence_number").as_u64().unwrap_or(0);
        let repeated = number > 0 && number == self.last_number;
        self.last_number = number;
        repeated
    }

    fn handle(&mut self, kind: &str, event: EventJson<'_>, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        match kind {
            "response.output_item.added" => self.begin(event, out),
            "response.output_item.done" => self.end_item(event, out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.is_refused |= kind == "response.refusal.delta";
                self.add_text(event, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add_reasoning(event, event.text("delta"), out);
            }
            "response.reasoning_summary_part.added" => self.separate_reasoning(event, out),
            "response.function_call_arguments.delta" => self.add_arguments(event, out),
            "response.function_call_arguments.done" => self.end_arguments(event, out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => self.end(kind, event, out)?,
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) {
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
            Some("message") => self.items.add(event, ItemKind::Message { text: String::new(), phase: None }),
            Some("reasoning") => self.items.add(event, ItemKind::Reasoning { text: String::new(), whole: None }),
            _ => {}
        }
    }

    fn begin_call(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) -> usize {
        let call = self.calls.open(out);
        self.items.add(event, ItemKind::Call(call));
        call
    }

    fn add_text(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) {
        let delta = event.text("delta");
        if self.items.find(event).is_none() {
            self.items.add(event, ItemKind::Message { text: String::new(), phase: None });
        }
        if let Some(OutputItem { kind: ItemKind::Message { text, .. }, .. }) = self.items.find(event) {
            append(text, delta, Delta::Text, out);
        }
    }

    fn add_reasoning(&mut self, event: EventJson<'_>, delta: &str, out: &mut Vec<Delta>) {
        if self.items.find(event).is_none() {
            self.items.add(event, ItemKind::Reasoning { text: String::new(), whole: None });
        }
        if let Some(OutputItem { kind: ItemKind::Reasoning { text, .. }, .. }) = self.items.find(event) {
            append(text, delta, Delta::Thinking, out);
        }
    }

    fn separate_reasoning(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) {
        if event.at("summary_index").as_u64().unwrap_or(0) > 0 {
            self.add_reasoning(event, "\n\n", out);
        }
    }

    fn call(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) -> Option<usize> {
        match self.items.find(event) {
            Some(OutputItem { kind: ItemKind::Call(call), .. }) => Some(*call),
            Some(_) => None,
            None => Some(self.begin_call(event, out)),
        }
    }

    fn add_arguments(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) {
        if let Some(call) = self.call(event, out) {
            self.calls.add_arguments(call, event.text("delta"), out);
        }
    }

    fn end_arguments(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) {
        let Some(call) = self.call(event, out) else { return };
        if let Some(arguments) = event.at("arguments").as_str() {
            self.calls.set_arguments(call, arguments);
        }
        self.calls.set_name(call, event.text("name"), out);
        // Without id or name, wait for the complete item: it may have them.
        if !self.calls.id(call).is_empty() && !self.calls.name(call).is_empty() {
            self.calls.finish_if_complete(call, out);
        }
    }

    fn end_item(&mut self, event: EventJson<'_>, out: &mut Vec<Delta>) {
        if self.items.find(event).is_none() {
            self.begin(event, out);
        }
        let item = event.at("item");
        match self.items.find(event).map(|known| &mut known.kind) {
            Some(ItemKind::Call(call)) => {
                let call = *call;
                self.end_call(call, item, out);
            }
            Some(ItemKind::Message { text, phase }) => {
                let (whole, refused) = text_of_parts(item.at("content"));
                self.is_refused |= refused;
                *phase = item.at("phase").as_str().map(Value::from);
                if text.is_empty() {
                    append(text, &whole, Delta::Text, out);
                }
            }
            Some(ItemKind::Reasoning { text, whole }) => {
                if text.is_empty() {
                    let summary = text_of_parts(item.at("summary")).0 + &text_of_parts(item.at("content")).0;
                    append(text, &summary, Delta::Thinking, out);
                }
                let is_encrypted = !item.text("encrypted_content").is_empty();
                *whole = is_encrypted.then(|| item.to_value());
            }
            None => {}
        }
    }

    /// Ignores the status: OpenAI closes a truncated call as `in_progress` or `incomplete`, others as `completed`.
    fn end_call(&mut self, call: usize, item: EventJson<'_>, out: &mut Vec<Delta>) {
        let id = ["call_id", "id"].iter().map(|name| item.text(name)).find(|id| !id.is_empty());
        self.calls.set_id(call, id.unwrap_or_default());
        self.calls.set_name(call, item.text("name"), out);
        match item.at("arguments").value() {
            EventValue::Text(arguments) => self.calls.set_arguments(call, arguments),
            EventValue::Null => {}
            // Any other type: the engine reports what is wrong with the arguments.
            _ => self.calls.set_arguments(call, &item.at("arguments").to_value().to_string()),
        }
        self.calls.finish_if_complete(call, out);
    }

    fn end(&mut self, kind: &str, event: EventJson<'_>, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
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
            self.stop = Some(truncation_reason(response.at("incomplete_details").text("reason")));
        } else {
            self.calls.finish_all(out);
            self.stop = Some(self.stop_reason());
        }
        Ok(())
    }

    /// Some servers send only the last event.
    fn take_output(&mut self, output: EventJson<'_>, out: &mut Vec<Delta>) {
        for (index, item) in output.list().enumerate() {
            let index = EventTree::of_number(index);
            let event = EventTree::of_fields(&[("output_index", index.root()), ("item", item)]);
            self.end_item(event.root(), out);
        }
    }

    fn stop_reason(&self) -> StopReason {
        match (0..self.calls.len()).any(|call| self.calls.ready(call).is_some()) {
            true => StopReason::ToolCalls,
            false if self.is_refused => StopReason::Refused,
            false => StopReason::EndTurn,
        }
    }

    fn block(&self, item: &OutputItem) -> Option<Block> {
        let opaque = |value: Value| Opaque { protocol: Protocol::OpenAiResponses, provider: self.provider.clone(), value };
        match &item.kind {
            ItemKind::Call(call) => self.calls.ready(*call).cloned(),
            ItemKind::Message { text, phase } => (!text.is_empty())
                .then(|| Block::Text { text: text.clone(), opaque: phase.as_ref().map(|phase| opaque(json!({ "phase": phase }))) }),
            ItemKind::Reasoning { text, whole } => {
                (!text.is_empty() || whole.is_some()).then(|| Block::Thinking { text: text.clone(), opaque: whole.clone().map(opaque) })
            }
        }
    }
}

impl StreamDecoder for ResponsesDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" || self.stop.is_some() {
            return Ok(());
        }
        let tree = EventTree::event(data).map_err(|_| broken_event(data))?;
        let event = tree.root();
        let kind = event.at("type").as_str().unwrap_or(name);
        if let Some(error) = error_in(kind, event) {
            return Err(error);
        }
        if self.is_repeated(event) { Ok(()) } else { self.handle(kind, event, out) }
    }

    fn finish(&mut self, _out: &mut Vec<Delta>) -> Result<ModelReply, ProviderError> {
        let stop = self.stop.clone().ok_or_else(truncated)?;
        let blocks = self.items.iter().filter_map(|item| self.block(item)).collect();
        Ok(ModelReply::new(blocks, stop, self.usage))
    }
}

fn append(text: &mut String, more: &str, delta: fn(String) -> Delta, out: &mut Vec<Delta>) {
    if !more.is_empty() {
        text.push_str(more);
        out.push(delta(more.to_owned()));
    }
}

fn truncation_reason(reason: &str) -> StopReason {
    match reason {
        "max_output_tokens" | "max_tokens" | "" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refused,
        other => StopReason::Other(other.to_owned()),
    }
}

fn failure(event: EventJson<'_>) -> ProviderError {
    error_event("error", &event.to_value()).unwrap_or_else(truncated)
}
