//! Streams of Responses: recorded ones, and the habits of the servers that speak it.

use haft_provider::{Block, Delta, Protocol, ProviderErrorKind, StopReason};
use serde_json::{Value, json};

use crate::support::{call, check_cuts, decode, events, opaque, ready, thinking};

const RESPONSES: Protocol = Protocol::OpenAiResponses;

fn event(kind: &str, rest: Value) -> (String, String) {
    let mut event = rest;
    event["type"] = json!(kind);
    (kind.into(), event.to_string())
}

fn added(index: u64, item: &Value) -> (String, String) {
    event("response.output_item.added", json!({"output_index": index, "item": item}))
}

fn item_done(index: u64, item: &Value) -> (String, String) {
    event("response.output_item.done", json!({"output_index": index, "item": item}))
}

fn completed() -> (String, String) {
    event("response.completed", json!({"response": {"status": "completed", "output": []}}))
}

fn incomplete(reason: &str) -> (String, String) {
    event("response.incomplete", json!({"response": {"status": "incomplete", "incomplete_details": {"reason": reason}}}))
}

fn function_call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "grep", "arguments": arguments})
}

#[test]
fn recorded_streams() {
    for (name, stream) in [
        ("responses_text", include_str!("streams/responses_text.sse")),
        ("responses_parallel", include_str!("streams/responses_parallel.sse")),
        ("responses_cut", include_str!("streams/responses_cut.sse")),
        ("responses_failed", include_str!("streams/responses_failed.sse")),
    ] {
        let events = events(stream);
        insta::assert_debug_snapshot!(name, decode(RESPONSES, &[], &events));
        check_cuts(RESPONSES, &events);
        let unnamed: Vec<_> = events.iter().map(|(_, data)| (String::new(), data.clone())).collect();
        assert_eq!(decode(RESPONSES, &[], &unnamed), decode(RESPONSES, &[], &events), "names of events are not needed");
        let twice: Vec<_> = events.iter().flat_map(|event| [event.clone(), event.clone()]).collect();
        assert_eq!(decode(RESPONSES, &[], &twice), decode(RESPONSES, &[], &events), "every event twice");
    }
}

