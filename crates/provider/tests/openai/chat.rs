//! Streams of Chat Completions: recorded ones, and the habits of the servers that speak it.

use haft_provider::{Block, Delta, Message, Protocol, ProviderErrorKind, StopReason, Usage};
use serde_json::{Value, json};

use crate::support::{call, check_cuts, decode, events, ready, round, thinking};

const CHAT: Protocol = Protocol::OpenAi;

fn chunk(delta: &Value, finish: &Value) -> (String, String) {
    (String::new(), json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string())
}

fn done() -> (String, String) {
    (String::new(), "[DONE]".into())
}

/// A stream of pieces of calls, one list of them in each event, that ends for this reason.
fn stream(calls: &[Value], finish: &str) -> Vec<(String, String)> {
    let mut events: Vec<_> = calls.iter().map(|calls| chunk(&json!({ "tool_calls": calls }), &Value::Null)).collect();
    events.push(chunk(&json!({}), &json!(finish)));
    events
}

fn blocks(events: &[(String, String)]) -> Vec<Block> {
    decode(CHAT, &[], events).1.unwrap().blocks
}

#[test]
fn recorded_streams() {
    for (name, stream) in [
        ("chat_text", include_str!("streams/chat_text.sse")),
        ("chat_parallel", include_str!("streams/chat_parallel.sse")),
        ("chat_reasoning", include_str!("streams/chat_reasoning.sse")),
        ("chat_cut", include_str!("streams/chat_cut.sse")),
    ] {
        let events = events(stream);
        insta::assert_debug_snapshot!(name, decode(CHAT, &[], &events));
        check_cuts(CHAT, &events);
    }
}

/// Every way in which a server may send the same two calls.
#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn habits_of_servers() {
    let f = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let (one, two) = (r#"{"path":"a"}"#, r#"{"pattern":"b"}"#);
    let expected = vec![call("c1", "read_file", one), call("c2", "grep", two)];
    for (habit, calls) in [
        (
            "in pieces",
            vec![
                json!([{"index": 0, "id": "c1", "type": "function", "function": f("read_file", "")}]),
                json!([{"index": 0, "function": {"arguments": "{\"path\""}}]),
                json!([{"index": 0, "function": {"arguments": ":\"a\"}"}}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", "{\"pattern\":")}]),
                json!([{"index": 1, "function": {"arguments": "\"b\"}"}}]),
            ],
        ),
        (
            "both in turn",
            vec![
                json!([{"index": 0, "id": "c1", "function": f("read_file", "{\"path\"")}, {"index": 1, "id": "c2", "function": f("grep", "{\"patt")}]),
                json!([{"index": 0, "function": {"arguments": ":\"a\"}"}}, {"index": 1, "function": {"arguments": "ern\":\"b\"}"}}]),
            ],
        ),
        (
            "whole, in one event",
            vec![json!([{"index": 0, "id": "c1", "function": f("read_file", one)}, {"index": 1, "id": "c2", "function": f("grep", two)}])],
        ),
        (
            "the same index for all",
            vec![
                json!([{"index": 0, "id": "c1", "function": f("read_file", one)}]),
                json!([{"index": 0, "id": "c2", "function": f("grep", two)}]),
            ],
        ),
        (
            "the same index for all, in pieces",
            vec![
                json!([{"index": 0, "id": "c1", "function": f("read_file", "{\"path\"")}]),
                json!([{"index": 0, "id": "c1", "function": {"arguments": ":\"a\"}"}}]),
                json!([{"index": 0, "id": "c2", "function": f("grep", "")}]),
                json!([{"index": 0, "id": "c2", "function": {"arguments": two}}]),
            ],
        ),
        (
            "no index",
            vec![
                json!([{"id": "c1", "function": f("read_file", "")}]),
                json!([{"id": "c1", "function": {"arguments": one}}]),
                json!([{"id": "c2", "function": f("grep", "{\"pattern\":")}]),
                json!([{"function": {"arguments": "\"b\"}"}}]),
            ],
        ),
        ("no index, in one event", vec![json!([{"id": "c1", "function": f("read_file", one)}, {"id": "c2", "function": f("grep", two)}])]),
        (
            "id and name in every piece",
            vec![
                json!([{"index": 0, "id": "c1", "function": f("read_file", "{\"path\"")}]),
                json!([{"index": 0, "id": "c1", "function": f("read_file", ":\"a\"}")}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", "{\"pattern\":")}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", "\"b\"}")}]),
            ],
        ),
        (
            "another id in every piece",
            vec![
                json!([{"index": 0, "id": "c1", "function": f("read_file", "")}]),
                json!([{"index": 0, "id": "x", "function": {"name": null, "arguments": one}}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", "")}]),
                json!([{"index": 1, "id": "y", "function": {"name": "", "arguments": two}}]),
            ],
        ),
        (
            "the name in pieces",
            vec![
                json!([{"index": 0, "id": "c1", "function": {"name": "read_"}}]),
                json!([{"index": 0, "function": {"name": "file", "arguments": null}}]),
                json!([{"index": 0, "function": {"arguments": one}}]),
                json!([{"index": 1, "id": "c2", "function": {"name": "grep"}}]),
                json!([{"index": 1, "id": "c2", "function": {"name": "grep", "arguments": two}}]),
            ],
        ),
        (
            "arguments as a value",
            vec![
                json!([{"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": {"path": "a"}}}]),
                json!([{"index": 1, "id": "c2", "function": {"name": "grep", "arguments": {"pattern": "b"}}}]),
            ],
        ),
        (
            "everything twice",
            vec![
                json!([{"index": 0, "id": "c1", "function": f("read_file", one)}]),
                json!([{"index": 0, "id": "c1", "function": f("read_file", one)}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", two)}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", two)}]),
            ],
        ),
        (
            "nothing between",
            vec![
                json!([]),
                json!([null]),
                json!([{"index": 0, "id": "c1", "function": f("read_file", one)}]),
                json!([{"index": 1, "id": "c2", "function": f("grep", two)}]),
                json!([{"index": 1, "function": {}}]),
            ],
        ),
    ] {
        for finish in ["tool_calls", "stop", "function_call"] {
            let events = stream(&calls, finish);
            assert_eq!(blocks(&events), expected, "{habit}");
            check_cuts(CHAT, &events);
        }
    }
}

