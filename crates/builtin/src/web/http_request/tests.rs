use std::sync::Arc;

use haft_contract::{DynTool, Erased, ErrorKind};
use haft_testkit::{DenyAll, FakeHost, Reply, Trial, expect_error, expect_text, run_tool};
use serde_json::json;

use super::*;

const URL: &str = "http://api.test/v1?q=1";

async fn send(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(HttpRequestTool), arguments, Arc::clone(host)).await
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn the_response_has_the_seeds_shape_and_all_headers_are_kept() {
    let host = FakeHost::new();
    let reply =
        Reply::ok("application/json", r#"{"price": 1}"#).header("content-length", "12").header("Set-Cookie", "a").header("Set-Cookie", "b");
    host.http.answer("GET", URL, reply);
    let output = send(&host, json!({"url": URL})).await.unwrap();
    let details = json!({
        "status": 200, "reason": "OK", "url": URL, "redirected_from": [], "bytes": 12, "complete": true, "spill": null,
        "headers": [["Content-Type", "application/json"], ["content-length", "12"], ["Set-Cookie", "a"], ["Set-Cookie", "b"]]
    });
    let text = "HTTP 200 OK\nContent-Type: application/json\nContent-Length: 12\n\n{\"price\": 1}";
    assert_eq!(output, ToolOutput::text(text).with_details(details));
    assert_eq!(host.journal.spills_opened(), 0);
}

#[tokio::test]
async fn an_error_status_is_a_result() {
    let host = FakeHost::new();
    host.http.answer("DELETE", URL, Reply::new(404, "Not Found"));
    host.http.answer("GET", URL, Reply::new(599, "").chunk("why"));
    assert_eq!(expect_text(send(&host, json!({"url": URL, "method": "DELETE"})).await), "HTTP 404 Not Found\n\n(empty response body)");
    assert_eq!(expect_text(send(&host, json!({"url": URL})).await), "HTTP 599\n\nwhy");
}

#[tokio::test]
async fn requests_are_sent_as_asked() {
    let host = FakeHost::new();
    let json_type = ("Content-Type", "application/json");
    for (arguments, headers, body) in [
        (json!({"method": "GET"}), vec![], None),
        (json!({"method": "GET", "body": ""}), vec![], None),
        (json!({"method": "POST", "body": "{}"}), vec![json_type], Some("{}")),
        (json!({"method": "POST"}), vec![], Some("")),
        (json!({"method": "PUT", "body": ""}), vec![], Some("")),
        (json!({"method": "DELETE"}), vec![], None),
        (json!({"method": "DELETE", "body": "x"}), vec![json_type], Some("x")),
        (
            json!({"method": "PUT", "body": " a=b\n", "headers": {"content-type": "text/plain"}}),
            vec![("content-type", "text/plain")],
            Some(" a=b\n"),
        ),
        (json!({"headers": {"X-B": 1.5, "X-A": true, "Accept": "a, b"}}), vec![("X-B", "1.5"), ("X-A", "true"), ("Accept", "a, b")], None),
    ] {
        let method = arguments["method"].as_str().unwrap_or("GET").to_owned();
        host.http.answer(&method, URL, Reply::new(204, "No Content"));
        let mut arguments = arguments;
        arguments["url"] = URL.into();
        send(&host, arguments).await.unwrap();
        let sent = host.http.requests().pop().unwrap();
        assert_eq!(
            (sent.method, sent.url, sent.headers, sent.body, sent.redirects),
            (method, URL.to_owned(), pairs(&headers), body.map(|text| text.as_bytes().to_vec()), 5)
        );
    }
}

#[tokio::test]
async fn a_body_that_get_cannot_carry_is_named() {
    let host = FakeHost::new();
    host.http.answer("GET", URL, Reply::ok("text/plain", "hi"));
    assert_eq!(
        expect_text(send(&host, json!({"url": URL, "body": "x"})).await),
        "HTTP 200 OK\nContent-Type: text/plain\n\nhi\n\n(The body was not sent: a GET request carries none. Use POST or PUT to send it.)"
    );
    assert_eq!(host.http.requests()[0].body, None);
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_anything_is_sent() {
    let host = FakeHost::new();
    let names = "Use letters, digits and '-' only.";
    for (arguments, message) in [
        (json!({"url": "nonsense"}), "Invalid URL: nonsense".to_owned()),
        (json!({"url": ""}), "Invalid URL: ".into()),
        (json!({"url": URL, "headers": {"a b": "x"}}), format!("Invalid header name: 'a b'. {names}")),
        (json!({"url": URL, "headers": {"": "x"}}), format!("Invalid header name: ''. {names}")),
        (json!({"url": URL, "headers": {"X\r\nEvil": "x"}}), format!("Invalid header name: 'X\r\nEvil'. {names}")),
        (
            json!({"url": URL, "headers": {"X-A": "a\r\nEvil: b"}}),
            "Header 'X-A' has a line break or another control character. Write it on one line.".into(),
        ),
        (
            json!({"url": URL, "headers": {"X-A": ["a"]}}),
            r#"Header 'X-A' must be text, not ["a"]. Give one string, or leave the header out."#.into(),
        ),
        (
            json!({"url": URL, "headers": {"X-A": null}}),
            "Header 'X-A' must be text, not null. Give one string, or leave the header out.".into(),
        ),
        (
            json!({"url": URL, "headers": {"Host": "other.test"}}),
            "Header 'Host' cannot be set: it follows from the URL and the body. Leave it out.".into(),
        ),
    ] {
        assert_eq!(expect_error(send(&host, arguments).await), (ErrorKind::ValidationError, message));
    }
    let (kind, message) = expect_error(send(&host, json!({"url": URL, "method": "TRACE"})).await);
    assert!(kind == ErrorKind::ValidationError && message.contains("`DELETE`"), "{message}");
    assert_eq!(host.http.requests().len(), 0);
}

#[tokio::test]
async fn redirects_are_followed_only_where_policy_allows() {
    let host = FakeHost::new();
    host.http.answer("GET", URL, Reply::redirect("http://cdn.test/x"));
    host.http.answer("GET", "http://cdn.test/x", Reply::ok("text/plain", "moved"));
    let output = send(&host, json!({"url": URL})).await.unwrap();
    assert_eq!(output.texts().next(), Some("HTTP 200 OK\nContent-Type: text/plain\nURL: http://cdn.test/x (after 1 redirect)\n\nmoved"));
    let details = output.details.unwrap();
    assert_eq!((&details["url"], &details["redirected_from"]), (&json!("http://cdn.test/x"), &json!([URL])));

    let shut = Trial { gate: Arc::new(DenyAll), ..Trial::new(Arc::clone(&host)) };
    let error = expect_error(shut.run(&Erased::new(HttpRequestTool), json!({"url": URL})).await);
    assert_eq!(error, (ErrorKind::PermissionDenied, "denied: GET http://cdn.test:80".into()));
}

#[tokio::test]
async fn network_failures_are_passed_on() {
    let host = FakeHost::new();
    host.http.answer("GET", URL, Reply::failure(ErrorKind::NetworkError, "Cannot resolve host: api.test"));
    let error = expect_error(send(&host, json!({"url": URL})).await);
    assert_eq!(error, (ErrorKind::NetworkError, "Cannot resolve host: api.test".into()));
}

#[test]
fn the_plan_names_method_host_and_port() {
    let host = FakeHost::new();
    let arguments = json!({"url": "https://api.test/x", "method": "POST"});
    let prepared = Erased::new(HttpRequestTool).prepare(arguments, &PlanContext::new(&*host)).unwrap();
    let effects = serde_json::to_value(prepared.plan().effects()).unwrap();
    assert_eq!(effects, json!([{"effect": "connect", "host": "api.test", "port": 443, "method": "POST"}]));
}

#[tokio::test]
async fn bodies_are_json_objects_or_files() {
    let host = FakeHost::new();
    host.http.answer("POST", URL, Reply::new(204, "No Content"));
    host.files.put("data.bin", &b"\x00\x01"[..]);
    for (arguments, content_type, body) in [
        (json!({"json": {"b": 1, "a": [null]}}), "application/json", &b"{\"b\":1,\"a\":[null]}"[..]),
        (json!({"body_file": "data.bin"}), "application/octet-stream", b"\x00\x01"),
    ] {
        let mut arguments = arguments;
        (arguments["url"], arguments["method"]) = (URL.into(), "POST".into());
        send(&host, arguments).await.unwrap();
        let sent = host.http.requests().pop().unwrap();
        assert_eq!((sent.headers, sent.body.as_deref()), (pairs(&[("Content-Type", content_type)]), Some(body)));
    }
    let error = expect_error(send(&host, json!({"url": URL, "body": "x", "json": {}})).await);
    assert_eq!(error, (ErrorKind::ValidationError, "Give one of body, json and body_file.".into()));
    assert_eq!(expect_error(send(&host, json!({"url": URL, "method": "POST", "body_file": "none"})).await).0, ErrorKind::FileNotFound);
}

#[tokio::test]
async fn a_response_is_saved_whole_or_not_at_all() {
    let host = FakeHost::new();
    host.http.answer("GET", URL, Reply::ok("image/png", &b"\x89PNG"[..]).chunk("more"));
    let output = send(&host, json!({"url": URL, "save_to": "out/a.png"})).await.unwrap();
    assert_eq!(output.texts().next(), Some("HTTP 200 OK\nSaved 8 bytes (image/png) to 'out/a.png'."));
    assert_eq!(host.files.get("out/a.png").unwrap(), b"\x89PNGmore");

    host.http.answer("GET", URL, Reply::ok("x", "half").breaks_off(ErrorKind::NetworkError, "Connection reset."));
    let error = expect_error(send(&host, json!({"url": URL, "save_to": "b"})).await);
    assert_eq!(error.1, "Connection reset. The response is not complete, so it was not saved.");
    host.http.answer("GET", URL, Reply::ok("x", vec![b'x'; 8 << 20]).endless());
    let error = expect_error(send(&host, json!({"url": URL, "save_to": "b"})).await);
    assert_eq!(
        error,
        (ErrorKind::FileTooLarge, "Response too large: more than 50.0 MB. 'b' was not written; save it with a command instead.".into())
    );
    host.http.answer("GET", URL, Reply::new(404, "Not Found").chunk("no"));
    assert_eq!(expect_text(send(&host, json!({"url": URL, "save_to": "b"})).await), "HTTP 404 Not Found\n\nno");
    assert_eq!(host.files.get("b"), None);
}

#[tokio::test]
async fn head_and_options_show_every_header() {
    let host = FakeHost::new();
    for method in ["HEAD", "OPTIONS"] {
        host.http.answer(method, URL, Reply::new(200, "OK").header("Allow", "GET, POST").header("X-A", "b"));
        assert_eq!(expect_text(send(&host, json!({"url": URL, "method": method})).await), "HTTP 200 OK\nAllow: GET, POST\nX-A: b");
    }
}

#[tokio::test]
async fn a_server_that_asks_to_wait_is_quoted() {
    let host = FakeHost::new();
    host.http.answer("GET", URL, Reply::new(429, "Too Many Requests").header("Retry-After", "90"));
    let text = expect_text(send(&host, json!({"url": URL})).await);
    assert!(text.ends_with("(The server asks to wait 90 s before the next request.)"), "{text}");
}

#[test]
fn the_plan_names_both_files() {
    let host = FakeHost::new();
    let arguments = json!({"url": URL, "method": "PATCH", "body_file": "in", "save_to": "out"});
    let prepared = Erased::new(HttpRequestTool).prepare(arguments, &PlanContext::new(&*host)).unwrap();
    let kinds: Vec<_> = prepared.plan().effects().iter().map(haft_contract::Effect::kind).collect();
    assert_eq!(kinds, ["read", "write", "connect"]);
}
