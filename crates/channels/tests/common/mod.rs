//! A server on loopback that speaks HTTP as it is told to, and a channel service with a store of its own.
#![allow(dead_code, clippy::unwrap_used, reason = "helpers of tests; not every file needs all of them")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use haft_channels::{ChannelPorts, ChannelSecret, ChannelService, ChannelSettings};
use haft_contract::ports::ChannelKind;
use haft_store::{ChannelStore, SqliteCallLog};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A request that the server got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// Method and path.
    pub(crate) line: String,
    /// Headers with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Answers with a status, more headers, and a body.
    Answer(u16, &'static str, String),
    /// Reads the request and closes the connection.
    Hangup,
    /// Reads the request and never answers.
    Silence,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::Answer(200, "", body.into())
    }
    pub(crate) fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Answer(status, "", body.into())
    }
}

/// A service that answers in order, and then with its last answer.
pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        let (log, script) = (Arc::clone(&received), Arc::clone(&replies));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&log), Arc::clone(&script)));
            }
        });
        Self { url, received, replies }
    }
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
    pub(crate) fn answer(&self, replies: Vec<Reply>) {
        *self.replies.lock().unwrap() = replies.into();
        self.received.lock().unwrap().clear();
    }
}

async fn serve(stream: TcpStream, log: Arc<Mutex<Vec<Received>>>, replies: Arc<Mutex<VecDeque<Reply>>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        log.lock().unwrap().push(request);
        let reply = {
            let mut replies = replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
        };
        match reply {
            Some(Reply::Answer(status, headers, body)) => {
                let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
                if stream.get_mut().write_all(format!("{head}{body}").as_bytes()).await.is_err() {
                    return;
                }
            }
            Some(Reply::Silence) => std::future::pending::<()>().await,
            Some(Reply::Hangup) | None => return,
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut line = String::new();
    if stream.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Some(Received { line, headers, body })
}

/// Settings of a channel at a server.
pub(crate) fn settings(kind: ChannelKind, url: &str) -> ChannelSettings {
    let mut settings = ChannelSettings::new(kind.as_str(), kind);
    settings.base_url = Some(url.to_owned());
    settings.token = Ok(ChannelSecret::new("TOKEN"));
    settings.secret = Some(Ok(ChannelSecret::new("SECRET")));
    settings
}

/// A service with a store in a folder of its own.
pub(crate) fn service(settings: Vec<ChannelSettings>) -> (TempDir, Arc<ChannelService>, Arc<dyn ChannelStore>) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn ChannelStore> = Arc::new(SqliteCallLog::open(folder.path()).unwrap().log.channels());
    let opened = Arc::clone(&store);
    let service = ChannelService::new(settings, &ChannelPorts::default(), Box::new(move || Ok(Arc::clone(&opened))));
    (folder, Arc::new(service), store)
}
