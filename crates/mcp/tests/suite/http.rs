//! What reaches the server over HTTP, and what does not.

use std::net::SocketAddr;
use std::sync::Arc;

use haft_mcp::server::{AccessToken, HttpListener, HttpTokenFile, ListenError, McpHttpOptions, TokenLife};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::fixtures::FixtureBackend;

/// A server on a free port of loopback.
pub(crate) struct TestServer {
    pub(crate) url: String,
    pub(crate) backend: Arc<FixtureBackend>,
    token: Option<AccessToken>,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), ListenError>>,
}

impl TestServer {
    pub(crate) async fn start(token: Option<AccessToken>) -> Self {
        Self::with_tokens(token, None).await
    }

    /// A server whose tokens are in a file.
    async fn with_tokens(token: Option<AccessToken>, file: Option<HttpTokenFile>) -> Self {
        let backend = FixtureBackend::new();
        let mut options = McpHttpOptions::new("127.0.0.1:0".parse().unwrap(), token.clone());
        options.token_file = file;
        let server = HttpListener::bind(Arc::clone(&backend) as _, options).await.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        let cancel = stop.clone();
        let serving = tokio::spawn(async move { server.serve(&cancel).await });
        Self { url, backend, token, stop, serving }
    }

    /// What a request presents.
    pub(crate) fn bearer(&self) -> String {
        self.token.as_ref().map(|token| format!("Bearer {}", token.reveal())).unwrap_or_default()
    }

    fn address(&self) -> SocketAddr {
        self.url.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap()
    }

