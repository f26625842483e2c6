//! What every protocol must get right on the wire: distinct ids, and results that stay what they are.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

use haft_provider::{
    Adapter, Anthropic, Block, Gemini, IdForm, Message, Model, ModelTurn, Opaque, OpenAiChat, OpenAiResponses, Protocol, ResultPart,
};
use serde_json::{Value, json};

fn protocols() -> Vec<(Protocol, Box<dyn Adapter>)> {
    vec![
        (Protocol::Anthropic, Box::new(Anthropic)),
        (Protocol::OpenAi, Box::new(OpenAiChat)),
        (Protocol::OpenAiResponses, Box::new(OpenAiResponses)),
        (Protocol::Gemini, Box::new(Gemini)),
    ]
}

/// A call with the id that the provider gave it.
fn call(protocol: Protocol, id: &str, number: u64) -> Block {
    let opaque = Some(Opaque { protocol, provider: "p".into(), value: json!({ "id": id }) }).filter(|_| protocol == Protocol::Gemini);
    Block::Call { id: id.into(), name: "talk".into(), arguments: json!({ "n": number }).to_string(), opaque }
}

fn result(id: &str, text: &str) -> Block {
    let content = vec![ResultPart::Text { text: text.into() }];
    Block::Result { id: id.into(), name: "talk".into(), content, is_error: false }
}

/// Every value of these keys, in order.
fn values<'v>(value: &'v Value, keys: &[&str], found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(key, member)| match member {
            Value::String(text) if keys.contains(&key.as_str()) => found.push(text),
            member => values(member, keys, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| values(item, keys, found)),
        _ => {}
    }
}

fn encoded(model: &Model, adapter: &dyn Adapter, messages: &[Message]) -> Value {
    adapter.encode(&ModelTurn { model, system: "", messages, tools: &[] }).body
}

#[test]
fn calls_with_one_id_have_distinct_ids_in_every_protocol() {
    for (protocol, adapter) in protocols() {
        for form in [IdForm::Any, IdForm::Nine] {
            let mut model = Model::new("p", protocol, "m");
            model.id_form = form;
            let messages = [
                Message::user("go"),
                Message::assistant(vec![call(protocol, "same", 1), call(protocol, "same", 2)]),
                Message::results(vec![result("same", "first"), result("same", "second")]),
                Message::assistant(vec![call(protocol, "same", 3)]),
                Message::results(vec![result("same", "third")]),
            ];
            let body = encoded(&model, &*adapter, &messages);
            let mut ids = Vec::new();
            values(&body, &["id", "call_id", "tool_call_id", "tool_use_id"], &mut ids);
            assert_eq!(ids.len(), 6, "{protocol}: {body:#}");
            let (one, two, three) = (ids[0], ids[1], ids[4]);
            assert!(one != two && two != three && one != three, "{protocol}: {ids:?}");
            assert_eq!(ids, [one, two, one, two, three, three], "{protocol}: each result has the id of its call");
        }
    }
}

#[test]
fn results_for_gemini_are_the_envelope_as_an_object() {
    let model = Model::new("p", Protocol::Gemini, "m");
    let success = r#"{"status":"success","result":"file contents here"}"#;
    let failure = r#"{"status":"error","error_type":"file_not_found","message":"File not found: a"}"#;
    for (text, response) in [
        (success, json!({"status": "success", "result": "file contents here"})),
        (failure, json!({"status": "error", "error_type": "file_not_found", "message": "File not found: a"})),
        ("[left out]", json!({"status": "success", "result": "[left out]"})),
        (r#"{"no":"envelope"}"#, json!({"status": "success", "result": r#"{"no":"envelope"}"#})),
    ] {
        let messages =
            [Message::user("go"), Message::assistant(vec![call(Protocol::Gemini, "a", 1)]), Message::results(vec![result("a", text)])];
        let body = encoded(&model, &Gemini, &messages);
        assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["response"], response);
    }
}

#[test]
fn pictures_leave_the_envelope_valid_json_on_chat_completions() {
    let model = Model::new("p", Protocol::OpenAi, "m");
    let envelope = r#"{"status":"success","result":"a picture {1}"}"#;
    for (texts, content) in [
        (vec![envelope], r#"{"status":"success","result":"a picture {1}","images":"1 in the next message"}"#),
        (vec!["{}"], r#"{"images":"1 in the next message"}"#),
        (vec!["no envelope"], "no envelope\n[images: 1 in the next message]"),
        (vec![], "[images: 1 in the next message]"),
    ] {
        let mut parts: Vec<ResultPart> = texts.iter().map(|text| ResultPart::Text { text: (*text).into() }).collect();
        parts.push(ResultPart::Image { mime: "image/png".into(), data: "AAAA".into() });
        let result = Block::Result { id: "a".into(), name: "talk".into(), content: parts, is_error: false };
        let messages = [Message::user("go"), Message::assistant(vec![call(Protocol::OpenAi, "a", 1)]), Message::results(vec![result])];
        let body = encoded(&model, &OpenAiChat, &messages);
        assert_eq!(body["messages"][2]["content"], content);
        assert_eq!(body["messages"][3]["content"][1]["type"], "image_url");
    }
}
