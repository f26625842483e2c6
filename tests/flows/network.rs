//! `http_request` against a real server on this machine.

use std::sync::{Arc, Mutex};

use haft::ErrorKind;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{World, failure, text};

/// A server that lives as long as the test's runtime, and remembers what it was asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap().to_string(), asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                answer(stream, &asked).await.unwrap();
            }
        });
        server
    }
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// `/status/N` answers with that status, `/large` with 300 KB, anything else with what was sent.
async fn answer(stream: TcpStream, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let request = read_request(&mut stream).await?;
    asked.lock().unwrap().push(request.clone());
    let path = request.split(' ').nth(1).unwrap().to_owned();
    let status = path.strip_prefix("/status/").unwrap_or("200");
    let body = if path == "/large" { LINES.map(|line| format!("line {line:4}\n")).collect::<Vec<_>>().concat() } else { request };
    let head = format!("HTTP/1.1 {status} Word\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

const LINES: std::ops::RangeInclusive<u32> = 1..=30_000;

/// Method, path, the headers that the tests look at, and the body, on one line.
async fn read_request(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let (mut first, mut length, mut marks) = (String::new(), 0, Vec::new());
    stream.read_line(&mut first).await?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let header = line.trim().to_ascii_lowercase();
        match header.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("content-type" | "x-mark", _)) => marks.push(format!("[{header}]")),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let words: Vec<String> = first.split(' ').take(2).map(str::to_owned).chain(marks).chain(String::from_utf8(body)).collect();
    Ok(words.join(" ").trim_end().to_owned())
}

async fn connected() -> (Server, World) {
    let server = Server::start().await;
    let world = World::with(std::slice::from_ref(&server.address), |session| session.access(haft::Access::FullAccess));
    (server, world)
}

#[tokio::test]
async fn every_method_reaches_the_server_with_its_headers_and_body() {
    let (server, world) = connected().await;
    let mut expected = Vec::new();
    for (method, extra, asked) in [
        ("GET", json!({}), "GET /api"),
        ("GET", json!({"headers": {"X-Mark": "a"}}), "GET /api [x-mark: a]"),
        ("POST", json!({"body": "{}"}), "POST /api [content-type: application/json] {}"),
        ("PUT", json!({"body": "a=b", "headers": {"Content-Type": "text/plain"}}), "PUT /api [content-type: text/plain] a=b"),
        ("DELETE", json!({}), "DELETE /api"),
    ] {
        let mut arguments = json!({"url": server.url("/api"), "method": method});
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let result = world.call("http_request", arguments).await;
        let head = format!("HTTP 200 OK\nContent-Type: text/plain\nContent-Length: {}\n\n", asked.len());
        assert_eq!(text(&result), format!("{head}{asked}"));
        expected.push(asked);
    }
    assert_eq!(*server.asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn every_status_is_a_result_that_names_it() {
    let (server, world) = connected().await;
    for status in [201, 301, 400, 401, 403, 404, 418, 429, 500, 503] {
        let result = world.call("http_request", json!({"url": server.url(&format!("/status/{status}"))})).await;
        assert!(text(&result).starts_with(&format!("HTTP {status} ")), "{}", text(&result));
        assert_eq!(result.details().unwrap()["status"], status);
    }
}

#[tokio::test]
async fn a_large_answer_is_cut_at_100_kb_and_the_rest_can_be_read() {
    let (server, world) = connected().await;
    let result = world.call("http_request", json!({"url": server.url("/large")})).await;
    let shown = text(&result);
    assert!(
        shown.len() < 110 * 1024 && shown.contains("Response truncated. Showing first 100KB of 312KB total."),
        "{}",
        &shown[shown.len() - 300..]
    );
    let page = world.call("read_file", json!({"path": result.details().unwrap()["spill"], "offset": 29_999})).await;
    assert_eq!(text(&page), "line 29999\nline 30000\n\n(Showing lines 29999-30000, up to the end of the file.)");
}

#[tokio::test]
async fn what_cannot_be_reached_is_a_network_error_and_nothing_private_is_tried() {
    let server = Server::start().await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let opened = World::with(&[closed.to_string()], |session| session);
    let (kind, message) = failure(&opened.call("http_request", json!({"url": format!("http://{closed}/")})).await);
    assert!(kind == ErrorKind::NetworkError && message.starts_with("Connection refused: http://127.0.0.1:"), "{message}");

    let plain = World::new();
    let refused: Vec<(ErrorKind, Value)> = vec![
        (ErrorKind::NetworkError, json!({"url": server.url("/")})),
        (ErrorKind::ValidationError, json!({"url": "nonsense"})),
        (ErrorKind::ValidationError, json!({"url": server.url("/"), "method": "BREW"})),
    ];
    for (kind, arguments) in refused {
        assert_eq!(failure(&plain.call("http_request", arguments.clone()).await).0, kind, "{arguments}");
    }
    let post = plain.call("http_request", json!({"url": "https://example.org/", "method": "POST"})).await;
    assert_eq!(failure(&post).0, ErrorKind::PermissionDenied, "sending data out needs full access");
    assert!(server.asked.lock().unwrap().is_empty());
}