/// Without ids, what is left is where a piece stands and what came before it.
#[test]
fn servers_without_ids_are_handled() {
    let f = |name: &str, arguments: &str| json!({"function": {"name": name, "arguments": arguments}});
    let (one, two) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
    let (same, other) = ([("read_file", one), ("read_file", two)], [("read_file", one), ("grep", two)]);
    let at = |index: u64, mut piece: Value| {
        piece["index"] = json!(index);
        piece
    };
    for (habit, calls, expected) in [
        ("whole", vec![json!([f("read_file", one)]), json!([f("read_file", two)])], same),
        ("whole, the same index for all", vec![json!([at(0, f("read_file", one))]), json!([at(0, f("read_file", two))])], same),
        ("whole, in one event", vec![json!([f("read_file", one), f("read_file", two)])], same),
        ("in one event, in pieces", vec![json!([f("read_file", ""), f("grep", "")]), json!([f("", one), f("", two)])], other),
        ("in pieces", vec![json!([f("read_file", "")]), json!([f("", one)]), json!([f("grep", "")]), json!([f("", two)])], other),
        (
            "values that grow",
            vec![
                json!([{"index": 0, "function": {"name": "read_file", "arguments": {}}}]),
                json!([{"index": 0, "function": {"arguments": {"path": "a"}}}]),
                json!([{"index": 1, "function": {"name": "grep", "arguments": {"path": "b"}}}]),
            ],
            other,
        ),
    ] {
        let events = stream(&calls, "tool_calls");
        let blocks = blocks(&events);
        let found: Vec<_> = blocks
            .iter()
            .map(|block| if let Block::Call { name, arguments, .. } = block { (name.as_str(), arguments.as_str()) } else { ("", "") })
            .collect();
        assert_eq!(found, expected, "{habit}");
        check_cuts(CHAT, &events);
    }
}

#[test]
fn events_after_truncation_are_ignored() {
    let piece = |index: u64, arguments: &str| json!([{"index": index, "id": format!("c{index}"), "function": {"name": "grep", "arguments": arguments}}]);
    let mut events = stream(&[piece(0, "{}")], "length");
    events.extend(stream(&[piece(1, "{}"), piece(2, "{}")], "stop"));
    events.push(done());
    let (deltas, reply) = decode(CHAT, &[], &events);
    let reply = reply.unwrap();
    assert_eq!((ready(&deltas), reply.blocks, reply.stop), (vec![], vec![], StopReason::MaxTokens));
}

#[test]
fn call_is_ready_when_the_next_begins() {
    let events = events(include_str!("streams/chat_parallel.sse"));
    let after: Vec<_> = (0..=events.len()).map(|kept| ready(&decode(CHAT, &[], &events[..kept]).0).len()).collect();
    // Two calls have their arguments; the one without waits for the end of the answer.
    assert_eq!(after, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 3, 3]);
}

