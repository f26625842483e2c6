//! A server that keeps the head of every request as it came, and answers with any bytes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a server sends.
pub(crate) enum RawAnswer {
    Bytes(Vec<u8>),
    /// The first, then the second again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// One byte of it each second.
    Slow(Vec<u8>),
}

impl RawAnswer {
    /// A page with more headers, each as a line.
    pub(crate) fn page(headers: &str, body: &str) -> Self {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        Self::Bytes([head.as_bytes(), body.as_bytes()].concat())
    }
    pub(crate) fn redirect(to: &str, headers: &str) -> Self {
        Self::Bytes(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nConnection: close\r\nContent-Length: 0\r\n{headers}\r\n").into())
    }
}

type RawHandler = dyn Fn(&str) -> RawAnswer + Send + Sync;

pub(crate) struct RawServer {
    pub(crate) port: u16,
    /// The heads of requests, in order.
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl RawServer {
    pub(crate) async fn at(host: &str, handler: impl Fn(&str) -> RawAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let (port, heads, handler): (_, Arc<Mutex<Vec<String>>>, Arc<RawHandler>) =
            (listener.local_addr().unwrap().port(), Arc::default(), Arc::new(handler));
        let kept = Arc::clone(&heads);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(answer(client, Arc::clone(&handler), Arc::clone(&kept)));
            }
        });
        Self { port, heads, task }
    }

    /// The heads that have these words.
    pub(crate) fn with(&self, words: &str) -> Vec<String> {
        self.heads.lock().unwrap().iter().filter(|head| head.contains(words)).cloned().collect()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(mut client: TcpStream, handler: Arc<RawHandler>, heads: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < 1 << 16 {
        let mut piece = [0; 4096];
        match client.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(count) => head.extend_from_slice(&piece[..count]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let answer = handler(&head);
    heads.lock().unwrap().push(head);
    // The client may have enough before the end.
    match answer {
        RawAnswer::Bytes(bytes) => drop(client.write_all(&bytes).await),
        RawAnswer::Endless(first, again) => {
            let mut written = client.write_all(&first).await;
            while written.is_ok() {
                written = client.write_all(&again).await;
            }
        }
        RawAnswer::Slow(bytes) => {
            for byte in bytes {
                if client.write_all(&[byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
    client.shutdown().await.ok();
}
