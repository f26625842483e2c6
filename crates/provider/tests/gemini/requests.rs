//! Encoding of requests.

use haft_provider::{Adapter, Block, Gemini, Message, Model, ModelTurn, Protocol, ResultPart};
use serde_json::{Value, json};

use crate::conversations::random::HERE;
use crate::conversations::*;
use crate::{faults, legacy, model, older, own};

/// Two steps of one turn, with signatures of this provider; before them a turn of another one.
fn signatures() -> Vec<Message> {
    let elsewhere = opaque(Protocol::Gemini, "elsewhere", json!({"id": "fc_0", "thoughtSignature": "eA=="}));
    let first = with_opaque(call("fc_1", "read_file", r#"{"path":"a"}"#), own(json!({"id": "fc_1", "thoughtSignature": "QUJD//77"})));
    let beside = with_opaque(call("call_2", "read_file", r#"{"path":"b"}"#), own(json!({"id": null})));
    let second = with_opaque(call("call_3", "get_current_time", "{}"), own(json!({"id": null, "thoughtSignature": "REVG"})));
    vec![
        Message::user("Earlier"),
        Message::assistant(vec![with_opaque(call("fc_0", "get_current_time", ""), elsewhere)]),
        Message::results(vec![result("fc_0", "get_current_time", vec![text("11:00")], false)]),
        Message::assistant(vec![
            with_opaque(Block::text("Eleven."), own(json!({"thoughtSignature": "R0hJ"}))),
            with_opaque(Block::text(""), own(json!({"thoughtSignature": "SktM"}))),
        ]),
        Message::user("Read both, then the time"),
        Message::assistant(vec![thinking("hm", None), thinking("signed", Some(own(json!({"thoughtSignature": "TU5P"})))), first, beside]),
        // In the wrong order.
        Message::results(vec![
            result("call_2", "read_file", vec![text("B")], false),
            result("fc_1", "read_file", vec![text("A"), text("more")], false),
        ]),
        Message::assistant(vec![second]),
        Message::results(vec![result("call_3", "get_current_time", vec![], false)]),
    ]
}

#[test]
fn requests_match_golden_files() {
    let mut small = model();
    (small.max_tools, small.max_output) = (1, 64_000);
    let cases = [
        ("tools_and_text", model(), a_text_turn()),
        ("cap", small, a_text_turn()),
        ("legacy_tools", legacy(), a_text_turn()),
        ("parallel_calls", model(), parallel_calls()),
        ("parallel_calls_older", older(), parallel_calls()),
        ("parallel_calls_legacy", legacy(), parallel_calls()),
        ("signatures", model(), signatures()),
        ("moved_in", model(), moved_in()),
        ("picture", model(), a_picture()),
    ];
    for (name, model, messages) in cases {
        let golden = golden(&Gemini, &model, &messages);
        assert_eq!(faults(&model, &golden["body"]), Vec::<String>::new(), "{name}");
        insta::assert_json_snapshot!(name, golden);
    }
}

/// A result accepts fewer image types than a prompt: the others follow it.
#[test]
fn images_go_where_their_type_is_accepted() {
    let picture = |mime: &str| ResultPart::Image { mime: mime.into(), data: PNG.into() };
    let inline = |mime: &str| json!({"inlineData": {"mimeType": mime, "data": PNG}});
    let content = ["image/heic", "image/webp", "image/heif"].map(picture).to_vec();
    let messages = [
        Message::user("Look"),
        Message::assistant(vec![call("a", "read_file", "")]),
        Message::results(vec![result("a", "read_file", content, false)]),
    ];
    let golden = golden(&Gemini, &model(), &messages);
    assert_eq!(faults(&model(), &golden["body"]), Vec::<String>::new());
    assert_eq!(golden["body"]["contents"][2]["parts"][0]["functionResponse"]["parts"], json!([inline("image/webp")]));
    let behind = json!([{"text": "From the result of read_file:"}, inline("image/heic"), inline("image/heif")]);
    assert_eq!(golden["body"]["contents"][3], json!({"role": "user", "parts": behind}));
}

#[test]
fn model_name_is_in_the_path() {
    let cases = [
        ("gemini-3-pro", "/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        ("models/gemini-3-pro", "/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        ("tunedModels/mine", "/tunedModels/mine:streamGenerateContent?alt=sse"),
        ("a/b?c#ü", "/models/a%2Fb%3Fc%23%C3%BC:streamGenerateContent?alt=sse"),
        ("models/../x", "/models/..%2Fx:streamGenerateContent?alt=sse"),
    ];
    for (name, path) in cases {
        let model = Model::new(HERE, Protocol::Gemini, name);
        let encoded = Gemini.encode(&ModelTurn { model: &model, system: "", messages: &[], tools: &[] });
        assert_eq!(encoded.path, path);
    }
}

#[test]
fn decoded_blocks_encode_verbatim() {
    let events = events(include_str!("../streams/gemini/thoughts_and_two_calls.sse"));
    let reply = play(&Gemini, &model(), &[], &events).1.unwrap();
    let ours = reply.blocks.iter().filter_map(Block::call_id).nth(1).unwrap().to_owned();
    let results =
        vec![result("fc_1", "read_file", vec![text("read me")], false), result(&ours, "get_current_time", vec![text("12:00")], false)];
    let messages = [Message::user("Both"), Message::assistant(reply.blocks), Message::results(results)];
    let contents = &golden(&Gemini, &model(), &messages)["body"]["contents"];
    let expected = json!([
        {"role": "user", "parts": [{"text": "Both"}]},
        {"role": "model", "parts": [
            {"text": "I look at both."},
            {
                "functionCall": {"name": "read_file", "args": {"path": "README.md", "lines": [1, 2]}, "id": "fc_1"},
                "thoughtSignature": "CiQBjz1rX8f+/w==",
            },
            {"functionCall": {"name": "get_current_time", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read_file", "response": {"status": "success", "result": "read me"}, "id": "fc_1"}},
            {"functionResponse": {"name": "get_current_time", "response": {"status": "success", "result": "12:00"}}},
        ]},
    ]);
    assert_eq!(*contents, expected);
}

#[test]
fn call_of_another_model_gets_the_documented_placeholder_signature() {
    let messages = [
        Message::user("Earlier"),
        Message::assistant(vec![call("a", "x", "")]),
        Message::results(vec![result("a", "x", vec![], false)]),
        Message::assistant(vec![Block::text("Done.")]),
        Message::user("Now"),
        Message::assistant(vec![call("b", "x", ""), call("c", "x", "")]),
        Message::results(vec![result("b", "x", vec![], false), result("c", "x", vec![], false)]),
    ];
    let placeholder = json!("skip_thought_signature_validator");
    let cases = [
        ("gemini-3-pro-preview", placeholder.clone()),
        ("gemini-flash-latest", placeholder),
        ("gemini-2.5-flash", Value::Null),
        ("mine", Value::Null),
    ];
    for (name, expected) in cases {
        let model = Model::new(HERE, Protocol::Gemini, name);
        let contents = golden(&Gemini, &model, &messages)["body"]["contents"].clone();
        let signatures =
            [&contents[1]["parts"][0], &contents[5]["parts"][0], &contents[5]["parts"][1]].map(|part| part["thoughtSignature"].clone());
        assert_eq!(signatures, [Value::Null, expected, Value::Null], "{name}");
    }
}
