//! Messages.

use serde_json::{Value, json};

use super::event::{Event, pieces};
use super::{Call, Round};

pub(super) fn events(round: &Round) -> Vec<Event> {
    let usage = json!({"input_tokens": 7, "output_tokens": 1});
    let mut list = vec![json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [], "usage": usage}})];
    let stop = match round {
        Round::Calls(calls) => {
            list.extend(calls.iter().enumerate().flat_map(|(index, call)| call_events(index, call)));
            "tool_use"
        }
        Round::Truncated(calls) => {
            list.extend(calls.iter().enumerate().flat_map(|(index, call)| call_events(index, call)));
            // The last piece of the arguments; behind it their block still ends.
            list.remove(list.len() - 2);
            "max_tokens"
        }
        Round::ValueCalls(calls) => {
            list.extend(calls.iter().enumerate().flat_map(|(index, call)| block(index, &start(call, &call.2), Vec::new())));
            "tool_use"
        }
        Round::Text(text) => {
            list.extend(block(0, &json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": text})]));
            "end_turn"
        }
        _ => "end_turn",
    };
    let end =
        [json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}}), json!({"type": "message_stop"})];
    list.iter().map(Event::named).chain(end.iter().map(|event| Event::named(event).ending())).collect()
}

fn call_events(index: usize, call: &Call) -> Vec<Value> {
    let deltas = pieces(&call.2).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    block(index, &start(call, &json!({})), deltas.to_vec())
}

fn start((id, name, _): &Call, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

fn block(index: usize, start: &Value, deltas: Vec<Value>) -> Vec<Value> {
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let deltas = deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let stop = json!({"type": "content_block_stop", "index": index});
    std::iter::once(start).chain(deltas).chain([stop]).collect()
}

pub(super) fn unknown() -> Event {
    Event::named(&json!({"type": "something_later", "index": 0, "later": {"a": [1]}}))
}

pub(super) fn error(words: &str) -> Event {
    Event::named(&json!({"type": "error", "error": {"type": "overloaded_error", "message": words}}))
}
