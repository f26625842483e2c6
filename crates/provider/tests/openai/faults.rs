//! Faults of requests to OpenAI.

use haft_provider::{Message, ModelTurn, Protocol};
use haft_testkit::request_faults;
use serde_json::{Value, json};

use crate::support::{adapter, model, round, tools};

/// A request with a call and its result, without fault.
fn good(protocol: Protocol) -> Value {
    let (model, tools) = (model(protocol), tools());
    let mut messages = vec![Message::user("Look")];
    messages.extend(round("call_1"));
    let body = adapter(protocol).encode(&ModelTurn { model: &model, system: "", messages: &messages, tools: &tools }).body;
    assert_eq!(request_faults(protocol.as_str(), "", &body), Vec::<String>::new());
    body
}

/// Puts a value into a good request and asks what is wrong.
fn faults_with(protocol: Protocol, pointer: &str, value: &Value) -> String {
    let mut body = good(protocol);
    *body.pointer_mut(pointer).unwrap() = value.clone();
    request_faults(protocol.as_str(), "", &body).join(" | ")
}

#[test]
fn chat() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": "{}"}});
    for (pointer, value, fault) in [
        ("/messages", json!([]), "messages: a list of at least one is expected"),
        ("/messages/0/role", json!("robot"), "messages[0]: the role 'robot' is unknown"),
        ("/messages/0/content", json!([]), "messages[0]: content: a text or a list of parts is expected"),
        ("/messages/0/content", json!([{"type": "audio"}]), "messages[0]: content: a text or a list of parts is expected"),
        (
            "/messages/1/tool_calls",
            json!([]),
            "messages[1]: tool_calls: a list of at least one is expected, and of the assistant alone | messages[2]: no call 'call_1' right before it waits for this result",
        ),
        ("/messages/1/tool_calls", json!([call("call_1"), call("call_2")]), "these calls have no result right behind them: call_2"),
        (
            "/messages/1/tool_calls",
            json!([call("call_1"), call("call_1")]),
            "messages[1]: tool_calls: the id 'call_1' is used twice or does not fit",
        ),
        ("/messages/1/tool_calls/0/function/name", json!("no spaces"), "messages[1]: tool_calls: the name 'no spaces' does not fit"),
        ("/messages/1/tool_calls/0/function/name", json!(""), "messages[1]: tool_calls: the name '' does not fit"),
        ("/messages/1/tool_calls/0/function/arguments", json!({}), "messages[1]: tool_calls: arguments: a text is expected"),
        ("/messages/1/tool_calls/0/function/arguments", json!("{"), "messages[1]: tool_calls: arguments: '{' is not an object"),
        (
            "/messages/2/tool_call_id",
            json!("other"),
            "messages[2]: no call 'other' right before it waits for this result | these calls have no result right behind them: call_1",
        ),
        ("/messages/2/content", json!([{"type": "image_url"}]), "messages[2]: content: a text is expected"),
        ("/messages/2", json!({"role": "user", "content": "no"}), "messages[2]: these calls have no result right behind them: call_1"),
        ("/tools", json!([]), "tools: a list of 1 to 128 is expected"),
        ("/tools", vec![good(Protocol::OpenAi)["tools"][0].clone(); 129].into(), "tools: a list of 1 to 128 is expected"),
        ("/tools/1", good(Protocol::OpenAi)["tools"][0].clone(), "tools[1]: the name 'read_file' is used twice or does not fit"),
        ("/tools/0/function/parameters", json!({"type": "string"}), "tools[0]: the parameters are not an object's"),
    ] {
        assert_eq!(faults_with(Protocol::OpenAi, pointer, &value), fault, "{pointer} {value}");
    }
}

#[test]
fn responses() {
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    for (pointer, value, fault) in [
        ("/input", json!([]), "input: a list of at least one item is expected"),
        ("/input/0/role", json!("robot"), "input[0]: the role is unknown"),
        ("/input/0/content", json!([]), "input[0]: content: a text or a list of parts is expected"),
        ("/input/0/type", json!("novel"), "input[0]: the type 'novel' is unknown"),
        (
            "/input/1/call_id",
            json!(""),
            "input[1]: the id '' is used twice or does not fit | input[2]: no call 'call_1' before it waits for this result | the call '' has no result",
        ),
        ("/input/1/arguments", json!("["), "input[1]: arguments: '[' is not an object"),
        ("/input/1/name", json!("a.b"), "input[1]: the name 'a.b' does not fit"),
        ("/input/2/output", json!([]), "input[2]: output: a text or a list of parts is expected"),
        ("/input/2", json!({"type": "message", "role": "user", "content": "no"}), "the call 'call_1' has no result"),
        (
            "/input/2",
            thought.clone(),
            "input[2]: a thought needs the item that it led to right behind it | the call 'call_1' has no result",
        ),
        ("/input/0", thought, ""),
        (
            "/input/0",
            json!({"type": "reasoning", "id": "rs_1", "summary": []}),
            "input[0]: a thought needs its id, its summary and its encrypted content: nothing is stored",
        ),
        ("/tools/0/strict", json!(null), "tools: 'strict' must be said"),
    ] {
        assert_eq!(faults_with(Protocol::OpenAiResponses, pointer, &value), fault, "{pointer} {value}");
    }
}
