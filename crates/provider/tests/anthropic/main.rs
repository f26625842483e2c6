//! The Messages protocol: golden requests, recorded streams, and what holds for all of them.

#[path = "../conversations/mod.rs"]
mod conversations;
mod errors;
mod properties;
mod requests;
mod streams;

use conversations::random::HERE;
use conversations::{Events, opaque, thinking};
use haft_provider::{Block, Model, Protocol};
use serde_json::{Value, json};

pub(crate) fn model() -> Model {
    Model::new(HERE, Protocol::Anthropic, "claude-sonnet-4-5")
}

pub(crate) fn thought(text: &str, signature: &str) -> Block {
    let value = json!({"type": "thinking", "thinking": text, "signature": signature});
    thinking(text, Some(opaque(Protocol::Anthropic, HERE, value)))
}

pub(crate) fn redacted(data: &str) -> Block {
    thinking("", Some(opaque(Protocol::Anthropic, HERE, json!({"type": "redacted_thinking", "data": data}))))
}

pub(crate) fn event(value: &Value) -> (String, String) {
    (value["type"].as_str().unwrap_or_default().to_owned(), value.to_string())
}

pub(crate) fn stop(reason: &str) -> (String, String) {
    event(&json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}))
}

/// The stream of a block, with its text in pieces of so many characters.
pub(crate) fn stream_of(index: usize, block: &Block, width: usize) -> Events {
    let pieces =
        |text: &str| -> Vec<String> { text.chars().collect::<Vec<_>>().chunks(width).map(|piece| piece.iter().collect()).collect() };
    let (begun, deltas): (Value, Vec<Value>) = match block {
        Block::Text { text, .. } => {
            (json!({"type": "text", "text": ""}), pieces(text).iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect())
        }
        Block::Thinking { opaque: Some(opaque), .. } if opaque.value["type"] == "redacted_thinking" => (opaque.value.clone(), vec![]),
        Block::Thinking { text, opaque } => {
            let mut deltas: Vec<Value> = pieces(text).iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
            let signature = opaque.as_ref().and_then(|opaque| opaque.value["signature"].as_str()).unwrap_or_default();
            deltas.extend(pieces(signature).iter().map(|piece| json!({"type": "signature_delta", "signature": piece})));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Block::Call { id, name, arguments, .. } => (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            pieces(arguments).iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect(),
        ),
        other => panic!("{other:?} is not said by a model"),
    };
    let mut events = vec![event(&json!({"type": "content_block_start", "index": index, "content_block": begun}))];
    events.extend(deltas.iter().map(|delta| event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))));
    events.push(event(&json!({"type": "content_block_stop", "index": index})));
    events
}
