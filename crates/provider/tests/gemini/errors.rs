//! Errors of the provider, and faults of requests.

use std::time::Duration;

use haft_provider::{Adapter, Gemini, ProviderErrorKind};
use serde_json::{Value, json};

use crate::conversations::{Events, play};
use crate::{faults, model, stop};

#[test]
fn stream_errors_are_classified() {
    let cases = [
        (r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#, ProviderErrorKind::Server, Some(503)),
        (r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#, ProviderErrorKind::RateLimited, Some(429)),
        (r#"{"error":{"message":"?"}}"#, ProviderErrorKind::Server, Some(500)),
        (r#"{"error":{"code":"busy","message":"?"}}"#, ProviderErrorKind::Server, Some(500)),
        (r#"{"candidates":[{"content"#, ProviderErrorKind::Malformed, None),
        ("<html>", ProviderErrorKind::Malformed, None),
    ];
    for (data, kind, status) in cases {
        let error = play(&Gemini, &model(), &[], &[(String::new(), data.into())]).1.unwrap_err();
        assert_eq!((error.kind, error.status), (kind, status), "{data}: {error}");
    }
    let harmless = [
        "",
        "[DONE]",
        "{}",
        r#"{"candidates":[]}"#,
        r#"{"candidates":null,"newField":1}"#,
        r#"{"candidates":[{"content":{"role":"model"}}]}"#,
    ];
    let mut events: Events = harmless.iter().map(|data| (String::new(), (*data).to_owned())).collect();
    events.push(stop("STOP"));
    assert_eq!(play(&Gemini, &model(), &[], &events).1.unwrap().blocks, []);
}

#[test]
fn error_responses_are_classified() {
    let body = |code: u16, status: &str, message: &str, details: Value| {
        json!({"error": {"code": code, "message": message, "status": status, "details": details}}).to_string()
    };
    let key = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
    let delay = json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]);
    let too_long = "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).";
    let cases = [
        (400, body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", key), ProviderErrorKind::Key, None),
        (400, body(400, "INVALID_ARGUMENT", too_long, json!([])), ProviderErrorKind::TooLong, None),
        (400, body(400, "INVALID_ARGUMENT", "Invalid JSON payload received.", json!([])), ProviderErrorKind::BadRequest, None),
        (400, body(400, "FAILED_PRECONDITION", "User location is not supported.", json!([])), ProviderErrorKind::BadRequest, None),
        (401, body(401, "UNAUTHENTICATED", "no", json!([])), ProviderErrorKind::Key, None),
        (403, body(403, "PERMISSION_DENIED", "no", json!([])), ProviderErrorKind::Key, None),
        (404, body(404, "NOT_FOUND", "models/x is not found", json!([])), ProviderErrorKind::NotFound, None),
        (429, body(429, "RESOURCE_EXHAUSTED", "quota", delay), ProviderErrorKind::RateLimited, Some(Duration::from_millis(34_500))),
        (
            429,
            format!("[{}]", body(429, "RESOURCE_EXHAUSTED", "quota", json!([{"retryDelay": "soon"}]))),
            ProviderErrorKind::RateLimited,
            None,
        ),
        (500, body(500, "INTERNAL", "An internal error has occurred.", json!([])), ProviderErrorKind::Server, None),
        (503, body(503, "UNAVAILABLE", "The model is overloaded.", json!([])), ProviderErrorKind::Server, None),
        (504, body(504, "DEADLINE_EXCEEDED", "slow", json!([])), ProviderErrorKind::Timeout, None),
        (502, "<html>Bad Gateway</html>".to_owned(), ProviderErrorKind::Server, None),
        (413, String::new(), ProviderErrorKind::TooLong, None),
    ];
    for (status, body, kind, wait) in cases {
        let error = Gemini.refusal(status, body.as_bytes());
        assert_eq!((error.kind, error.status, error.retry_after), (kind, Some(status), wait), "{body}");
    }
    let error = Gemini.refusal(404, body(404, "NOT_FOUND", "models/x is not found.", json!([])).as_bytes());
    let expected = "The provider has no such model or address: models/x is not found. Check the model's name and the provider's base_url.";
    assert_eq!(error.message, expected);
    let of_a_gateway = json!({"error": {"code": "slow_down", "message": "too fast", "type": "rate_limit_error"}}).to_string();
    let error = Gemini.refusal(429, of_a_gateway.as_bytes());
    assert_eq!((error.kind, error.message.contains("requests: too fast.")), (ProviderErrorKind::RateLimited, true), "{error}");
}

#[test]
fn request_faults_are_reported() {
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let said = |parts: Value| json!({"role": "model", "parts": parts});
    let text = json!({"text": "hi"});
    let asked = |name: &str| json!({"functionCall": {"name": name, "args": {}}, "thoughtSignature": "c2ln"});
    let answer = |name: &str| json!({"functionResponse": {"name": name, "response": {}}});
    let with_picture = |mime: &str| {
        let picture = json!({"inlineData": {"mimeType": mime, "data": ""}});
        json!({"functionResponse": {"name": "x", "response": {}, "parts": [picture]}})
    };
    let with_id = json!({"functionCall": {"id": "1", "name": "x", "args": {}}, "thoughtSignature": "c2ln"});
    let cases = [
        (json!([]), "the conversation does not begin with the user"),
        (json!([said(json!([text]))]), "the conversation does not begin with the user"),
        (json!([user(json!([]))]), "content 0 has no parts"),
        (json!([user(json!([{"text": ""}]))]), "content 0: a text is empty"),
        (json!([user(json!([asked("x")]))]), "content 0: a part with [\"functionCall\"] is not allowed in a content of the role 'user'"),
        (
            json!([user(json!([{"text": "a", "inlineData": {}}]))]),
            "content 0: a part with [\"text\", \"inlineData\"] is not allowed in a content of the role 'user'",
        ),
        (
            json!([user(json!([{"inlineData": {"mimeType": "image/gif", "data": ""}}]))]),
            "content 0: a picture of the type 'image/gif' is not taken here",
        ),
        (
            json!([user(json!([text])), said(json!([asked("x")])), user(json!([with_picture("image/heic")]))]),
            "content 2: a picture of the type 'image/heic' is not taken here",
        ),
        (json!([user(json!([text])), said(json!([asked("x")]))]), "1 calls at the end have no results"),
        (
            json!([user(json!([text])), said(json!([asked("x"), asked("x")])), user(json!([answer("x")]))]),
            "content 2: there are 1 responses to 2 calls",
        ),
        (
            json!([user(json!([text])), said(json!([asked("x"), asked("y")])), user(json!([answer("y"), answer("x")]))]),
            "content 2: the response \"y\" null answers the call \"x\" null",
        ),
        (
            json!([user(json!([text])), said(json!([with_id])), user(json!([answer("x")]))]),
            "content 2: the response \"x\" null answers the call \"x\" \"1\"",
        ),
        (json!([user(json!([answer("x")]))]), "content 0: there are 1 responses to 0 calls"),
        (
            json!([user(json!([text])), said(json!([text])), said(json!([asked("x")])), user(json!([answer("x")]))]),
            "content 2: calls do not follow the user or a result",
        ),
        (
            json!([user(json!([text])), said(json!([asked("9x")])), user(json!([answer("9x")]))]),
            "content 1: the name '9x' does not fit ^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$",
        ),
        (
            json!([user(json!([text])), said(json!([{"functionCall": {"name": "x", "args": {}}}])), user(json!([answer("x")]))]),
            "content 1: the first call has no thoughtSignature",
        ),
    ];
    for (contents, expected) in cases {
        let faults = faults(&model(), &json!({ "contents": contents }));
        assert!(faults.iter().any(|fault| fault == expected), "{expected}\n{faults:#?}");
    }
    let both = json!({"name": "x", "parameters": {"type": "STRING"}, "parametersJsonSchema": {"type": "object"}});
    let declared = json!({"contents": [user(json!([text]))], "tools": [{"functionDeclarations": [both, both, {"name": "a b"}]}]});
    let expected = [
        "'x' has both parameters and parametersJsonSchema",
        "the parameters of 'x' are not of type object",
        "the tool 'x' is there twice",
        "'x' has both parameters and parametersJsonSchema",
        "the parameters of 'x' are not of type object",
        "the name 'a b' does not fit ^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$",
    ];
    assert_eq!(faults(&model(), &declared), expected);
}
