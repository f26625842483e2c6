//! What is refused, by the provider and before it.

use std::time::Duration;

use haft_provider::{Adapter, Gemini, Trouble};
use serde_json::{Value, json};

use crate::conversations::{Events, play};
use crate::{faults, model, stop};

#[test]
fn errors_in_a_stream_say_what_they_are() {
    let cases = [
        (r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#, Trouble::Server, Some(503)),
        (r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#, Trouble::RateLimited, Some(429)),
        (r#"{"error":{"message":"?"}}"#, Trouble::Server, Some(500)),
        (r#"{"error":{"code":"busy","message":"?"}}"#, Trouble::Server, Some(500)),
        (r#"{"candidates":[{"content"#, Trouble::Malformed, None),
        ("<html>", Trouble::Malformed, None),
    ];
    for (data, trouble, status) in cases {
        let error = play(&Gemini, &model(), &[], &[(String::new(), data.into())]).1.unwrap_err();
        assert_eq!((error.trouble, error.status), (trouble, status), "{data}: {error}");
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
fn refusals_are_told_apart() {
    let body = |code: u16, status: &str, message: &str, details: Value| {
        json!({"error": {"code": code, "message": message, "status": status, "details": details}}).to_string()
    };
    let key = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
    let delay = json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]);
    let too_long = "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).";
    let cases = [
        (400, body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", key), Trouble::Key, None),
        (400, body(400, "INVALID_ARGUMENT", too_long, json!([])), Trouble::TooLong, None),
        (400, body(400, "INVALID_ARGUMENT", "Invalid JSON payload received.", json!([])), Trouble::BadRequest, None),
        (400, body(400, "FAILED_PRECONDITION", "User location is not supported.", json!([])), Trouble::BadRequest, None),
        (401, body(401, "UNAUTHENTICATED", "no", json!([])), Trouble::Key, None),
        (403, body(403, "PERMISSION_DENIED", "no", json!([])), Trouble::Key, None),
        (404, body(404, "NOT_FOUND", "models/x is not found", json!([])), Trouble::NotFound, None),
        (429, body(429, "RESOURCE_EXHAUSTED", "quota", delay), Trouble::RateLimited, Some(Duration::from_millis(34_500))),
        (429, format!("[{}]", body(429, "RESOURCE_EXHAUSTED", "quota", json!([{"retryDelay": "soon"}]))), Trouble::RateLimited, None),
        (500, body(500, "INTERNAL", "An internal error has occurred.", json!([])), Trouble::Server, None),
        (503, body(503, "UNAVAILABLE", "The model is overloaded.", json!([])), Trouble::Server, None),
        (504, body(504, "DEADLINE_EXCEEDED", "slow", json!([])), Trouble::Timeout, None),
        (502, "<html>Bad Gateway</html>".to_owned(), Trouble::Server, None),
        (413, String::new(), Trouble::TooLong, None),
    ];
    for (status, body, trouble, wait) in cases {
        let error = Gemini.refusal(status, body.as_bytes());
        assert_eq!((error.trouble, error.status, error.retry_after), (trouble, Some(status), wait), "{body}");
    }
    let error = Gemini.refusal(404, body(404, "NOT_FOUND", "models/x is not found.", json!([])).as_bytes());
    let expected = "The provider has no such model or address: models/x is not found. Check the model's name and the provider's base_url.";
    assert_eq!(error.message, expected);
    let of_a_gateway = json!({"error": {"code": "slow_down", "message": "too fast", "type": "rate_limit_error"}}).to_string();
    let error = Gemini.refusal(429, of_a_gateway.as_bytes());
    assert_eq!((error.trouble, error.message.contains("requests: too fast.")), (Trouble::RateLimited, true), "{error}");
}

#[test]
fn faults_are_found() {
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
        (json!([user(json!([asked("x")]))]), "content 0: a part with [\"functionCall\"] cannot stand in a content of the role 'user'"),
        (
            json!([user(json!([{"text": "a", "inlineData": {}}]))]),
            "content 0: a part with [\"text\", \"inlineData\"] cannot stand in a content of the role 'user'",
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
            "content 2: calls do not stand right behind the user or a result",
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