#[test]
fn call_is_ready_when_its_arguments_are_done() {
    let events = events(include_str!("streams/responses_parallel.sse"));
    let position = |kind: &str, nth: usize| events.iter().enumerate().filter(|(_, event)| event.0 == kind).nth(nth).unwrap().0 + 1;
    let arguments_done = |nth| position("response.function_call_arguments.done", nth);
    for (kept, calls) in [
        (arguments_done(0) - 1, 0),
        (arguments_done(0), 1),
        (arguments_done(1) - 1, 1),
        (arguments_done(1), 2),
        // Without arguments it may still be cut, until the answer is complete.
        (arguments_done(2), 2),
        (events.len() - 1, 2),
        (events.len(), 3),
    ] {
        assert_eq!(ready(&decode(RESPONSES, &[], &events[..kept]).0).len(), calls, "after {kept} events");
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn habits_of_servers() {
    let delta = |id: &str, index: Value, piece: &str| {
        event("response.function_call_arguments.delta", json!({"item_id": id, "output_index": index, "delta": piece}))
    };
    let done = |id: &str, index: Value, all: &str| {
        event("response.function_call_arguments.done", json!({"item_id": id, "output_index": index, "arguments": all}))
    };
    let expected = vec![call("a", "grep", r#"{"pattern":"x"}"#), call("b", "grep", "{}")];
    let (one, two) = (function_call("a", r#"{"pattern":"x"}"#), function_call("b", "{}"));
    let without = |item: &Value, field: &str| {
        let mut item = item.clone();
        item.as_object_mut().unwrap().remove(field);
        item
    };
    for (habit, events) in [
        (
            "as documented",
            vec![
                added(0, &function_call("a", "")),
                delta("fc_a", json!(0), r#"{"pattern""#),
                delta("fc_a", json!(0), r#":"x"}"#),
                done("fc_a", json!(0), r#"{"pattern":"x"}"#),
                item_done(0, &one),
                added(1, &function_call("b", "")),
                delta("fc_b", json!(1), "{}"),
                done("fc_b", json!(1), "{}"),
                item_done(1, &two),
                completed(),
            ],
        ),
        (
            "both in turn",
            vec![
                added(0, &function_call("a", "")),
                added(1, &function_call("b", "")),
                delta("fc_a", json!(0), r#"{"pattern""#),
                delta("fc_b", json!(1), "{}"),
                delta("fc_a", json!(0), r#":"x"}"#),
                done("fc_b", json!(1), "{}"),
                done("fc_a", json!(0), r#"{"pattern":"x"}"#),
                completed(),
            ],
        ),
        (
            "no place",
            vec![
                event("response.output_item.added", json!({"item": function_call("a", "")})),
                delta("fc_a", Value::Null, r#"{"pattern":"x"}"#),
                event("response.output_item.added", json!({"item": function_call("b", "")})),
                delta("fc_b", Value::Null, "{}"),
                completed(),
            ],
        ),
        (
            "the same place for all",
            vec![
                added(0, &function_call("a", "")),
                delta("fc_a", json!(0), r#"{"pattern":"x"}"#),
                item_done(0, &one),
                added(0, &function_call("b", "")),
                delta("fc_b", json!(0), "{}"),
                item_done(0, &two),
                completed(),
            ],
        ),
        (
            "another id in every event",
            vec![
                added(0, &function_call("a", "")),
                delta("r1", json!(0), r#"{"pattern":"#),
                delta("r2", json!(0), r#""x"}"#),
                done("r3", json!(0), r#"{"pattern":"x"}"#),
                added(1, &function_call("b", "")),
                delta("r4", json!(1), "{}"),
                done("r5", json!(1), "{}"),
                completed(),
            ],
        ),
        (
            "items that never begin",
            vec![
                delta("fc_a", json!(0), r#"{"pattern":"#),
                delta("fc_a", json!(0), r#""x"}"#),
                done("fc_a", json!(0), r#"{"pattern":"x"}"#),
                item_done(0, &one),
                added(1, &without(&function_call("b", ""), "name")),
                done("fc_b", json!(1), "{}"),
                item_done(1, &two),
                completed(),
            ],
        ),
        ("whole items alone", vec![item_done(0, &one), item_done(1, &two), completed()]),
        ("every item begins twice", vec![added(0, &one), added(0, &one), added(1, &two), added(1, &two), completed()]),
        (
            "more behind the end",
            vec![item_done(0, &one), item_done(1, &two), completed(), item_done(2, &function_call("c", "{}")), incomplete("x")],
        ),
        ("the end alone", vec![event("response.completed", json!({"response": {"output": [one, two]}}))]),
        ("called done", vec![item_done(0, &one), item_done(1, &two), event("response.done", json!({"response": {"status": "completed"}}))]),
        (
            "arguments as a value",
            vec![
                item_done(0, &json!({"type": "function_call", "call_id": "a", "name": "grep", "arguments": {"pattern": "x"}})),
                item_done(1, &two),
                completed(),
            ],
        ),
        (
            "names and ids at the end of an item",
            vec![
                added(0, &without(&without(&function_call("a", ""), "call_id"), "name")),
                done("fc_a", json!(0), r#"{"pattern":"x"}"#),
                item_done(0, &one),
                item_done(1, &two),
                completed(),
            ],
        ),
        (
            "the id of the item for want of another",
            vec![
                item_done(0, &json!({"type": "function_call", "id": "a", "name": "grep", "arguments": r#"{"pattern":"x"}"#})),
                item_done(1, &two),
                completed(),
            ],
        ),
        (
            "a word of the other protocol",
            vec![item_done(0, &one), item_done(1, &two), (String::new(), "[DONE]".into()), completed(), (String::new(), "[DONE]".into())],
        ),
    ] {
        let reply = decode(RESPONSES, &[], &events).1.unwrap();
        let sorted = |mut blocks: Vec<Block>| {
            blocks.sort_by_key(|block| block.call_id().map(str::to_owned));
            blocks
        };
        assert_eq!((sorted(reply.blocks), reply.stop), (expected.clone(), StopReason::ToolCalls), "{habit}");
        check_cuts(RESPONSES, &events);
    }
}

#[test]
fn finish_reasons_map_to_stop_reasons() {
    let whole = || item_done(0, &function_call("a", "{}"));
    let cut = |status: &str| {
        let mut item = function_call("b", r#"{"pat"#);
        item["status"] = json!(status);
        vec![
            added(1, &function_call("b", "")),
            event("response.function_call_arguments.done", json!({"output_index": 1, "arguments": r#"{"pat"#})),
            item_done(1, &item),
        ]
    };
    let bare = || item_done(1, &function_call("b", ""));
    let (first, broken) = (call("a", "grep", "{}"), call("b", "grep", r#"{"pat"#));
    for (events, end, kept, stop) in [
        (vec![], completed(), vec![], StopReason::EndTurn),
        (vec![whole()], completed(), vec![first.clone()], StopReason::ToolCalls),
        ([vec![whole()], cut("in_progress")].concat(), incomplete("max_output_tokens"), vec![first.clone()], StopReason::MaxTokens),
        ([vec![whole()], cut("incomplete")].concat(), incomplete("max_output_tokens"), vec![first.clone()], StopReason::MaxTokens),
        ([vec![whole()], cut("completed")].concat(), incomplete("max_output_tokens"), vec![first.clone()], StopReason::MaxTokens),
        (vec![whole(), bare()], incomplete("max_output_tokens"), vec![first.clone()], StopReason::MaxTokens),
        ([vec![whole()], cut("completed")].concat(), incomplete("content_filter"), vec![first.clone()], StopReason::Refused),
        (vec![], incomplete("steered"), vec![], StopReason::Other("steered".into())),
        ([vec![whole()], cut("completed")].concat(), completed(), vec![first.clone(), broken], StopReason::ToolCalls),
        (vec![whole(), bare()], completed(), vec![first, call("b", "grep", "")], StopReason::ToolCalls),
    ] {
        let events = [events, vec![end.clone()]].concat();
        let (deltas, reply) = decode(RESPONSES, &[], &events);
        let reply = reply.unwrap();
        assert_eq!((&reply.blocks, &reply.stop), (&kept, &stop), "{end:?}");
        assert_eq!(ready(&deltas).into_iter().map(|(_, call)| call).collect::<Vec<_>>(), kept, "{end:?}");
        check_cuts(RESPONSES, &events);
    }
    assert_eq!(decode(RESPONSES, &[], &[whole()]).1.unwrap_err().kind, ProviderErrorKind::Network);
    assert_eq!(decode(RESPONSES, &[], &[]).1.unwrap_err().kind, ProviderErrorKind::Network);
}

#[test]
fn complete_texts_and_unencrypted_reasoning_are_read() {
    let message = json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}, {"type": "output_text", "text": " there"}]});
    let thought = json!({"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm"}], "content": [{"type": "reasoning_text", "text": "!"}]});
    let sealed = json!({"type": "reasoning", "id": "s", "summary": [], "encrypted_content": "x", "anything": {"new": true}});
    let empty = json!({"type": "reasoning", "id": "e", "summary": [], "encrypted_content": null});
    let events = [
        item_done(0, &thought),
        item_done(1, &sealed),
        item_done(2, &empty),
        item_done(3, &message),
        item_done(4, &json!({"type": "web_search_call"})),
        completed(),
    ];
    let (deltas, reply) = decode(RESPONSES, &[], &events);
    assert_eq!(deltas, [Delta::Thinking("Hm!".into()), Delta::Text("Hi there".into())]);
    let expected = vec![thinking("Hm!", None), thinking("", opaque(RESPONSES, "openai", sealed)), Block::text("Hi there")];
    assert_eq!(reply.unwrap().blocks, expected);
}

#[test]
fn deltas_of_unknown_items_begin_them() {
    let events = [
        event("response.reasoning_text.delta", json!({"item_id": "r", "delta": "Hm"})),
        event("response.output_text.delta", json!({"item_id": "m", "delta": "Hi"})),
        event("response.function_call_arguments.delta", json!({"item_id": "c", "delta": "{}"})),
        event("response.output_text.delta", json!({"item_id": "c", "delta": "lost"})),
        event("response.function_call_arguments.delta", json!({"item_id": "m", "delta": "lost"})),
        completed(),
    ];
    let blocks = decode(RESPONSES, &[], &events).1.unwrap().blocks;
    let [first, second, Block::Call { name, arguments, .. }] = &blocks[..] else { panic!("{blocks:?}") };
    assert_eq!((first, second, name.as_str(), arguments.as_str()), (&thinking("Hm", None), &Block::text("Hi"), "", "{}"));
}

#[test]
fn refusal_is_text_and_stop_reason() {
    let whole = json!({"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I will not."}]});
    let pieces = event("response.refusal.delta", json!({"item_id": "m", "output_index": 0, "delta": "I will not."}));
    for events in [vec![item_done(0, &whole), completed()], vec![pieces, completed()]] {
        let reply = decode(RESPONSES, &[], &events).1.unwrap();
        assert_eq!((reply.blocks, reply.stop), (vec![Block::text("I will not.")], StopReason::Refused));
    }
}

#[test]
fn errors_inside_a_stream_are_returned() {
    for (name, data, kind) in [
        (
            "error",
            r#"{"type":"error","code":"server_error","message":"Failed","param":null,"sequence_number":3}"#,
            ProviderErrorKind::Server,
        ),
        (
            "error",
            r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Too long"}}"#,
            ProviderErrorKind::TooLong,
        ),
        (
            "response.failed",
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}}"#,
            ProviderErrorKind::RateLimited,
        ),
        ("response.failed", r#"{"type":"response.failed","response":{"status":"failed","error":null}}"#, ProviderErrorKind::Server),
        (
            "response.done",
            r#"{"type":"response.done","response":{"status":"failed","error":{"code":"invalid_prompt","message":"No"}}}"#,
            ProviderErrorKind::BadRequest,
        ),
        ("", r#"{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}"#, ProviderErrorKind::Key),
        ("", "upstream timeout", ProviderErrorKind::Malformed),
    ] {
        assert_eq!(decode(RESPONSES, &[], &[(name.into(), data.into())]).1.unwrap_err().kind, kind, "{data}");
    }
}
