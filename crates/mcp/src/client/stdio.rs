//! The connection to a program: one JSON message a line, bounded in both directions.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::failure::ConnectionState;
use crate::lines::{BoundedLines, LineRead};

/// A longer message is refused before it is whole.
pub(crate) const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Messages that wait until the server reads them.
const WAITING: usize = 64;
/// Lines that are no messages; more, and it is no server.
const MAX_STRAY_LINES: usize = 100;
/// Messages of one batch.
const MAX_BATCH: usize = 1_000;
/// Notifications and requests of the server in one period.
const MAX_UNASKED: u32 = 10_000;
const PERIOD: Duration = Duration::from_secs(10);

/// Our side of the standard input and output of a server.
pub(crate) struct LineTransport {
    lines: BoundedLines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    input: Option<mpsc::Sender<Vec<u8>>>,
    /// The rest of a batch.
    batch: VecDeque<RxJsonRpcMessage<RoleClient>>,
    stray_lines: usize,
    flood: FloodGuard,
    state: Arc<ConnectionState>,
}

impl LineTransport {
    pub(crate) fn new(
        output: Box<dyn AsyncRead + Send + Unpin>,
        mut input: Box<dyn AsyncWrite + Send + Unpin>,
        state: Arc<ConnectionState>,
    ) -> Self {
        let (sender, mut lines) = mpsc::channel::<Vec<u8>>(WAITING);
        // Ends when the transport is closed; the server then sees the end of its input.
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if input.write_all(&line).await.is_err() || input.flush().await.is_err() {
                    return;
                }
            }
        });
        let lines = BoundedLines::new(BufReader::with_capacity(64 * 1024, output), MAX_MESSAGE);
        Self { lines, input: Some(sender), batch: VecDeque::new(), stray_lines: 0, flood: FloodGuard::default(), state }
    }

    /// Reads the next line; false at the end, or when it grows too long.
    async fn next_line(&mut self) -> bool {
        match self.lines.read().await {
            Ok(LineRead::Line) => true,
            Ok(LineRead::TooLong) => {
                self.state.fail(format!("it sent a message of more than {} MB", MAX_MESSAGE / 1024 / 1024));
                false
            }
            Ok(LineRead::End) | Err(_) => false,
        }
    }

    /// Takes the messages of the line that was read; stray output is counted. False ends the connection.
    fn take_line(&mut self) -> bool {
        let text = self.lines.line().trim_ascii();
        if text.is_empty() {
            return true;
        }
        let messages = if text.starts_with(b"[") {
            serde_json::from_slice::<Vec<RxJsonRpcMessage<RoleClient>>>(text).ok().filter(|all| all.len() <= MAX_BATCH)
        } else {
            serde_json::from_slice(text).ok().map(|message| vec![message])
        };
        if let Some(messages) = messages {
            self.batch.extend(messages);
            return true;
        }
        let (answer, shown) = (unreadable_answer(text), haft_text::display::escape_bytes(text, 200));
        self.batch.extend(answer);
        self.stray_line(&shown)
    }

    fn stray_line(&mut self, text: &str) -> bool {
        self.stray_lines += 1;
        self.state.log(&format!("not a message: {text}"));
        let is_fine = self.stray_lines <= MAX_STRAY_LINES;
        if !is_fine {
            let last = haft_text::display::shorten(text, 80);
            self.state.fail(format!(
                "it printed more than {MAX_STRAY_LINES} lines that are no messages to its standard output, such as '{last}'"
            ));
        }
        is_fine
    }
}

/// The failure of a request whose answer cannot be read: without it, the request would wait for an answer that was given.
fn unreadable_answer(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    #[derive(Deserialize)]
    struct Answer {
        id: RequestId,
        method: Option<IgnoredAny>,
    }
    let answer: Answer = serde_json::from_slice(text).ok().filter(|answer: &Answer| answer.method.is_none())?;
    Some(JsonRpcMessage::error(ErrorData::internal_error("The answer is none that the protocol has.", None), Some(answer.id)))
}

impl Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (input, line) = (self.input.clone(), serde_json::to_vec(&item));
        async move {
            let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the server reads no more");
            let mut line = line.map_err(io::Error::other)?;
            line.push(b'\n');
            input.ok_or_else(closed)?.send(line).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.batch.pop_front() {
                match self.flood.admit(&message) {
                    Admission::Pass => return Some(message),
                    Admission::Drop => continue,
                    Admission::Refuse => {
                        self.state
                            .fail(format!("it sent more than {MAX_UNASKED} messages that nobody asked for in {} s", PERIOD.as_secs()));
                        return None;
                    }
                }
            }
            if !self.next_line().await || !self.take_line() {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.input = None;
        Ok(())
    }
}

/// What becomes of a message.
#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Pass,
    Drop,
    Refuse,
}

/// Counts what a server sends unasked.
#[derive(Debug)]
struct FloodGuard {
    since: Instant,
    count: u32,
}

impl Default for FloodGuard {
    fn default() -> Self {
        Self { since: Instant::now(), count: 0 }
    }
}

impl FloodGuard {
    fn admit(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> Admission {
        use rmcp::model::ServerNotification;
        let is_log = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return Admission::Pass,
            JsonRpcMessage::Notification(notification) => {
                matches!(notification.notification, ServerNotification::LoggingMessageNotification(_))
            }
            JsonRpcMessage::Request(_) => false,
        };
        if self.since.elapsed() > PERIOD {
            *self = Self::default();
        }
        self.count += 1;
        match is_log {
            _ if self.count > MAX_UNASKED => Admission::Refuse,
            // Nobody reads them, and each would be a task.
            true => Admission::Drop,
            false => Admission::Pass,
        }
    }
}
