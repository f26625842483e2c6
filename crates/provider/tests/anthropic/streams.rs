//! Decoding of streams.

use haft_provider::{Anthropic, Block, Delta, Message, StopReason};
use serde_json::json;

use crate::conversations::*;
use crate::{event, model, stop, stream_of};

#[test]
fn recorded_streams_decode_at_every_truncation() {
    let streams = [
        ("thinking_and_two_calls", include_str!("../streams/anthropic/thinking_and_two_calls.sse")),
        ("cut_inside_a_call", include_str!("../streams/anthropic/cut_inside_a_call.sse")),
        ("overloaded", include_str!("../streams/anthropic/overloaded.sse")),
    ];
    for (name, stream) in streams {
        let events = events(stream);
        insta::assert_snapshot!(format!("stream_{name}"), told(&play(&Anthropic, &model(), &[], &events)));
        assert_cuts_are_prefixes(&Anthropic, &model(), &events, |data| data.contains(r#""stop_reason":""#));
    }
}

#[test]
fn stop_reasons_are_mapped() {
    let cases = [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::ToolCalls),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("pause_turn", StopReason::Paused),
        ("refusal", StopReason::Refused),
        ("tired", StopReason::Other("tired".into())),
    ];
    for (reason, expected) in cases {
        let reply = play(&Anthropic, &model(), &[], &[stop(reason)]).1.unwrap();
        assert_eq!((reply.stop, reply.blocks), (expected, vec![]), "{reason}");
    }
}

/// The last call of an answer, by what came of its arguments and why the answer stopped: `None` where it must not run.
#[test]
fn calls_are_ready_when_complete() {
    let cases = [
        (r#"{"path":"a"}"#, "tool_use", Some(r#"{"path":"a"}"#)),
        (r#"{"path":"a"}"#, "max_tokens", Some(r#"{"path":"a"}"#)),
        (r#"{"path":"a"}"#, "end_turn", Some(r#"{"path":"a"}"#)),
        ("", "tool_use", Some("{}")),
        ("", "max_tokens", None),
        ("", "refusal", None),
        (r#"{"path":"#, "max_tokens", None),
        (r#"{"path":"#, "model_context_window_exceeded", None),
        (r#"{"path":"#, "tool_use", Some(r#"{"path":"#)),
        ("12", "max_tokens", None),
        ("12", "tool_use", Some("12")),
    ];
    for (arguments, reason, expected) in cases {
        let mut events = stream_of(0, &call("toolu_1", "read_file", arguments), 3);
        events.push(stop(reason));
        let (deltas, reply) = play(&Anthropic, &model(), &[], &events);
        let expected: Vec<Block> = expected.map(|arguments| call("toolu_1", "read_file", arguments)).into_iter().collect();
        let case = format!("{arguments} {reason}");
        assert_eq!(ready(&deltas), expected.iter().collect::<Vec<_>>(), "{case}");
        assert_eq!(reply.as_ref().unwrap().blocks, expected, "{case}");
        let is_calls = reply.unwrap().stop == StopReason::ToolCalls;
        assert_eq!(is_calls, !expected.is_empty() && matches!(reason, "tool_use" | "end_turn"), "{case}");
    }
}

#[test]
fn call_without_arguments_is_ready_when_the_next_block_begins() {
    let mut events = stream_of(0, &call("toolu_1", "get_current_time", ""), 3);
    assert_eq!(ready(&play(&Anthropic, &model(), &[], &events).0), Vec::<&Block>::new());
    events.extend(stream_of(1, &Block::text("and"), 3));
    assert_eq!(ready(&play(&Anthropic, &model(), &[], &events[..3]).0), [&call("toolu_1", "get_current_time", "{}")]);
}

#[test]
fn repeated_and_misplaced_events_are_ignored() {
    let once = [stream_of(0, &call("toolu_1", "read_file", r#"{"path":"a"}"#), 99), stream_of(1, &Block::text("hi"), 99)].concat();
    let mut twice: Events = vec![event(&json!({"type": "content_block_stop", "index": 7}))];
    for (name, data) in &once {
        twice.push((name.clone(), data.clone()));
        if name != "content_block_delta" {
            twice.push((name.clone(), data.clone()));
        }
    }
    twice.extend([stop("tool_use"), stop("end_turn"), (String::new(), "[DONE]".into()), (String::new(), String::new())]);
    twice.extend(stream_of(2, &Block::text("too late"), 99));
    let (deltas, reply) = play(&Anthropic, &model(), &[], &twice);
    assert_eq!(ready(&deltas).len(), 1);
    assert_eq!(reply.unwrap().blocks, [call("toolu_1", "read_file", r#"{"path":"a"}"#), Block::text("hi")]);
}

#[test]
fn missing_and_duplicate_ids_are_generated_and_names_map_back() {
    let history = [Message::assistant(vec![call("call_3", "x", ""), call("same", "x", "")])];
    let wire = golden(&Anthropic, &model(), &[])["body"]["tools"][2]["name"].as_str().unwrap().to_owned();
    let mut events = Events::new();
    for (index, id) in ["", "same", "new", "new"].into_iter().enumerate() {
        events.extend(stream_of(index, &call(id, &wire, "{}"), 9));
    }
    events.push(stop("tool_use"));
    let name = &tools()[2].name;
    let expected = ["call_3_376b639d", "call_4_376b639d", "new", "call_6_376b639d"].map(|id| call(id, name, "{}"));
    assert_eq!(play(&Anthropic, &model(), &history, &events).1.unwrap().blocks, expected);
}

#[test]
fn complete_input_in_block_start_is_used() {
    let begun = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a"}}});
    let events = [event(&begun), event(&json!({"type": "content_block_stop", "index": 0})), stop("tool_use")];
    let blocks = play(&Anthropic, &model(), &[], &events).1.unwrap().blocks;
    assert_eq!(blocks, [call("t", "read_file", r#"{"path":"a"}"#)]);
}

#[test]
fn unsigned_thinking_is_displayed_but_not_sent_back() {
    let events = [stream_of(0, &thinking("hm", None), 9), vec![stop("end_turn")]].concat();
    let (deltas, reply) = play(&Anthropic, &model(), &[], &events);
    assert_eq!(deltas[0], Delta::Thinking("hm".into()));
    assert_eq!(reply.unwrap().blocks, [thinking("hm", None)]);
}
