//! A client that writes lines and reads lines, right or wrong.

use std::sync::Arc;
use std::time::Duration;

use haft_mcp::server::{ServeError, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::fixtures::FixtureBackend;

/// Nothing in these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct WireClient {
    writer: Option<DuplexStream>,
    lines: Lines<BufReader<DuplexStream>>,
    pub(crate) backend: Arc<FixtureBackend>,
    pub(crate) stop: CancellationToken,
    server: JoinHandle<Result<(), ServeError>>,
}

impl WireClient {
    /// A client that has sent nothing yet.
    pub(crate) fn connect() -> Self {
        // Two pipes, of which each can be closed alone.
        let (writer, input) = tokio::io::duplex(1 << 20);
        let (reader, output) = tokio::io::duplex(1 << 20);
        let (backend, stop) = (FixtureBackend::new(), CancellationToken::new());
        let (shared, token) = (Arc::clone(&backend), stop.clone());
        let server = tokio::spawn(async move { serve(shared, input, output, &token).await });
        Self { writer: Some(writer), lines: BufReader::new(reader).lines(), backend, stop, server }
    }

    /// A client that has shaken hands.
    pub(crate) async fn start(version: &str, capabilities: Value) -> (Self, Value) {
        let mut client = Self::connect();
        let hello = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}});
        let answer = client.request(1000, "initialize", hello).await;
        client.notify("notifications/initialized", json!({})).await;
        (client, answer["result"].clone())
    }

    pub(crate) async fn plain() -> Self {
        Self::start("2025-11-25", json!({})).await.0
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.writer.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    /// Writes as much as the server reads.
    pub(crate) async fn try_write(&mut self, bytes: &[u8]) {
        self.writer.as_mut().unwrap().write_all(bytes).await.ok();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("a message in time").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The next answer to this id; other messages are returned with it.
    pub(crate) async fn answer(&mut self, id: i64) -> (Value, Vec<Value>) {
        let mut others = Vec::new();
        loop {
            let message = self.next().await.expect("an answer");
            if message["id"] == id && message.get("method").is_none() {
                return (message, others);
            }
            others.push(message);
        }
    }

    pub(crate) async fn request(&mut self, id: i64, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        self.answer(id).await.0
    }

    pub(crate) async fn call(&mut self, id: i64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Ends the input; returns how the server ended.
    pub(crate) async fn close(mut self) -> Result<(), ServeError> {
        if let Some(mut writer) = self.writer.take() {
            writer.shutdown().await.ok();
        }
        tokio::time::timeout(PATIENCE, self.server).await.expect("an end in time").unwrap()
    }

    /// Ends the input; answers are still read.
    pub(crate) async fn end_input(&mut self) {
        self.writer.as_mut().unwrap().shutdown().await.unwrap();
    }

    /// Reads no answer any more, and calls once more; returns how the server ended.
    pub(crate) async fn stop_reading_and_call(self, tool: &str) -> Result<(), ServeError> {
        let Self { mut writer, lines, server, .. } = self;
        drop(lines);
        let call = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": tool}});
        writer.as_mut().unwrap().write_all(format!("{call}\n").as_bytes()).await.unwrap();
        tokio::time::timeout(PATIENCE, server).await.expect("an end in time").unwrap()
    }

    /// Goes away without a word.
    pub(crate) async fn vanish(self) -> Result<(), ServeError> {
        let Self { writer, lines, server, .. } = self;
        drop((writer, lines));
        tokio::time::timeout(PATIENCE, server).await.expect("an end in time").unwrap()
    }
}
