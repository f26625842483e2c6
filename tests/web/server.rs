//! A small server on loopback that answers by path, and remembers what it was asked.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a path answers, byte for byte.
pub(crate) type Answers = HashMap<&'static str, Vec<u8>>;

/// It ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked, answers) = (listener.local_addr().unwrap(), Arc::default(), Arc::new(answers));
        let log = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answers), Arc::clone(&log)));
            }
        });
        Self { address, asked, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
    /// Every request so far: its head, and its body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, answers: Arc<Answers>, log: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read_request(&mut stream).await else { return };
    let path = request.split(' ').nth(1).unwrap_or("/").split('?').next().unwrap().to_owned();
    log.lock().unwrap().push(request);
    let missing = answer(404, "Content-Type: text/plain\r\n", b"nothing here");
    // The client may be gone: that is for the test to notice.
    stream.write_all(answers.get(path.as_str()).unwrap_or(&missing)).await.ok();
    stream.shutdown().await.ok();
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text.into_owned());
        }
    }
}

/// A whole answer.
pub(crate) fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} Word\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

pub(crate) fn page(content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer(200, &format!("Content-Type: {content_type}\r\n"), body.as_ref())
}

pub(crate) fn redirect(to: &str) -> Vec<u8> {
    answer(302, &format!("Location: {to}\r\n"), b"")
}
