//! Chat Completions.

use serde_json::{Value, json};

use super::event::{Event, pieces};
use super::{Call, Round};

pub(super) fn events(round: &Round) -> Vec<Event> {
    let (mut events, reason) = match round {
        Round::Calls(calls) => (calls_events(calls), "tool_calls"),
        Round::Truncated(calls) => (calls_events(calls).split_last().map_or_else(Vec::new, |(_, before)| before.to_vec()), "length"),
        Round::ValueCalls(calls) => (calls.iter().enumerate().map(|(index, call)| begun(index, call, &call.2)).collect(), "tool_calls"),
        Round::Text(text) => (vec![chunk(&json!({"role": "assistant", "content": text}), &Value::Null)], "stop"),
        _ => (Vec::new(), "stop"),
    };
    events.push(chunk(&json!({}), &json!(reason)).ending());
    events.push(Event::data(&json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})).ending());
    events.push(Event::plain("[DONE]").ending());
    events
}

fn calls_events(calls: &[Call]) -> Vec<Event> {
    calls.iter().enumerate().flat_map(|(index, call)| call_events(index, call)).collect()
}

fn call_events(index: usize, call: &Call) -> Vec<Event> {
    let more = pieces(&call.2).map(|piece| delta(&json!({"index": index, "function": {"arguments": piece}})));
    std::iter::once(begun(index, call, &json!(""))).chain(more).collect()
}

fn begun(index: usize, (id, name, _): &Call, arguments: &Value) -> Event {
    let function = json!({"name": name, "arguments": arguments});
    delta(&json!({"index": index, "id": id, "type": "function", "function": function}))
}

fn delta(call: &Value) -> Event {
    chunk(&json!({"tool_calls": [call]}), &Value::Null)
}

fn chunk(delta: &Value, finish: &Value) -> Event {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    Event::data(&json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}))
}

pub(super) fn unknown() -> Event {
    Event::data(&json!({"id": "chatcmpl-1", "object": "chat.completion.heartbeat", "choices": [], "later": {"a": [1]}}))
}

pub(super) fn error(words: &str) -> Event {
    Event::data(&json!({"error": {"message": words, "type": "server_error", "param": null, "code": null}}))
}
