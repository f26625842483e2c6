//! D12 and the like: servers that send too much, too slowly, or nonsense. Each is answered within bounds.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::server::{Answers, Server, answer, page};
use crate::world::{Setup, TOOLS, reach};

/// Sends a beginning, then a piece for ever, or nothing more at all.
struct EndlessServer {
    address: std::net::SocketAddr,
    task: JoinHandle<()>,
}

impl EndlessServer {
    async fn start(head: &'static [u8], piece: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(head).await.ok();
                let Some(piece) = &piece else {
                    open.push(stream);
                    continue;
                };
                // Until the client has had enough.
                while stream.write_all(piece).await.is_ok() {}
            }
        });
        Self { address, task }
    }
}

impl Drop for EndlessServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn d12_endless_bodies_end_at_the_limit() {
    let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 0x10_0000], b"\r\n"].concat();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (tool, expected) in [
        ("http_request", "the download was stopped at 50MB"),
        ("web_fetch", "The page is larger than 1.0 MB; the rest was not downloaded."),
        ("web_search", "The answer of the search provider json cannot be read"),
    ] {
        let server = EndlessServer::start(head, Some(chunk.clone())).await;
        let outcome = reach(tool, &format!("http://{}/", server.address), Setup::allowing([server.address])).await;
        assert!(outcome.contains(expected), "{tool}: …{}", &outcome[outcome.len().saturating_sub(300)..]);
    }
}

#[tokio::test]
async fn d12_silent_and_slow_servers_time_out_with_the_seeds_words() {
    for head in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Ty", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"] {
        for tool in TOOLS {
            let server = EndlessServer::start(head, None).await;
            let outcome = reach(tool, &format!("http://{}/", server.address), Setup::allowing([server.address])).await;
            assert!(
                outcome.starts_with("timeout: HTTP request timed out: no data from 127.0.0.1 within 1s."),
                "{tool} {head:?}: {outcome}"
            );
        }
    }
}

#[tokio::test]
async fn d12_endless_headers_are_given_up() {
    for tool in TOOLS {
        let server =
            EndlessServer::start(b"HTTP/1.1 200 OK\r\n", Some(b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(1000)))
                .await;
        let outcome = reach(tool, &format!("http://{}/", server.address), Setup::allowing([server.address])).await;
        assert!(outcome.starts_with("network_error: "), "{tool}: {outcome}");
    }
}

#[tokio::test]
async fn broken_answers_are_errors_or_say_what_is_missing() {
    let rows: [(&str, &[u8], &str, &str); 6] = [
        ("/nothing", b"", "network_error: ", "network_error: "),
        ("/http09", b"<html>hello</html>", "network_error: ", "network_error: "),
        ("/nonsense", b"\x00\x01\x02\x03", "network_error: ", "network_error: "),
        (
            "/short",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf",
            "(The response broke off after 4 bytes",
            "(The response broke off, so this is only its beginning",
        ),
        (
            "/chunks",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nZZ\r\n",
            "(The response broke off after 4 bytes",
            "(The response broke off, so this is only its beginning",
        ),
        ("/twice", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "network_error: ", "network_error: "),
    ];
    let server = Server::start(rows.iter().map(|(path, bytes, ..)| (*path, bytes.to_vec())).collect()).await;
    for (path, _, request, fetch) in rows {
        for (tool, expected) in [("http_request", request), ("web_fetch", fetch)] {
            let outcome = reach(tool, &server.url(path), Setup::allowing([server.address])).await;
            assert!(outcome.contains(expected), "{tool} {path}: {outcome}");
        }
    }
}

#[tokio::test]
async fn d12_compression_bombs_end_at_the_limit() {
    // 60 MB of one letter each.
    let bombs: [(&str, &[u8]); 2] = [("gzip", include_bytes!("data/bomb.gz")), ("br", include_bytes!("data/bomb.br"))];
    for (encoding, bomb) in bombs {
        let headers = format!("Content-Type: text/plain\r\nContent-Encoding: {encoding}\r\n");
        let server = Server::start(Answers::from([("/", answer(200, &headers, bomb))])).await;
        for (tool, expected) in [("http_request", "stopped at 50MB"), ("web_fetch", "larger than 1.0 MB")] {
            let outcome = reach(tool, &server.url("/"), Setup::allowing([server.address])).await;
            assert!(outcome.contains(expected), "{tool} {encoding}: …{}", &outcome[outcome.len().saturating_sub(300)..]);
            assert!(outcome.contains("aaaaaaaaaa"), "{tool} {encoding}");
        }
    }
}

#[tokio::test]
async fn odd_pages_are_read_within_bounds() {
    let nested = "<div>".repeat(100_000) + "deep text";
    let large = format!("<main>{}</main>", "<p>A paragraph of a very large page, with a comma.</p>".repeat(1_000_000));
    let rows: [(&str, Vec<u8>, &str); 5] = [
        ("/nested", page("text/html", nested), "deep text"),
        ("/large", page("text/html", large), "The page is larger than 1.0 MB"),
        ("/empty", page("text/html", ""), "The page has no text"),
        ("/charset", page("text/html; charset=klingon", "<p>plain words"), "plain words"),
        ("/binary", page("text/html", b"\x00\x01\x02".as_slice()), "Not text, so it is not shown"),
    ];
    let expected: Vec<_> = rows.iter().map(|(path, _, expected)| (*path, *expected)).collect();
    let server = Server::start(rows.into_iter().map(|(path, bytes, _)| (path, bytes)).collect()).await;
    let world = Setup::allowing([server.address]).open();
    for (path, expected) in expected {
        let outcome = world.text("web_fetch", json!({"url": server.url(path)})).await;
        assert!(outcome.contains(expected), "{path}: …{}", &outcome[outcome.len().saturating_sub(300)..]);
    }
}
