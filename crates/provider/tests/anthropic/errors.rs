//! What is refused, by the provider and before it.

use haft_provider::{Adapter, Anthropic, Trouble};
use serde_json::{Value, json};

use crate::conversations::play;
use crate::model;

#[test]
fn errors_in_a_stream_say_what_they_are() {
    let cases = [
        ("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Trouble::Server),
        ("error", r#"{"type":"error","error":{"type":"api_error","message":"Internal"}}"#, Trouble::Server),
        ("error", r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}"#, Trouble::RateLimited),
        ("error", r#"{"type":"error","error":{"type":"timeout_error","message":"Slow"}}"#, Trouble::Timeout),
        ("error", r#"{"type":"error","error":{"type":"unheard_of","message":"?"}}"#, Trouble::Server),
        ("", r#"{"error":{"message":"a gateway's own words"}}"#, Trouble::Server),
        ("content_block_delta", "{\"type\":\"content_bl", Trouble::Malformed),
        ("message_start", "<html>", Trouble::Malformed),
    ];
    for (name, data, trouble) in cases {
        let error = play(&Anthropic, &model(), &[], &[(name.into(), data.into())]).1.unwrap_err();
        assert_eq!((error.trouble, error.status), (trouble, None), "{data}: {error}");
    }
}

#[test]
fn refusals_are_told_apart() {
    let body = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).to_string()
    };
    let cases = [
        (401, body("authentication_error", "invalid x-api-key"), Trouble::Key),
        (402, body("billing_error", "pay"), Trouble::Key),
        (403, body("permission_error", "no"), Trouble::Key),
        (404, body("not_found_error", "model: claude-9"), Trouble::NotFound),
        (413, body("request_too_large", "Request exceeds the maximum size"), Trouble::TooLong),
        (400, body("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"), Trouble::TooLong),
        (400, body("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), Trouble::Key),
        (400, body("invalid_request_error", "messages: text content blocks must be non-empty"), Trouble::BadRequest),
        (429, body("rate_limit_error", "This request would exceed your rate limit"), Trouble::RateLimited),
        (500, body("api_error", "Internal server error"), Trouble::Server),
        (529, body("overloaded_error", "Overloaded"), Trouble::Server),
        (502, "<html>Bad Gateway</html>".to_owned(), Trouble::Server),
        (408, String::new(), Trouble::Timeout),
        (409, "[]".to_owned(), Trouble::Server),
        (418, body("new_kind", "teapot"), Trouble::BadRequest),
    ];
    for (status, body, trouble) in cases {
        let error = Anthropic.refusal(status, body.as_bytes());
        assert_eq!((error.trouble, error.status), (trouble, Some(status)), "{body}");
    }
    let error = Anthropic.refusal(401, body("authentication_error", "invalid x-api-key").as_bytes());
    assert_eq!(error.message, "The provider does not accept the key: invalid x-api-key. Check the key, its rights and its account.");
    assert!(Anthropic.refusal(500, &b"long words ".repeat(90_000)).message.len() < 500);
}

#[test]
fn faults_are_found() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let assistant = |content: Value| json!({"role": "assistant", "content": content});
    let text = json!({"type": "text", "text": "hi"});
    let asked = json!({"type": "tool_use", "id": "a", "name": "x", "input": {}});
    let answer = json!({"type": "tool_result", "tool_use_id": "a"});
    let failed = json!({"type": "tool_result", "tool_use_id": "a", "is_error": true});
    let misnamed = json!({"type": "tool_use", "id": "a", "name": "x y", "input": "no"});
    let cases = [
        (json!([]), "there are no messages"),
        (json!([assistant(json!([text]))]), "message 0 should be of the user"),
        (json!([user(json!([text])), user(json!([text]))]), "message 1 should be of the assistant"),
        (json!([user(json!([]))]), "message 0 is empty"),
        (json!([user(json!([{"type": "text", "text": " "}]))]), "message 0: a text is blank"),
        (json!([user(json!([asked]))]), "message 0: a block of type 'tool_use' cannot stand in a message of the user"),
        (json!([user(json!([text])), assistant(json!([asked]))]), "the calls [\"a\"] have no results"),
        (
            json!([user(json!([text])), assistant(json!([asked])), user(json!([text]))]),
            "message 2: there are results for [], and calls [\"a\"]",
        ),
        (
            json!([user(json!([text])), assistant(json!([asked])), user(json!([text, answer]))]),
            "message 2: a tool_result stands behind something else",
        ),
        (json!([user(json!([answer]))]), "message 0: there are results for [\"a\"], and calls []"),
        (
            json!([user(json!([text])), assistant(json!([asked])), user(json!([failed]))]),
            "message 2: the failed result 'a' must hold text, and text alone",
        ),
        (
            json!([user(json!([text])), assistant(json!([misnamed])), user(json!([answer]))]),
            "message 1: the tool name 'x y' does not fit ^[a-zA-Z0-9_-]{1,64}$",
        ),
        (
            json!([
                user(json!([text])),
                assistant(json!([asked])),
                user(json!([answer])),
                assistant(json!([asked])),
                user(json!([answer]))
            ]),
            "message 3: the id 'a' is there twice",
        ),
        (
            json!([user(json!([text])), assistant(json!([{"type": "thinking", "thinking": "x"}]))]),
            "message 1: a thinking block has no signature",
        ),
    ];
    for (messages, expected) in cases {
        let faults = Anthropic.faults(&json!({"max_tokens": 1, "messages": messages}));
        assert!(faults.iter().any(|fault| fault == expected), "{expected}\n{faults:#?}");
    }
    let tool = json!({"name": "a b", "input_schema": {"type": "string"}, "cache_control": {}});
    let many = json!({"tools": [tool, tool, tool, tool, tool], "messages": [user(json!([text]))]});
    let faults = Anthropic.faults(&many);
    assert_eq!(faults.len(), 5 + 4 + 5 + 1 + 1, "{faults:#?}");
}