/// `finish` reads a call that waits for the end, so the stream is fed without it.
#[test]
fn call_without_arguments_is_ready_at_the_end() {
    let calls = [json!([{"index": 0, "id": "c1", "function": {"name": "grep", "arguments": ""}}])];
    let mut events = stream(&calls, "tool_calls");
    events.push(done());
    let expected = [Delta::CallBegun { index: 0, name: "grep".into() }, Delta::CallReady { index: 0, call: call("c1", "grep", "") }];
    assert_eq!(decode(CHAT, &[], &events).0, expected);
    check_cuts(CHAT, &events);
}

#[test]
fn missing_ids_are_generated_and_unique() {
    let one = |id: Value, index: u64, path: &str| json!([{"index": index, "id": id, "function": {"name": "read_file", "arguments": format!("{{\"path\":\"{path}\"}}")}}]);
    let ids = |messages: &[Message], calls: &[Value]| -> Vec<String> {
        let reply = decode(CHAT, messages, &stream(calls, "stop")).1.unwrap();
        reply.blocks.iter().filter_map(|block| block.call_id().map(str::to_owned)).collect()
    };
    let calls = [
        one(Value::Null, 0, "a"),
        one(json!(""), 1, "a"),
        one(Value::Null, 2, "b"),
        one(json!("same"), 3, "a"),
        one(json!("same"), 4, "a"),
    ];
    let first = ids(&[], &calls);
    let mut unique = first.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((first.len(), unique.len()), (5, 5));
    assert_eq!(first[3], "same");
    assert_eq!(ids(&[], &calls), first, "the same answer to the same conversation");
    // In the next round none of them comes again, not even the one that the server gave.
    let next = ids(&round("same"), &calls);
    assert!(next.iter().all(|id| !first.contains(id)), "{next:?}");
}

#[test]
fn finish_reasons_map_to_stop_reasons() {
    let one = json!([{"index": 0, "id": "c1", "function": {"name": "grep", "arguments": "{}"}}]);
    let cut = json!([{"index": 1, "id": "c2", "function": {"name": "grep", "arguments": "{\"pat"}}]);
    let empty = json!([{"index": 1, "id": "c2", "function": {"name": "grep", "arguments": ""}}]);
    let (first, broken, bare) = (call("c1", "grep", "{}"), call("c2", "grep", "{\"pat"), call("c2", "grep", ""));
    for (calls, finish, kept, stop) in [
        (vec![], "stop", vec![], StopReason::EndTurn),
        (vec![], "tool_calls", vec![], StopReason::EndTurn),
        (vec![one.clone()], "STOP", vec![first.clone()], StopReason::ToolCalls),
        (vec![one.clone(), cut.clone()], "length", vec![first.clone()], StopReason::MaxTokens),
        (vec![one.clone(), empty.clone()], "length", vec![first.clone()], StopReason::MaxTokens),
        (vec![one.clone()], "length", vec![], StopReason::MaxTokens),
        (vec![one.clone(), cut.clone()], "content_filter", vec![first.clone()], StopReason::Refused),
        (
            vec![one.clone(), cut.clone()],
            "insufficient_system_resource",
            vec![first.clone()],
            StopReason::Other("insufficient_system_resource".into()),
        ),
        // A broken call is answered with what is wrong with it, but only if the model meant it so.
        (vec![one.clone(), cut], "tool_calls", vec![first.clone(), broken], StopReason::ToolCalls),
        (vec![one, empty], "tool_calls", vec![first, bare], StopReason::ToolCalls),
    ] {
        let events = stream(&calls, finish);
        let (deltas, reply) = decode(CHAT, &[], &events);
        let reply = reply.unwrap();
        assert_eq!((&reply.blocks, &reply.stop), (&kept, &stop), "{finish}");
        assert_eq!(ready(&deltas).into_iter().map(|(_, call)| call).collect::<Vec<_>>(), kept, "{finish}");
        check_cuts(CHAT, &events);
    }
}

#[test]
fn missing_finish_reason_requires_done() {
    let events = [chunk(&json!({"content": "Hi"}), &json!("")), chunk(&json!({"tool_calls": [{"function": {"name": ""}}]}), &Value::Null)];
    assert_eq!(decode(CHAT, &[], &events).1.unwrap_err().kind, ProviderErrorKind::Network);
    assert_eq!(decode(CHAT, &[], &[]).1.unwrap_err().kind, ProviderErrorKind::Network);
    let ended = [&events[..], &[done(), chunk(&json!({"content": "more"}), &Value::Null)]].concat();
    let reply = decode(CHAT, &[], &ended).1.unwrap();
    let Block::Call { name, arguments, .. } = &reply.blocks[1] else { panic!("{reply:?}") };
    assert_eq!((&reply.blocks[0], name.as_str(), arguments.as_str(), reply.stop), (&Block::text("Hi"), "", "", StopReason::ToolCalls));
}

