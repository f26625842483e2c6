//! Answers of a model as a server writes them in each protocol.

use std::fmt::Write as _;

use haft_provider::{NameMap, Protocol};
use serde_json::{Value, json};

use crate::TOOLS;

/// One thing that a model says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Thought(String),
    Text(String),
    /// Its id, where the server gives one; its tool; its arguments.
    Call(Option<&'static str>, &'static str, &'static str),
}

/// End of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    Whole,
    /// At the limit of the model, so many bytes before the end of its last call.
    Truncated(usize),
}

/// One answer: what is said, how it ends, and in pieces of how many characters it comes.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) said: Vec<Said>,
    pub(crate) end: End,
    pub(crate) width: usize,
}

impl Answer {
    /// The stream of bytes.
    pub(crate) fn stream(&self, protocol: Protocol) -> Vec<u8> {
        let mut wire = Wire { names: NameMap::new(protocol, TOOLS), width: self.width, text: String::new(), number: 0 };
        match protocol {
            Protocol::Anthropic => self.anthropic(&mut wire),
            Protocol::Gemini => self.gemini(&mut wire),
            Protocol::OpenAiResponses => self.responses(&mut wire),
            _ => self.chat(&mut wire),
        }
        wire.text.into_bytes()
    }

    /// The calls that may run: all but one that was cut at the limit.
    pub(crate) fn calls(&self) -> Vec<(&'static str, &'static str)> {
        let whole = self.said.len() - usize::from(self.cuts_a_call());
        let call = |said: &Said| if let Said::Call(_, name, arguments) = said { Some((*name, *arguments)) } else { None };
        self.said[..whole].iter().filter_map(call).collect()
    }

    fn cuts_a_call(&self) -> bool {
        matches!((self.said.last(), self.end), (Some(Said::Call(..)), End::Truncated(_)))
    }

