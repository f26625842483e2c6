//! Replay for other servers of Chat Completions: reasoning, and ids in their own format.

use haft_provider::{Block, IdForm, Message, Model, ModelTurn, Protocol, StopReason};
use haft_testkit::request_faults;
use serde_json::{Value, json};

use crate::support::{adapter, call, decode, opaque, result, round, text, thinking};

const CHAT: Protocol = Protocol::OpenAi;

fn sent(model: &Model, messages: &[Message]) -> Vec<Value> {
    let body = adapter(CHAT).encode(&ModelTurn { model, system: "", messages, tools: &[] }).body;
    assert_eq!(request_faults("openai", "", &body), Vec::<String>::new());
    body["messages"].as_array().unwrap().clone()
}

/// The thoughts that each message of the model goes back with.
fn reasoning(model: &Model, messages: &[Message]) -> Vec<Value> {
    let sent = sent(model, messages);
    sent.iter().filter(|message| message["role"] == "assistant").map(|message| message["reasoning_content"].clone()).collect()
}

/// A call of this provider with its thoughts, in its own field.
fn thought_round(provider: &str, id: &str, thought: &str) -> Vec<Message> {
    let mut messages = round(id);
    messages[0].blocks.insert(0, thinking(thought, opaque(CHAT, provider, json!("reasoning_content"))));
    messages
}

#[test]
fn reasoning_goes_back_with_its_calls_to_its_provider() {
    let messages: Vec<Message> = [Message::user("go")]
        .into_iter()
        .chain(thought_round("deepseek", "1", "First a."))
        .chain(round("2"))
        .chain(thought_round("kimi", "3", "Then b."))
        .chain([Message::assistant(vec![thinking("Done?", opaque(CHAT, "deepseek", json!("reasoning_content"))), Block::text("Done.")])])
        .collect();
    let not_kept = json!("(not kept)");
    let there = |provider: &str, needs_reasoning| {
        let mut model = Model::new(provider, CHAT, "m");
        model.needs_reasoning = needs_reasoning;
        reasoning(&model, &messages)
    };
    let expected = [json!("First a."), not_kept.clone(), not_kept.clone(), Value::Null];
    assert_eq!(there("deepseek", false), expected, "a call without them would be refused");
    assert_eq!(there("kimi", false), [not_kept.clone(), not_kept.clone(), json!("Then b."), Value::Null]);
    assert_eq!(there("openai", false), [Value::Null, Value::Null, Value::Null, Value::Null], "nobody there asks for them");
    assert_eq!(there("moved-to", true), [not_kept.clone(), not_kept.clone(), not_kept, Value::Null]);
}

/// Reasoning is sent back in its own field, also if it is empty.
#[test]
fn reasoning_is_read_and_sent_back_verbatim() {
    let chunk = |delta: Value, finish: Value| {
        (String::new(), json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).to_string())
    };
    let asked = json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}]);
    for (thoughts, expected) in [
        (vec![json!({"reasoning_content": "Hm"}), json!({"reasoning_content": "m."})], json!("Hmm.")),
        (vec![json!({"reasoning_content": ""})], json!("")),
        (vec![json!({"reasoning_content": "", "reasoning": "Hm"})], Value::Null),
        (vec![json!({"reasoning": "Hm"})], Value::Null),
        (vec![json!({"reasoning_content": null})], Value::Null),
    ] {
        let mut events: Vec<_> = thoughts.iter().cloned().map(|delta| chunk(delta, Value::Null)).collect();
        events.push(chunk(json!({"tool_calls": asked}), json!("tool_calls")));
        let reply = decode(CHAT, &[], &events).1.unwrap();
        assert_eq!(reply.stop, StopReason::ToolCalls);
        let results = Message::results(vec![result("c1", "read_file", vec![text("{}")], false)]);
        let messages = [Message::user("go"), Message::assistant(reply.blocks), results];
        assert_eq!(reasoning(&crate::support::model(CHAT), &messages), [expected], "{thoughts:?}");
    }
}

#[test]
fn call_ids_have_the_format_of_the_model() {
    let ids = ["call_1", "aB3xK9mP2", "toolu_01A09q90qw90lq917835lq9", "with blanks in it", "call_2"];
    let calls = ids.iter().map(|id| call(id, "read_file", "{}")).collect();
    let results = ids.iter().map(|id| result(id, "read_file", vec![text("{}")], false)).collect();
    let mut model = Model::new("mistral", CHAT, "mistral-large-latest");
    model.id_form = IdForm::Nine;
    // `sent` asks for faults, so the ids are different and answered.
    let sent = sent(&model, &[Message::user("go"), Message::assistant(calls), Message::results(results)]);
    let written: Vec<&str> = sent[1]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert!(written.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{written:?}");
    assert_eq!(written[1], "aB3xK9mP2", "its own stay as they are");
}
