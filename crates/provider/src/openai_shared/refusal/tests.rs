use serde_json::json;

use super::*;

#[test]
fn every_status_and_shape_becomes_one_error() {
    let quota = r#"{"error":{"message":"You exceeded your quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let long = r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#;
    let key = r#"{"error":{"message":"Incorrect API key provided: sk-proj-0123456789abcdef.","code":"invalid_api_key"}}"#;
    let page = "<!DOCTYPE html><html><title>502</title></html>";
    let without_quota = "no quota is left, so trying again does not help (You exceeded your quota)";
    for (status, body, trouble, said) in [
        (401, key, Trouble::Key, "Incorrect API key provided: [key]"),
        (403, "", Trouble::Key, ""),
        (402, r#"{"error":"Insufficient balance"}"#, Trouble::Key, "Insufficient balance"),
        (404, r#"{"error":{"message":"No model `x`","code":"model_not_found"}}"#, Trouble::NotFound, "No model `x`"),
        (413, "too big", Trouble::TooLong, "too big"),
        (400, long, Trouble::TooLong, "This model's maximum context length is 8192 tokens"),
        (429, r#"{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}"#, Trouble::RateLimited, "Slow down"),
        (429, quota, Trouble::RateLimited, without_quota),
        (400, r#"{"error":{"message":"Bad name.","type":"invalid_request_error"}}"#, Trouble::BadRequest, "Bad name"),
        (422, r#"{"detail":[{"msg":"field required"}]}"#, Trouble::BadRequest, r#"[{"msg":"field required"}]"#),
        (400, r#"[{"error":{"code":400,"message":"No."}}]"#, Trouble::BadRequest, "No"),
        (400, r#"{"object":"error","message":"No.","code":400}"#, Trouble::BadRequest, "No"),
        (502, page, Trouble::Server, "it sent a web page"),
        (529, "over\n\u{1b}loaded", Trouble::Server, "over loaded"),
        (500, "null", Trouble::Server, ""),
        (409, "{}", Trouble::Server, ""),
        (408, "slow", Trouble::Timeout, "slow"),
        (302, page, Trouble::Malformed, "it sent a web page"),
        (200, quota, Trouble::RateLimited, without_quota),
        (200, r#"{"id":"x"}"#, Trouble::Malformed, ""),
    ] {
        assert_eq!(refusal(status, body.as_bytes()), refused(trouble, said).with_status(status), "{status} {body}");
    }
}

#[test]
fn bodies_are_bounded_whatever_they_hold() {
    let huge_json = json!({"error": {"message": "x".repeat(2 << 20)}}).to_string().into_bytes();
    let long_text = "word ".repeat(100_000).into_bytes();
    let binary = [0x89, b'P', b'N', b'G', 0, 0xff, 0xfe].repeat(100_000);
    for body in [&huge_json, &long_text, &binary, &vec![0xff; 100]] {
        assert!(refusal(500, body).message.len() < 500, "{}", refusal(500, body).message);
    }
    assert_eq!(refusal(500, &binary), refused(Trouble::Server, "it sent 700000 bytes that are not text").with_status(500));
    assert!(broken_event(&"{".repeat(1 << 20)).message.len() < 500);
}

#[test]
fn a_key_at_the_cut_is_not_shown_in_part() {
    for before in 280..310 {
        let body = format!("{} sk-proj-0123456789abcdef", "x".repeat(before));
        assert!(!refusal(500, body.as_bytes()).message.contains("sk-"), "{before}");
    }
}

#[test]
fn errors_in_a_stream_are_told_by_their_code() {
    for (event, trouble, status) in [
        (json!({"error": {"message": "m", "type": "server_error", "code": null}}), Trouble::Server, None),
        (json!({"error": {"message": "m", "code": 429}}), Trouble::RateLimited, Some(429)),
        (json!({"error": {"message": "m", "code": 502, "metadata": {}}}), Trouble::Server, Some(502)),
        (json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "m"}}), Trouble::TooLong, None),
        (json!({"response": {"error": {"code": "rate_limit_exceeded"}}, "error": {}}), Trouble::RateLimited, None),
        (json!({"error": {"code": "invalid_api_key", "message": "m"}}), Trouble::Key, None),
        (json!({"error": {"code": "model_not_found", "message": "m"}}), Trouble::NotFound, None),
        (json!({"error": {"code": "invalid_prompt", "message": "m"}}), Trouble::BadRequest, None),
        (json!({"error": "something new"}), Trouble::Server, None),
    ] {
        let error = error_event("", &event).map(|error| (error.trouble, error.status));
        assert_eq!(error, Some((trouble, status)), "{event}");
    }
    let named = error_event("error", &json!({"code": "server_error", "message": "m"}));
    assert_eq!(named, Some(refused(Trouble::Server, "m")));
    for event in [json!({"choices": []}), json!({"error": null, "choices": []}), json!({"error": "", "choices": []})] {
        assert_eq!(error_event("", &event), None);
    }
}