    pub(crate) async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut reply = Vec::new();
        self.connect(method, headers, body).await.read_to_end(&mut reply).await.ok();
        Reply(String::from_utf8(reply).unwrap())
    }

    /// Sends a request with these headers besides the usual ones; a header without a value is left out.
    pub(crate) async fn connect(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let host = self.address().to_string();
        let bearer = self.bearer();
        let usual = [
            ("Host", host.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            ("Authorization", bearer.as_str()),
            ("Connection", "close"),
        ];
        let usual = usual.iter().filter(|(name, _)| !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        let lines: String =
            usual.chain(headers).filter(|(_, value)| !value.is_empty()).flat_map(|(name, value)| [*name, ": ", *value, "\r\n"]).collect();
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        let head = format!("{method} /mcp HTTP/1.1\r\n{lines}Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses the head need not read the body.
        stream.write_all(body.as_bytes()).await.ok();
        stream
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        self.send("POST", headers, &message.to_string()).await
    }

    /// Shakes hands; returns the id of the session.
    pub(crate) async fn open(&self) -> String {
        self.open_with("2025-11-25", json!({})).await
    }

    /// The same, for a client of this version that can do this.
    pub(crate) async fn open_with(&self, version: &str, capabilities: Value) -> String {
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
        let reply = self.post(&[], &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).await;
        assert_eq!(reply.status(), 200, "{}", reply.0);
        let session = reply.header("mcp-session-id").unwrap();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&[("Mcp-Session-Id", &session)], &initialized).await.status(), 202);
        session
    }

    pub(crate) async fn call(&self, session: &str, tool: &str) -> Reply {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": {}}});
        self.post(&[("Mcp-Session-Id", session)], &call).await
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

fn hello() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

/// A whole answer.
pub(crate) struct Reply(pub(crate) String);

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        self.0.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let head = self.0.split("\r\n\r\n").next().unwrap();
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.to_owned())
    }
    /// The JSON of an answer that is no stream.
    pub(crate) fn json(&self) -> Option<Value> {
        let (_, body) = self.0.split_once("\r\n\r\n")?;
        serde_json::from_str(body).ok()
    }
    /// The messages of an answer: each event of a stream, or the one of an answer that is none.
    pub(crate) fn events(&self) -> Vec<Value> {
        if let Some(message) = self.json() {
            return vec![message];
        }
        self.0.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

pub(crate) fn token() -> AccessToken {
    AccessToken::random().unwrap()
}

#[tokio::test]
async fn only_the_token_opens_and_only_names_of_this_machine_are_hosts() {
    let server = TestServer::start(Some(token())).await;
    let own = format!("http://{}", server.address());
    let port = server.address().port();
    let (local, other_port) = (format!("localhost:{port}"), format!("http://localhost:{}", port ^ 1));
    for (name, value, status) in [
        ("Accept-Language", "en", 200),
        ("Authorization", "", 401),
        ("Authorization", "Bearer wrong", 401),
        ("Host", local.as_str(), 200),
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1.evil.example", 403),
        ("Origin", own.as_str(), 200),
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", other_port.as_str(), 403),
        ("Origin", "http://localhost.evil.example", 403),
    ] {
        let reply = server.post(&[(name, value)], &hello()).await;
        assert_eq!(reply.status(), status, "{name}: {value}\n{}", reply.0);
        assert!(!reply.0.contains(server.token.as_ref().unwrap().reveal()));
    }
    server.end().await;
}

#[tokio::test]
async fn each_client_has_its_own_session_which_ends_with_it() {
    let server = TestServer::start(Some(token())).await;
    let (one, other) = (server.open().await, server.open().await);
    assert_ne!(one, other);
    for session in [&one, &other] {
        let reply = server.call(session, "test_simple_text").await;
        assert_eq!(reply.events().last().unwrap()["result"]["isError"], false, "{}", reply.0);
    }
    let opened = server.backend.opened.lock().unwrap().clone();
    assert!(opened.len() == 2 && opened[0] != opened[1], "{opened:?}");
    assert_eq!(server.call("00000000-0000-0000-0000-000000000000", "test_simple_text").await.status(), 404);
    let deleted = server.send("DELETE", &[("Mcp-Session-Id", &one)], "").await.status();
    assert!((200..300).contains(&deleted), "{deleted}");
    assert_eq!(server.call(&one, "test_simple_text").await.status(), 404);
    server.backend.wait_for_ends(1).await;
    assert_eq!(server.call(&other, "test_simple_text").await.status(), 200);
    let backend = Arc::clone(&server.backend);
    server.end().await;
    backend.wait_for_ends(2).await;
}

#[tokio::test]
async fn call_ends_with_its_session() {
    let server = TestServer::start(Some(token())).await;
    let session = server.open().await;
    let (calling, deleting) = (server.call(&session, "wait_for_cancel"), async {
        server.backend.wait_for_opened(1).await;
        server.send("DELETE", &[("Mcp-Session-Id", &session)], "").await
    });
    tokio::join!(calling, deleting);
    server.backend.wait_for_ends(1).await;
    server.end().await;
}

#[tokio::test]
async fn stream_that_was_cut_can_be_resumed() {
    let server = TestServer::start(Some(token())).await;
    let session = server.open().await;
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_reconnection"}}).to_string();
    let mut cut = server.connect("POST", &[("Mcp-Session-Id", &session)], &call).await;
    let mut head = String::new();
    while !head.contains("retry: ") {
        head.push(char::from(cut.read_u8().await.unwrap()));
    }
    drop(cut);
    let first = head.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let headers = [("Mcp-Session-Id", session.as_str()), ("Last-Event-ID", first.as_str()), ("Accept", "text/event-stream")];
    let mut resumed = server.connect("GET", &headers, "").await;
    let mut text = String::new();
    while !text.contains("slept") {
        text.push(char::from(resumed.read_u8().await.unwrap()));
    }
    server.end().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_bodies_are_bounded() {
    let server = TestServer::start(Some(token())).await;
    for (body, headers, statuses) in [
        ("garbage".to_owned(), &[][..], 400..=499),
        ("[]".to_owned(), &[], 400..=499),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(), &[], 400..=400),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_owned(), &[], 400..=400),
        ("{\"a\":".repeat(5000), &[], 400..=499),
        (hello().to_string(), &[("Accept", "text/plain")], 406..=406),
        (hello().to_string(), &[("Content-Type", "text/plain")], 415..=415),
        ("x".repeat(33 << 20), &[], 413..=413),
    ] {
        let status = server.send("POST", headers, &body).await.status();
        assert!(statuses.contains(&status), "{}: {status}", &body[..body.len().min(40)]);
    }
    assert_eq!(server.send("PUT", &[], "").await.status(), 405);
    server.open().await;
    server.end().await;
}

