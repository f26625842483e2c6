//! Requests, as golden files: the same conversations in both protocols.

use haft_provider::{Block, Message, ModelTurn, Protocol};
use haft_testkit::request_faults;
use serde_json::{Value, json};

use crate::support::{PIXEL, adapter, call, model, opaque, picture, result, round, text, thinking, tools};

const BOTH: [Protocol; 2] = [Protocol::OpenAi, Protocol::OpenAiResponses];

fn sent(turn: &ModelTurn<'_>) -> Value {
    let adapter = adapter(turn.model.protocol);
    let encoded = adapter.encode(turn);
    assert_eq!(request_faults(turn.model.protocol.as_str(), &turn.model.name, &encoded.body), Vec::<String>::new());
    assert_eq!(
        (encoded.path.as_str(), &encoded.headers[..]),
        (if turn.model.protocol == Protocol::OpenAi { "/chat/completions" } else { "/responses" }, &[][..])
    );
    json!({ "body": encoded.body, "warnings": encoded.warnings })
}

fn golden(name: &str, messages: &[Message]) {
    for protocol in BOTH {
        let model = model(protocol);
        let turn = ModelTurn { model: &model, system: "", messages, tools: &[] };
        insta::assert_json_snapshot!(format!("{protocol}_{name}"), sent(&turn));
    }
}

#[test]
fn tools_and_instructions() {
    for protocol in BOTH {
        let (model, tools) = (model(protocol), tools());
        let turn = ModelTurn { model: &model, system: "Be brief.", messages: &[Message::user("Hello")], tools: &tools };
        insta::assert_json_snapshot!(format!("{protocol}_tools"), sent(&turn));
    }
}

#[test]
fn tools_beyond_the_limit_are_left_out() {
    for protocol in BOTH {
        let (mut model, tools) = (model(protocol), tools());
        model.max_tools = 1;
        let turn = ModelTurn { model: &model, system: "", messages: &[Message::user("Hello")], tools: &tools };
        let sent = sent(&turn);
        assert_eq!(sent["body"]["tools"].as_array().map(Vec::len), Some(1));
        let warning = "gpt-5.2 accepts at most 1 tools: 2 are not offered (grep, files.example/list everything)";
        assert_eq!((sent["warnings"].as_array().map(Vec::len), &sent["warnings"][1]), (Some(2), &json!(warning)));
        model.max_tools = 0;
        let turn = ModelTurn { model: &model, system: "", messages: &[Message::user("Hello")], tools: &tools };
        assert_eq!(adapter(protocol).encode(&turn).body.get("tools"), None);
    }
}

#[test]
fn text_turn() {
    golden(
        "text",
        &[Message::user("Hello"), Message::assistant(vec![Block::text("Hi."), Block::text("What is it?")]), Message::user("Nothing.")],
    );
}

#[test]
fn image_of_the_user() {
    let image = |mime: &str| Block::Image { mime: mime.into(), data: PIXEL.into() };
    let blocks = vec![Block::text("What is this?"), image("image/png"), image("image/svg+xml")];
    golden("picture", &[Message::results(blocks)]);
}

