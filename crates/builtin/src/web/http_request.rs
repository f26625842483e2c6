mod response;

use haft_contract::{HttpRequest, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::response::ReceivedBody;
use crate::shared::brief;

const REDIRECTS: u8 = 10;
/// The client writes these itself: another value could differ from the URL and body that the policy has checked.
const RESERVED: &[&str] = &["host", "content-length", "transfer-encoding", "connection", "upgrade"];

/// Make an HTTP request to a URL. For APIs and plain files: returns the status, the content type and the body, the first 100
/// KB of it, with all of it in a file; an error status is a result like any other. A body is sent as JSON unless a
/// Content-Type header says otherwise. Addresses of this machine and its local network are refused unless they are allowed.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "http_request",
    label = "HTTP request",
    section = Web,
    category = Network,
    access = ReadOnly,
    timeout_secs = 30,
    rules = Connect,
    destructive,
    open_world
)]
pub(crate) struct HttpRequestTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The URL to request: http or https.
    url: String,
    /// HTTP method: GET, POST, PUT, DELETE. Defaults to GET.
    #[serde(default)]
    method: Method,
    /// Key-value pairs of HTTP headers (optional).
    headers: Option<Map<String, Value>>,
    /// Request body for POST/PUT requests (optional).
    #[schemars(extend("x-verbatim" = true))]
    body: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    #[default]
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

impl Tool for HttpRequestTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.headers()?;
        Ok(Plan::nothing().connect(cx.connect(params.method.as_str(), &params.url)?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let unsent = params.method == Method::Get && params.body.as_ref().is_some_and(|body| !body.is_empty());
        let mut response = cx.http().send(params.into_request()?).await?;
        let received = ReceivedBody::read(&mut response, cx).await?;
        let mut text = received.text(&response);
        if unsent {
            text.push_str("\n\n(The body was not sent: a GET request carries none. Use POST or PUT to send it.)");
        }
        Ok(ToolOutput::text(text).with_details(received.details(&response)))
    }
}

impl Params {
    fn into_request(self) -> Result<HttpRequest, ToolError> {
        let mut headers = self.headers()?;
        let body = match self.method {
            Method::Get => None,
            Method::Post | Method::Put => Some(self.body.unwrap_or_default()),
            Method::Delete => self.body,
        };
        let typed = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !typed && body.as_ref().is_some_and(|body| !body.is_empty()) {
            headers.push(("Content-Type".into(), "application/json".into()));
        }
        let (method, url, body) = (self.method.as_str().into(), self.url, body.map(String::into_bytes));
        Ok(HttpRequest { method, url, headers, body, redirects: REDIRECTS })
    }

    fn headers(&self) -> Result<Vec<(String, String)>, ToolError> {
        self.headers.iter().flatten().map(|(name, value)| Ok((checked_name(name)?, checked_value(name, value)?))).collect()
    }
}

fn checked_name(name: &str) -> Result<String, ToolError> {
    let shown = brief(name);
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
        return Err(ToolError::validation(format!("Invalid header name: '{shown}'. Use letters, digits and '-' only.")));
    }
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(ToolError::validation(format!("Header '{shown}' cannot be set: it follows from the URL and the body. Leave it out.")));
    }
    Ok(name.to_owned())
}

fn checked_value(name: &str, value: &Value) -> Result<String, ToolError> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(ToolError::validation(format!(
                "Header '{}' must be text, not {}. Give one string, or leave the header out.",
                brief(name),
                brief(&value.to_string())
            )));
        }
    };
    if text.chars().any(|ch| ch.is_control() && ch != '\t') {
        let name = brief(name);
        return Err(ToolError::validation(format!("Header '{name}' has a line break or another control character. Write it on one line.")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
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
        let reply = Reply::ok("application/json", r#"{"price": 1}"#)
            .header("content-length", "12")
            .header("Set-Cookie", "a")
            .header("Set-Cookie", "b");
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
            (
                json!({"headers": {"X-B": 1.5, "X-A": true, "Accept": "a, b"}}),
                vec![("X-B", "1.5"), ("X-A", "true"), ("Accept", "a, b")],
                None,
            ),
        ] {
            let method = arguments["method"].as_str().unwrap_or("GET").to_owned();
            host.http.answer(&method, URL, Reply::new(204, "No Content"));
            let mut arguments = arguments;
            arguments["url"] = URL.into();
            send(&host, arguments).await.unwrap();
            let sent = host.http.requests().pop().unwrap();
            assert_eq!(
                (sent.method, sent.url, sent.headers, sent.body, sent.redirects),
                (method, URL.to_owned(), pairs(&headers), body.map(|text| text.as_bytes().to_vec()), 10)
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
        let (kind, message) = expect_error(send(&host, json!({"url": URL, "method": "PATCH"})).await);
        assert!(kind == ErrorKind::ValidationError && message.contains("`DELETE`"), "{message}");
        assert_eq!(host.http.requests().len(), 0);
    }

    #[tokio::test]
    async fn redirects_are_followed_only_where_policy_allows() {
        let host = FakeHost::new();
        host.http.answer("GET", URL, Reply::redirect("http://cdn.test/x"));
        host.http.answer("GET", "http://cdn.test/x", Reply::ok("text/plain", "moved"));
        let output = send(&host, json!({"url": URL})).await.unwrap();
        assert_eq!(
            output.texts().next(),
            Some("HTTP 200 OK\nContent-Type: text/plain\nURL: http://cdn.test/x (after 1 redirect)\n\nmoved")
        );
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
}
