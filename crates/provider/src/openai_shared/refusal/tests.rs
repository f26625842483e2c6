use serde_json::json;

use super::*;

#[test]
fn statuses_and_body_shapes_map_to_errors() {
    let quota = r#"{"error":{"message":"You exceeded your quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let long = r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#;
    let key = r#"{"error":{"message":"Incorrect API key provided: sk-proj-0123456789abcdef.","code":"invalid_api_key"}}"#;
    let page = "<!DOCTYPE html><html><title>502</title></html>";
    let without_quota = "no quota is left, so trying again does not help (You exceeded your quota)";
    for (status, body, kind, said) in [
        (401, key, ProviderErrorKind::Key, "Incorrect API key provided: [key]"),
        (403, "", ProviderErrorKind::Key, ""),
        (402, r#"{"error":"Insufficient balance"}"#, ProviderErrorKind::Key, "Insufficient balance"),
        (404, r#"{"error":{"message":"No model `x`","code":"model_not_found"}}"#, ProviderErrorKind::NotFound, "No model `x`"),
        (413, "too big", ProviderErrorKind::TooLong, "too big"),
        (400, long, ProviderErrorKind::TooLong, "This model's maximum context length is 8192 tokens"),
        (429, r#"{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}"#, ProviderErrorKind::RateLimited, "Slow down"),
        (429, quota, ProviderErrorKind::RateLimited, without_quota),
        (400, r#"{"error":{"message":"Bad name.","type":"invalid_request_error"}}"#, ProviderErrorKind::BadRequest, "Bad name"),
        (422, r#"{"detail":[{"msg":"field required"}]}"#, ProviderErrorKind::BadRequest, r#"[{"msg":"field required"}]"#),
        (400, r#"[{"error":{"code":400,"message":"No."}}]"#, ProviderErrorKind::BadRequest, "No"),
        (400, r#"{"object":"error","message":"No.","code":400}"#, ProviderErrorKind::BadRequest, "No"),
        (502, page, ProviderErrorKind::Server, "it sent a web page"),
        (529, "over\n\u{1b}loaded", ProviderErrorKind::Server, "over loaded"),
        (500, "null", ProviderErrorKind::Server, ""),
        (409, "{}", ProviderErrorKind::Server, ""),
        (408, "slow", ProviderErrorKind::Timeout, "slow"),
        (302, page, ProviderErrorKind::Malformed, "it sent a web page"),
        (200, quota, ProviderErrorKind::RateLimited, without_quota),
        (200, r#"{"id":"x"}"#, ProviderErrorKind::Malformed, ""),
    ] {
        assert_eq!(refusal(status, body.as_bytes()), refused(kind, said).with_status(status), "{status} {body}");
    }
}

#[test]
fn error_bodies_are_truncated() {
    let huge_json = json!({"error": {"message": "x".repeat(2 << 20)}}).to_string().into_bytes();
    let long_text = "word ".repeat(100_000).into_bytes();
    let binary = [0x89, b'P', b'N', b'G', 0, 0xff, 0xfe].repeat(100_000);
    for body in [&huge_json, &long_text, &binary, &vec![0xff; 100]] {
        assert!(refusal(500, body).message.len() < 500, "{}", refusal(500, body).message);
    }
    assert_eq!(refusal(500, &binary), refused(ProviderErrorKind::Server, "it sent 700000 bytes that are not text").with_status(500));
    assert!(broken_event(&"{".repeat(1 << 20)).message.len() < 500);
}

#[test]
fn key_at_the_truncation_point_is_redacted() {
    for before in 280..310 {
        let body = format!("{} sk-proj-0123456789abcdef", "x".repeat(before));
        assert!(!refusal(500, body.as_bytes()).message.contains("sk-"), "{before}");
    }
}

#[test]
fn stream_errors_are_classified_by_code() {
    for (event, kind, status) in [
        (json!({"error": {"message": "m", "type": "server_error", "code": null}}), ProviderErrorKind::Server, None),
        (json!({"error": {"message": "m", "code": 429}}), ProviderErrorKind::RateLimited, Some(429)),
        (json!({"error": {"message": "m", "code": 502, "metadata": {}}}), ProviderErrorKind::Server, Some(502)),
        (json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "m"}}), ProviderErrorKind::TooLong, None),
        (json!({"response": {"error": {"code": "rate_limit_exceeded"}}, "error": {}}), ProviderErrorKind::RateLimited, None),
        (json!({"error": {"code": "invalid_api_key", "message": "m"}}), ProviderErrorKind::Key, None),
        (json!({"error": {"code": "model_not_found", "message": "m"}}), ProviderErrorKind::NotFound, None),
        (json!({"error": {"code": "invalid_prompt", "message": "m"}}), ProviderErrorKind::BadRequest, None),
        (json!({"error": "something new"}), ProviderErrorKind::Server, None),
    ] {
        let error = error_event("", &event).map(|error| (error.kind, error.status));
        assert_eq!(error, Some((kind, status)), "{event}");
    }
    let named = error_event("error", &json!({"code": "server_error", "message": "m"}));
    assert_eq!(named, Some(refused(ProviderErrorKind::Server, "m")));
    for event in [json!({"choices": []}), json!({"error": null, "choices": []}), json!({"error": "", "choices": []})] {
        assert_eq!(error_event("", &event), None);
    }
}