#[tokio::test]
async fn other_machines_need_a_flag() {
    let options = McpHttpOptions::new("0.0.0.0:0".parse().unwrap(), Some(token()));
    let refused = HttpListener::bind(FixtureBackend::new() as _, options.clone()).await;
    assert!(matches!(refused, Err(ListenError::NotLoopback(_))), "{refused:?}");
    let mut options = options;
    options.reach = haft_mcp::server::HttpReach::Network;
    assert!(HttpListener::bind(FixtureBackend::new() as _, options).await.is_ok());
}

/// E04: a token that is revoked opens nothing any more, and what it had opened ends.
#[tokio::test]
async fn revoked_token_ends_its_sessions_calls_and_streams() {
    let folder = tempfile::tempdir().unwrap();
    let file = HttpTokenFile::new(folder.path());
    let server = TestServer::with_tokens(Some(token()), Some(file.clone())).await;
    let second = token();
    let hour = TokenLife::For(std::time::Duration::from_hours(1));
    let entry = file.add(server.address(), &second, hour).unwrap();
    let bearer = format!("Bearer {}", second.reveal());
    let with = |session: &str| [("Authorization".to_owned(), bearer.clone()), ("Mcp-Session-Id".to_owned(), session.to_owned())];
    let opened = server.post(&[("Authorization", &bearer)], &hello()).await;
    let session = opened.header("mcp-session-id").unwrap();
    let own = server.open().await;
    let headers = with(&session);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // A session belongs to the token that opened it.
    assert_eq!(server.call(&session, "test_simple_text").await.status(), 404);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "wait_for_cancel", "arguments": {}}});
    let stream = [headers.as_slice(), &[("Accept", "text/event-stream")]].concat();
    let (called, streamed, ()) = tokio::join!(server.post(&headers, &call), server.send("GET", &stream, ""), async {
        server.backend.wait_for_opened(1).await;
        file.revoke(&entry.id).unwrap();
    });
    assert!(!called.0.contains("isError"), "the call has no result: {}", called.0);
    assert_eq!(streamed.status(), 200, "{}", streamed.0);
    server.backend.wait_for_ends(1).await;
    assert_eq!(server.post(&headers, &call).await.status(), 401);
    assert_eq!(server.post(&[("Authorization", &bearer)], &hello()).await.status(), 401);
    assert_eq!(server.call(&own, "test_simple_text").await.status(), 200, "another token is not touched");
    let address = server.address();
    server.end().await;
    assert_eq!(file.list().iter().filter(|token| token.address == address).count(), 0, "its own token ends with the server");
}

/// E07: what two readers could read in two ways is a bounded, typed error, as on a pipe.
#[tokio::test]
async fn e07_hostile_json_over_http_is_a_bounded_error() {
    let server = TestServer::start(Some(token())).await;
    let session = server.open().await;
    let call = |arguments: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"with_header","arguments":{arguments}}}}}"#)
    };
    for (arguments, refused) in [
        (r#"{"region":"a","region":"b"}"#.to_owned(), true),
        (r#"{"region":1e999}"#.to_owned(), true),
        (r#"{"region":NaN}"#.to_owned(), true),
        (r#"{"region":"\ud800"}"#.to_owned(), true),
        (format!("{{\"region\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000)), true),
        (r#"{"__proto__":{"region":"x"}}"#.to_owned(), false),
        (format!("{{\"region\":\"{}\"}}", "x".repeat(10 << 20)), false),
    ] {
        let reply = server.send("POST", &[("Mcp-Session-Id", &session)], &call(&arguments)).await;
        let shown = &arguments[..arguments.len().min(60)];
        assert_eq!(reply.status(), if refused { 400 } else { 200 }, "{shown}: {}", &reply.0[..reply.0.len().min(400)]);
        assert_eq!(reply.0.contains("-32700"), refused, "{shown}");
        // Garbage has no id that could be found.
        assert_eq!(reply.0.contains(r#""id":2"#), arguments != r#"{"region":NaN}"#, "{shown}: {}", reply.0);
        assert!(reply.0.len() < 100_000, "{shown}");
    }
    // Without a token the body is not looked at.
    let unknown = server.send("POST", &[("Authorization", "Bearer wrong")], &call(r#"{"a":1,"a":2}"#)).await;
    assert_eq!(unknown.status(), 401);
    server.end().await;
}
