//! Encoding of requests.

use haft_provider::{Anthropic, Message, Protocol};
use haft_testkit::request_faults;
use serde_json::json;

use crate::conversations::*;
use crate::{model, redacted, thought};

/// Thoughts of this provider and of another one, before calls.
fn thoughts() -> Vec<Message> {
    let elsewhere = opaque(Protocol::Anthropic, "elsewhere", json!({"type": "thinking", "thinking": "x", "signature": "eA"}));
    vec![
        Message::user("What is the time?"),
        Message::assistant(vec![
            thought("The clock knows.", "EqQB+/=="),
            redacted("EmwK"),
            thinking("x", Some(elsewhere)),
            thinking("never signed", None),
            call("toolu_01", "get_current_time", ""),
        ]),
        Message::results(vec![result("toolu_01", "get_current_time", vec![text("12:00")], false)]),
    ]
}

#[test]
fn requests_match_golden_files() {
    let mut newer = model();
    (newer.version, newer.max_tools, newer.max_output) = (Some("2026-10-21".into()), 1, 64_000);
    let cases = [
        ("tools_and_text", model(), a_text_turn()),
        ("version_and_cap", newer, a_text_turn()),
        ("parallel_calls", model(), parallel_calls()),
        ("thoughts", model(), thoughts()),
        ("moved_in", model(), moved_in()),
        ("picture", model(), a_picture()),
    ];
    for (name, model, messages) in cases {
        let golden = golden(&Anthropic, &model, &messages);
        assert_eq!(request_faults("anthropic", "", &golden["body"]), Vec::<String>::new(), "{name}");
        insta::assert_json_snapshot!(name, golden);
    }
}

#[test]
fn decoded_blocks_encode_verbatim() {
    let events = events(include_str!("../streams/anthropic/thinking_and_two_calls.sse"));
    let reply = play(&Anthropic, &model(), &[], &events).1.unwrap();
    let results = vec![
        result("toolu_01A", "get_current_time", vec![text("12:00")], false),
        result("toolu_01B", "read_file", vec![text("read me")], false),
    ];
    let messages = [Message::user("Both"), Message::assistant(reply.blocks), Message::results(results)];
    let content = &golden(&Anthropic, &model(), &messages)["body"]["messages"][1]["content"];
    let expected = json!([
        {"type": "thinking", "thinking": "Two things are asked.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA"},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
        {"type": "text", "text": "I look at both — “grüße”."},
        {"type": "tool_use", "id": "toolu_01A", "name": "get_current_time", "input": {}},
        {"type": "tool_use", "id": "toolu_01B", "name": "read_file", "input": {"path": "README.md"}},
    ]);
    assert_eq!(*content, expected);
}