    /// The arguments of a call after decoding.
    fn arguments(&self, place: usize, arguments: &'static str) -> &'static str {
        match self.end {
            End::Truncated(missing) if place + 1 == self.said.len() => {
                &arguments[..arguments.floor_char_boundary(arguments.len().saturating_sub(missing))]
            }
            _ => arguments,
        }
    }

    fn is_called(&self) -> bool {
        self.said.iter().any(|said| matches!(said, Said::Call(..)))
    }

    fn chat(&self, wire: &mut Wire) {
        let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        let mut index = 0;
        for (place, said) in self.said.iter().enumerate() {
            match said {
                Said::Thought(text) => wire.each(text, |piece| chunk(json!({"reasoning_content": piece}), Value::Null)),
                Said::Text(text) => wire.each(text, |piece| chunk(json!({"content": piece}), Value::Null)),
                Said::Call(id, name, arguments) => {
                    let function = json!({"name": wire.names.wire(name), "arguments": ""});
                    let begun = json!([{"index": index, "id": id, "type": "function", "function": function}]);
                    wire.event("", chunk(json!({"tool_calls": begun}), Value::Null));
                    wire.each(self.arguments(place, arguments), |piece| {
                        chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), Value::Null)
                    });
                    index += 1;
                }
            }
        }
        let finish = match (self.end, self.is_called()) {
            (End::Truncated(_), _) => "length",
            (End::Whole, true) => "tool_calls",
            (End::Whole, false) => "stop",
        };
        wire.event("", chunk(json!({}), json!(finish)));
        wire.event("", json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}));
        wire.text.push_str("data: [DONE]\n\n");
    }

    fn responses(&self, wire: &mut Wire) {
        wire.named(json!({"type": "response.created", "response": {"id": "resp_1"}}));
        for (place, said) in self.said.iter().enumerate() {
            let (item, text) = match said {
                Said::Thought(text) => (json!({"type": "reasoning", "summary": []}), text.as_str()),
                Said::Text(text) => (json!({"type": "message", "role": "assistant", "content": []}), text.as_str()),
                Said::Call(id, name, arguments) => {
                    let item = json!({"type": "function_call", "call_id": id, "name": wire.names.wire(name), "arguments": ""});
                    (item, self.arguments(place, arguments))
                }
            };
            wire.item(place, item, text);
        }
        let (kind, status) = if self.end == End::Whole { ("completed", "completed") } else { ("incomplete", "incomplete") };
        let details = json!({"reason": "max_output_tokens"});
        let response = json!({"status": status, "incomplete_details": details, "usage": {"input_tokens": 7, "output_tokens": 3}});
        wire.named(json!({"type": format!("response.{kind}"), "response": response}));
    }

    fn anthropic(&self, wire: &mut Wire) {
        wire.named(json!({"type": "message_start", "message": {"usage": {"input_tokens": 7}}}));
        for (place, said) in self.said.iter().enumerate() {
            let delta = |delta: Value| json!({"type": "content_block_delta", "index": place, "delta": delta});
            let begin = |block: Value| json!({"type": "content_block_start", "index": place, "content_block": block});
            match said {
                Said::Thought(text) => {
                    wire.named(begin(json!({"type": "thinking", "thinking": ""})));
                    wire.each(text, |piece| delta(json!({"type": "thinking_delta", "thinking": piece})));
                    wire.named(delta(json!({"type": "signature_delta", "signature": "c2ln"})));
                }
                Said::Text(text) => {
                    wire.named(begin(json!({"type": "text", "text": ""})));
                    wire.each(text, |piece| delta(json!({"type": "text_delta", "text": piece})));
                }
                Said::Call(id, name, arguments) => {
                    let id = id.unwrap_or_default();
                    wire.named(begin(json!({"type": "tool_use", "id": id, "name": wire.names.wire(name), "input": {}})));
                    wire.each(self.arguments(place, arguments), |piece| delta(json!({"type": "input_json_delta", "partial_json": piece})));
                }
            }
            wire.named(json!({"type": "content_block_stop", "index": place}));
        }
        let reason = match (self.end, self.is_called()) {
            (End::Truncated(_), _) => "max_tokens",
            (End::Whole, true) => "tool_use",
            (End::Whole, false) => "end_turn",
        };
        wire.named(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}));
        wire.named(json!({"type": "message_stop"}));
    }

    /// Calls come whole, so one that was cut does not come; the first of an answer is signed.
    fn gemini(&self, wire: &mut Wire) {
        let chunk = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
        let mut is_signed = false;
        for said in &self.said[..self.said.len() - usize::from(self.cuts_a_call())] {
            match said {
                Said::Thought(text) => wire.each(text, |piece| chunk(json!({"text": piece, "thought": true}))),
                Said::Text(text) => wire.each(text, |piece| chunk(json!({"text": piece}))),
                Said::Call(id, name, arguments) => {
                    let args: Value = serde_json::from_str(arguments).unwrap_or(json!(arguments));
                    let mut part = json!({"functionCall": {"id": id, "name": wire.names.wire(name), "args": args}});
                    if !is_signed {
                        part["thoughtSignature"] = json!("c2ln");
                    }
                    is_signed = true;
                    wire.event("", chunk(part));
                }
            }
        }
        let reason = if self.end == End::Whole { "STOP" } else { "MAX_TOKENS" };
        wire.event("", json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 7}}));
    }
}

/// A stream that is being written.
struct Wire {
    names: NameMap,
    width: usize,
    text: String,
    number: u64,
}

impl Wire {
    fn event(&mut self, name: &str, mut data: Value) {
        self.number += 1;
        data["sequence_number"] = self.number.into();
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        write!(self.text, "{name}data: {data}\n\n").unwrap();
    }

    /// An event that is named by its type.
    fn named(&mut self, data: Value) {
        let name = data["type"].as_str().unwrap_or_default().to_owned();
        self.event(&name, data);
    }

    /// A text in its pieces.
    fn each(&mut self, text: &str, event: impl Fn(&str) -> Value) {
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(self.width) {
            self.named(event(&piece.iter().collect::<String>()));
        }
    }

    /// An item of Responses from its beginning to its end.
    fn item(&mut self, place: usize, mut item: Value, text: &str) {
        item["id"] = format!("item_{}_{place}", self.number).into();
        let id = item["id"].clone();
        self.named(json!({"type": "response.output_item.added", "output_index": place, "item": item}));
        let kind = match item["type"].as_str() {
            Some("reasoning") => "response.reasoning_summary_text.delta",
            Some("message") => "response.output_text.delta",
            _ => "response.function_call_arguments.delta",
        };
        self.each(text, |piece| json!({"type": kind, "output_index": place, "item_id": id, "delta": piece}));
        match item["type"].as_str() {
            Some("reasoning") => item["encrypted_content"] = json!("gAAAA"),
            Some("message") => item["content"] = json!([{"type": "output_text", "text": text}]),
            _ => item["arguments"] = json!(text),
        }
        self.named(json!({"type": "response.output_item.done", "output_index": place, "item": item}));
    }
}
