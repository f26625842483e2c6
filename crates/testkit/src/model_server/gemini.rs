//! The `generateContent` stream of Gemini, where every call comes whole.

use serde_json::{Value, json};

use super::event::Event;
use super::{Call, Round};

pub(super) fn events(round: &Round) -> Vec<Event> {
    let mut parts: Vec<Value> = match round {
        Round::Calls(calls) | Round::ValueCalls(calls) | Round::Truncated(calls) => {
            calls.iter().enumerate().map(|(index, call)| call_part(index, call)).collect()
        }
        Round::Text(text) => vec![json!({"text": text})],
        _ => Vec::new(),
    };
    let counts = json!({"promptTokenCount": 7, "candidatesTokenCount": 3});
    let mut candidate = candidate(&json!({"text": ""}));
    candidate["finishReason"] = json!("STOP");
    if let Round::Truncated(_) = round {
        // What is not whole is not sent at all.
        parts.pop();
        candidate["finishReason"] = json!("MAX_TOKENS");
    }
    let end = Event::data(&json!({"candidates": [candidate], "usageMetadata": counts})).ending();
    parts.iter().map(part_event).chain([end]).collect()
}

/// The first call of an answer carries the signature of the thought behind all of them.
fn call_part(index: usize, (id, name, arguments): &Call) -> Value {
    let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
    if index == 0 {
        part["thoughtSignature"] = json!("c2lnbmF0dXJl");
    }
    part
}

fn part_event(part: &Value) -> Event {
    Event::data(&json!({"candidates": [candidate(part)]}))
}

fn candidate(part: &Value) -> Value {
    json!({"content": {"role": "model", "parts": [part]}, "index": 0})
}

pub(super) fn unknown() -> Event {
    Event::data(&json!({"somethingLater": {"a": [1]}, "candidates": [{"index": 0, "laterToo": true}]}))
}

pub(super) fn error(words: &str) -> Event {
    Event::data(&json!({"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}}))
}
