//! Errors of the provider, and faults of requests.

use haft_provider::{Adapter, Anthropic, ProviderErrorKind};
use haft_testkit::request_faults;
use serde_json::{Value, json};

use crate::conversations::play;
use crate::model;

#[test]
fn stream_errors_are_classified() {
    let cases = [
        ("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, ProviderErrorKind::Server),
        ("error", r#"{"type":"error","error":{"type":"api_error","message":"Internal"}}"#, ProviderErrorKind::Server),
        ("error", r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}"#, ProviderErrorKind::RateLimited),
        ("error", r#"{"type":"error","error":{"type":"timeout_error","message":"Slow"}}"#, ProviderErrorKind::Timeout),
        ("error", r#"{"type":"error","error":{"type":"unheard_of","message":"?"}}"#, ProviderErrorKind::Server),
        ("", r#"{"error":{"message":"a gateway's own words"}}"#, ProviderErrorKind::Server),
        ("content_block_delta", "{\"type\":\"content_bl", ProviderErrorKind::Malformed),
        ("message_start", "<html>", ProviderErrorKind::Malformed),
    ];
    for (name, data, kind) in cases {
        let error = play(&Anthropic, &model(), &[], &[(name.into(), data.into())]).1.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, None), "{data}: {error}");
    }
}

#[test]
fn error_responses_are_classified() {
    let body = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}).to_string()
    };
    let cases = [
        (401, body("authentication_error", "invalid x-api-key"), ProviderErrorKind::Key),
        (402, body("billing_error", "pay"), ProviderErrorKind::Key),
        (403, body("permission_error", "no"), ProviderErrorKind::Key),
        (404, body("not_found_error", "model: claude-9"), ProviderErrorKind::NotFound),
        (413, body("request_too_large", "Request exceeds the maximum size"), ProviderErrorKind::TooLong),
        (400, body("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"), ProviderErrorKind::TooLong),
        (400, body("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), ProviderErrorKind::Key),
        (400, body("invalid_request_error", "messages: text content blocks must be non-empty"), ProviderErrorKind::BadRequest),
        (429, body("rate_limit_error", "This request would exceed your rate limit"), ProviderErrorKind::RateLimited),
        (500, body("api_error", "Internal server error"), ProviderErrorKind::Server),
        (529, body("overloaded_error", "Overloaded"), ProviderErrorKind::Server),
        (502, "<html>Bad Gateway</html>".to_owned(), ProviderErrorKind::Server),
        (408, String::new(), ProviderErrorKind::Timeout),
        (409, "[]".to_owned(), ProviderErrorKind::Server),
        (418, body("new_kind", "teapot"), ProviderErrorKind::BadRequest),
    ];
    for (status, body, kind) in cases {
        let error = Anthropic.refusal(status, body.as_bytes());
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{body}");
    }
    let error = Anthropic.refusal(401, body("authentication_error", "invalid x-api-key").as_bytes());
    assert_eq!(error.message, "The provider does not accept the key: invalid x-api-key. Check the key, its rights and its account.");
    assert!(Anthropic.refusal(500, &b"long words ".repeat(90_000)).message.len() < 500);
}

#[test]
fn request_faults_are_reported() {
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
        (json!([user(json!([asked]))]), "message 0: a block of type 'tool_use' is not allowed in a message of the user"),
        (json!([user(json!([text])), assistant(json!([asked]))]), "the calls [\"a\"] have no results"),
        (
            json!([user(json!([text])), assistant(json!([asked])), user(json!([text]))]),
            "message 2: there are results for [], and calls [\"a\"]",
        ),
        (
            json!([user(json!([text])), assistant(json!([asked])), user(json!([text, answer]))]),
            "message 2: a tool_result follows something else",
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
        let faults = request_faults("anthropic", "", &json!({"max_tokens": 1, "messages": messages}));
        assert!(faults.iter().any(|fault| fault == expected), "{expected}\n{faults:#?}");
    }
    let tool = json!({"name": "a b", "input_schema": {"type": "string"}, "cache_control": {}});
    let many = json!({"tools": [tool, tool, tool, tool, tool], "messages": [user(json!([text]))]});
    let faults = request_faults("anthropic", "", &many);
    assert_eq!(faults.len(), 5 + 4 + 5 + 1 + 1, "{faults:#?}");
}