#[test]
fn parallel_calls_with_their_results() {
    let failed = r#"{"status":"error","error_type":"file_not_found","message":"File not found: b"}"#;
    let shown = r#"{"status":"success","result":{"width":1}}"#;
    golden(
        "parallel",
        &[
            Message::user("Look at a and b"),
            Message::assistant(vec![
                Block::text("I look."),
                call("call_1", "read_file", r#"{"path": "a"}"#),
                call("call_2", "read_file", r#"{"path": "b"}"#),
                call("call_3", "files.example/list everything", ""),
                call("an id/of another provider, far too long for anybody to take it", "", r#"{"path": "c"#),
            ]),
            Message::results(vec![
                result("call_1", "read_file", vec![text(shown), picture("image/png")], false),
                result("call_2", "read_file", vec![text(failed)], true),
                result("call_3", "files.example/list everything", vec![], false),
                result("an id/of another provider, far too long for anybody to take it", "", vec![text("{}"), text("{}")], true),
                Block::text("And hurry."),
            ]),
        ],
    );
}

/// Opaque data of this provider and of others: only the first is sent back.
#[test]
fn reasoning_goes_back_to_its_provider() {
    let reasoning = |id: &str| json!({"id": id, "type": "reasoning", "summary": [], "encrypted_content": "gAAAAB=="});
    let (chat, responses) = (Protocol::OpenAi, Protocol::OpenAiResponses);
    golden(
        "thoughts",
        &[
            Message::user("Look at a"),
            Message::assistant(vec![
                thinking("First", opaque(chat, "openai", json!("reasoning_content"))),
                thinking("First", opaque(responses, "openai", reasoning("rs_1"))),
                thinking("Of a later version", opaque(chat, "openai", json!("reasoning_details"))),
                thinking("Of a later version", opaque(responses, "openai", json!({"type": "reasoning.later"}))),
                Block::Text { text: "I look.".into(), opaque: Some(opaque(responses, "openai", json!({"phase": "commentary"}))) },
                thinking("", opaque(responses, "openai", reasoning("rs_2"))),
                call("call_1", "read_file", r#"{"path":"a"}"#),
                thinking("", opaque(responses, "openai", reasoning("rs_led_to_nothing"))),
            ]),
            Message::results(vec![result("call_1", "read_file", vec![text("{}")], false)]),
            Message::assistant(vec![thinking("Nothing more", opaque(chat, "openai", json!("reasoning_content"))), Block::text("Done.")]),
            Message::user("Thanks"),
        ],
    );
}

#[test]
fn user_text_after_results_is_text() {
    let model = model(Protocol::OpenAi);
    let [asked, _] = &round("call_1")[..] else { unreachable!() };
    let answered = Message::results(vec![result("call_1", "read_file", vec![text("{}")], false), Block::text("Stop"), Block::text("now")]);
    let turn = ModelTurn { model: &model, system: "", messages: &[asked.clone(), answered], tools: &[] };
    assert_eq!(sent(&turn)["body"]["messages"][2], json!({"role": "user", "content": "Stop\n\nnow"}));
}

#[test]
fn session_of_another_provider() {
    let signature = json!({"signature": "EuYBCk…"});
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAB=="});
    golden(
        "moved",
        &[
            Message::user("Look at a"),
            Message::assistant(vec![
                thinking("Hm", opaque(Protocol::Anthropic, "anthropic", signature)),
                thinking("Hm", opaque(Protocol::OpenAiResponses, "a gateway", reasoning)),
                thinking("Hm", opaque(Protocol::OpenAi, "deepseek", json!("reasoning_content"))),
                Block::Text {
                    text: "I look.".into(),
                    opaque: Some(opaque(Protocol::OpenAiResponses, "a gateway", json!({"phase": "commentary"}))),
                },
                call("toolu_01A09q90qw90lq917835lq9", "read_file", r#"{"path":"a"}"#),
            ]),
            Message::results(vec![result("toolu_01A09q90qw90lq917835lq9", "read_file", vec![text("{}")], false)]),
            Message::assistant(vec![thinking("Only this", None)]),
            Message::user("And now?"),
        ],
    );
}

#[test]
fn models_get_the_fields_they_accept() {
    let field = |protocol, name: &str, field: &str| {
        let mut model = model(protocol);
        model.name = name.into();
        let turn = ModelTurn { model: &model, system: "", messages: &[Message::user("Hello")], tools: &[] };
        sent(&turn)["body"].get(field).cloned()
    };
    for (name, limit, other) in [("gpt-5.2", "max_completion_tokens", "max_tokens"), ("qwen3:30b", "max_tokens", "max_completion_tokens")] {
        assert_eq!(field(Protocol::OpenAi, name, limit), Some(json!(8192)), "{name}");
        assert_eq!(field(Protocol::OpenAi, name, other), None, "{name}");
    }
    for (name, include) in [("gpt-5.2", Some(json!(["reasoning.encrypted_content"]))), ("gpt-4.1", None)] {
        assert_eq!(field(Protocol::OpenAiResponses, name, "include"), include, "{name}");
    }
}

#[test]
fn model_without_reasoning_gets_none() {
    let mut model = model(Protocol::OpenAiResponses);
    model.name = "gpt-4.1".into();
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAB=="});
    let said = Message::assistant(vec![thinking("", opaque(Protocol::OpenAiResponses, "openai", reasoning)), Block::text("Hi.")]);
    let turn = ModelTurn { model: &model, system: "", messages: &[said], tools: &[] };
    assert_eq!(sent(&turn)["body"]["input"], json!([{"type": "message", "role": "assistant", "content": "Hi."}]));
}

#[test]
fn long_chat_ids_stay_unique_and_match_their_results() {
    let ids = ["a".repeat(41), "a".repeat(64), format!("{}b", "a".repeat(63)), "functions.read_file:0".into()];
    let calls = ids.iter().map(|id| call(id, "read_file", "{}")).collect();
    let results = ids.iter().map(|id| result(id, "read_file", vec![text("{}")], false)).collect();
    let model = model(Protocol::OpenAi);
    let turn = ModelTurn { model: &model, system: "", messages: &[Message::assistant(calls), Message::results(results)], tools: &[] };
    // `sent` asks for faults, so the ids are different, short enough and answered.
    assert_eq!(sent(&turn)["body"]["messages"][0]["tool_calls"][3]["id"], json!("functions.read_file:0"));
}
