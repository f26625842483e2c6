//! Responses.

use serde_json::{Value, json};

use super::event::{Event, pieces};
use super::{Call, Round};

pub(super) fn events(round: &Round) -> Vec<Event> {
    let mut list = vec![json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})];
    match round {
        Round::Calls(calls) => list.extend(calls.iter().enumerate().flat_map(|(index, call)| call_events(index, call))),
        Round::Truncated(calls) => list.extend(truncated(calls)),
        Round::ValueCalls(calls) => list.extend(calls.iter().enumerate().flat_map(|(index, call)| value_events(index, call))),
        Round::Text(text) => list.extend(text_events(text)),
        _ => {}
    }
    let end = end(round);
    let numbered = list.iter().chain([&end]).enumerate().map(|(number, event)| {
        let mut numbered = event.clone();
        numbered["sequence_number"] = json!(number);
        Event { ends: *event == end, ..Event::named(&numbered) }
    });
    numbered.collect()
}

fn call_events(index: usize, call: &Call) -> Vec<Value> {
    let item_id = item_id(index, call);
    let text = json!(call.2.to_string());
    let [first, second] = pieces(&call.2)
        .map(|piece| json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": item_id, "delta": piece}));
    let whole = json!({"type": "response.function_call_arguments.done", "output_index": index, "item_id": item_id, "arguments": text});
    vec![added(index, call), first, second, whole, done(index, call, &text)]
}

/// The last call is closed in the middle of its arguments, as if it were whole.
fn truncated(calls: &[Call]) -> Vec<Value> {
    let mut list: Vec<Value> = calls.iter().enumerate().flat_map(|(index, call)| call_events(index, call)).collect();
    if let Some(call) = calls.last() {
        let [half, _] = pieces(&call.2);
        list.truncate(list.len() - 3);
        list.push(done(calls.len() - 1, call, &json!(half)));
    }
    list
}

fn end(round: &Round) -> Value {
    let usage = json!({"input_tokens": 7, "output_tokens": 3, "total_tokens": 10});
    if let Round::Truncated(_) = round {
        let why = json!({"reason": "max_output_tokens"});
        let response = json!({"id": "resp_1", "status": "incomplete", "incomplete_details": why, "usage": usage});
        return json!({"type": "response.incomplete", "response": response});
    }
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "usage": usage}})
}

fn value_events(index: usize, call: &Call) -> Vec<Value> {
    vec![added(index, call), done(index, call, &call.2)]
}

fn added(index: usize, call: &Call) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item(index, call, &json!(""), "in_progress")})
}

fn done(index: usize, call: &Call, arguments: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item(index, call, arguments, "completed")})
}

fn item(index: usize, call: &Call, arguments: &Value, status: &str) -> Value {
    let (id, name, _) = call;
    json!({
        "type": "function_call", "id": item_id(index, call), "call_id": id, "name": name, "arguments": arguments, "status": status
    })
}

/// An item has an id of its own, which is never the same twice.
fn item_id(index: usize, (id, ..): &Call) -> String {
    format!("fc_{index}_{id}")
}

fn text_events(text: &str) -> Vec<Value> {
    let item =
        |content: Value, status: &str| json!({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content});
    let part = json!({"type": "output_text", "text": text, "annotations": []});
    vec![
        json!({"type": "response.output_item.added", "output_index": 0, "item": item(json!([]), "in_progress")}),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": text}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item(json!([part]), "completed")}),
    ]
}

pub(super) fn unknown() -> Event {
    Event::named(&json!({"type": "response.something.later", "output_index": 0, "later": {"a": [1]}}))
}

pub(super) fn error(words: &str) -> Event {
    Event::named(&json!({"type": "error", "code": "server_error", "message": words, "param": null}))
}