#[test]
fn message_shapes_of_other_servers_are_read() {
    let event = |value: Value| (String::new(), value.to_string());
    let old = |name: Value, arguments: &str| chunk(&json!({"function_call": {"name": name, "arguments": arguments}}), &Value::Null);
    for (shape, events, expected) in [
        (
            "a whole message",
            vec![event(json!({"choices": [{"delta": null, "message": {"role": "assistant", "content": "Hi", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}))],
            vec![Block::text("Hi"), call("c1", "grep", "{}")],
        ),
        (
            "parts",
            vec![
                chunk(&json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}), &Value::Null),
                chunk(&json!({"content": [{"type": "text", "text": "Hi"}]}), &json!("stop")),
            ],
            vec![thinking("Hm", None), Block::text("Hi")],
        ),
        (
            "a field that is not wanted back",
            vec![chunk(&json!({"reasoning": "Hm"}), &Value::Null), chunk(&json!({"content": "Hi"}), &json!("stop"))],
            vec![thinking("Hm", None), Block::text("Hi")],
        ),
        (
            "another choice",
            vec![event(
                json!({"choices": [{"index": 1, "delta": {"content": "No"}}, {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}),
            )],
            vec![Block::text("Hi")],
        ),
        (
            "other events",
            vec![
                event(json!({"ping": 1})),
                event(json!(null)),
                event(json!({"choices": [null]})),
                (String::new(), " ".into()),
                chunk(&json!(null), &json!("stop")),
            ],
            vec![],
        ),
    ] {
        assert_eq!(blocks(&events), expected, "{shape}");
    }
    let events =
        [old(json!("grep"), ""), old(Value::Null, "{\"pattern\""), old(Value::Null, ":\"b\"}"), chunk(&json!({}), &json!("function_call"))];
    let [Block::Call { name, arguments, .. }] = &blocks(&events)[..] else { panic!("one call is expected") };
    assert_eq!((name.as_str(), arguments.as_str()), ("grep", r#"{"pattern":"b"}"#));
}

#[test]
fn refusal_is_text_and_stop_reason() {
    let reply = decode(CHAT, &[], &[chunk(&json!({"refusal": "I will not."}), &json!("stop"))]).1.unwrap();
    assert_eq!((reply.blocks, reply.stop), (vec![Block::text("I will not.")], StopReason::Refused));
}

#[test]
fn the_last_usage_counts() {
    let event = |input: u64| (String::new(), json!({"choices": [], "usage": {"prompt_tokens": input, "completion_tokens": 1}}).to_string());
    let (deltas, reply) = decode(CHAT, &[], &[event(1), chunk(&json!({}), &json!("stop")), event(5)]);
    let counts: Vec<_> =
        deltas.iter().filter_map(|delta| if let Delta::Usage(Usage { input, .. }) = delta { Some(*input) } else { None }).collect();
    assert_eq!((counts, reply.unwrap().usage.input), (vec![1, 5], 5));
}

#[test]
fn errors_inside_a_stream_are_returned() {
    for (name, data, kind) in [
        ("", r#"{"error":{"message":"Overloaded","type":"server_error"}}"#, ProviderErrorKind::Server),
        ("error", r#"{"message":"Overloaded","code":"rate_limit_exceeded"}"#, ProviderErrorKind::RateLimited),
        (
            "",
            r#"{"error":{"code":502,"message":"x"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
            ProviderErrorKind::Server,
        ),
        ("", "<html>", ProviderErrorKind::Malformed),
        ("", r#"{"choices":[{"#, ProviderErrorKind::Malformed),
    ] {
        let events = [chunk(&json!({"content": "Hi"}), &Value::Null), (name.into(), data.into())];
        let (deltas, reply) = decode(CHAT, &[], &events);
        assert_eq!((deltas, reply.unwrap_err().kind), (vec![Delta::Text("Hi".into())], kind), "{data}");
    }
}

#[test]
fn two_hundred_calls_are_assembled() {
    let calls: Vec<_> =
        (0..200).map(|n| json!([{"index": n, "id": format!("c{n}"), "function": {"name": "grep", "arguments": "{}"}}])).collect();
    let expected: Vec<_> = (0..200).map(|n| call(&format!("c{n}"), "grep", "{}")).collect();
    assert_eq!(blocks(&stream(&calls, "tool_calls")), expected);
}
