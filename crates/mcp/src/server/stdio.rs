//! One client on standard input and output: one JSON message a line.

mod line;
mod message;
mod pending;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use haft_text::display;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::ServerInitializeError;
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::line::line_of;
use self::message::{MessageFault, parse};
use self::pending::{PendingRequests, RequestRefusal};
use super::backend::ToolBackend;
use super::handler::ToolServer;
use crate::lines::{BoundedLines, LineRead};

/// The longest message: the largest arguments of a call, and what is around them.
const LONGEST_LINE: usize = 32 << 20;
/// After this many messages that are none, the connection ends.
const MOST_FAULTS: usize = 100;
/// Refusals that wait for the client to read.
const MOST_REFUSALS: usize = 64;
/// After the end of the input, running calls have this long to end by themselves.
const GRACE: Duration = Duration::from_secs(2);
/// How long calls may take to end after they were cancelled.
const CANCELLED_GRACE: Duration = Duration::from_secs(10);

/// Why the client could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client does not speak the protocol.
    #[error("the client did not begin with 'initialize': {0}")]
    Handshake(String),
    /// The connection failed.
    #[error("the connection to the client failed: {0}")]
    Connection(String),
}

/// Answers the client on standard input and output, until its input ends or the token is cancelled.
pub async fn serve_stdio(backend: Arc<dyn ToolBackend>, stop: &CancellationToken) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    serve(backend, input, output, stop).await
}

/// As [`serve_stdio`], on any pair of streams.
pub async fn serve<R, W>(backend: Arc<dyn ToolBackend>, input: R, output: W, stop: &CancellationToken) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let closing = stop.child_token();
    let server = ToolServer::new(backend, closing.clone());
    let transport = StdioTransport::new(input, output, closing.clone());
    let calls = server.clone();
    let running = match server.serve_with_ct(transport, stop.clone()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error @ ServerInitializeError::TransportError { .. }) => return Err(ServeError::Connection(error.to_string())),
        Err(error) => return Err(ServeError::Handshake(display::escape_line(&error.to_string()).into_owned())),
    };
    let ended = running.waiting().await;
    closing.cancel();
    // Cancelled calls end what they started and are recorded, before the process goes.
    tokio::time::timeout(CANCELLED_GRACE, calls.all_calls_ended()).await.ok();
    ended.map(drop).map_err(|error| ServeError::Connection(error.to_string()))
}

/// Reads and writes messages. Nothing that a client sends is kept beyond one bounded line.
struct StdioTransport<R, W> {
    lines: BoundedLines<BufReader<R>>,
    output: Arc<MessageWriter<W>>,
    pending: Arc<PendingRequests>,
    closing: CancellationToken,
    refusals: Arc<Semaphore>,
    faults: usize,
    /// When to stop waiting for running calls, once the input has ended.
    ends_at: Option<Instant>,
}

struct MessageWriter<W> {
    writer: Mutex<Option<W>>,
    closing: CancellationToken,
}

impl<W: AsyncWrite + Unpin> MessageWriter<W> {
    async fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut writer = self.writer.lock().await;
        let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let written = async {
            writer.write_all(line).await?;
            writer.flush().await
        };
        // A client that reads nothing any more has gone.
        written.await.inspect_err(|_| self.closing.cancel())
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> StdioTransport<R, W> {
    fn new(input: R, output: W, closing: CancellationToken) -> Self {
        Self {
            lines: BoundedLines::new(BufReader::new(input), LONGEST_LINE),
            output: Arc::new(MessageWriter { writer: Mutex::new(Some(output)), closing: closing.clone() }),
            pending: Arc::default(),
            closing,
            refusals: Arc::new(Semaphore::new(MOST_REFUSALS)),
            faults: 0,
            ends_at: None,
        }
    }

    /// Answers what is no request that can be run. Written by a task of its own: a message must not be cut because the read that
    /// found it was cancelled. `None` ends the connection.
    fn refuse(&self, id: Option<RequestId>, error: ErrorData) -> Option<()> {
        let permit = Arc::clone(&self.refusals).try_acquire_owned().ok()?;
        let output = Arc::clone(&self.output);
        tokio::spawn(async move {
            if let Ok(line) = line_of(&mut ServerJsonRpcMessage::error(error, id)) {
                output.write(&line).await.ok();
            }
            drop(permit);
        });
        Some(())
    }

    fn fault(&mut self, fault: MessageFault) -> Option<()> {
        self.faults += 1;
        if self.faults > MOST_FAULTS {
            return None;
        }
        self.refuse(fault.id, fault.error)
    }

    /// Takes a message, or refuses it here.
    fn accept(&self, message: ClientJsonRpcMessage) -> AcceptedMessage {
        let refused = |refused: Option<()>| if refused.is_some() { AcceptedMessage::Refused } else { AcceptedMessage::Overrun };
        match &message {
            JsonRpcMessage::Request(request) => match self.pending.begin(&request.id) {
                Ok(()) => {}
                Err(RequestRefusal::InUse) => {
                    let text = format!("The id {} belongs to another request, which runs or was cancelled: use a new one.", request.id);
                    return refused(self.refuse(None, ErrorData::invalid_request(text, None)));
                }
                Err(RequestRefusal::TooMany) => {
                    let error = ErrorData::internal_error("Too many requests are open: wait for answers first.", None);
                    return refused(self.refuse(Some(request.id.clone()), error));
                }
            },
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    cancelled.params.request_id.iter().for_each(|id| self.pending.cancel(id));
                }
            }
            _ => {}
        }
        AcceptedMessage::Taken(Box::new(message))
    }

    /// Lets running calls end, then ends them.
    async fn end(&mut self) {
        let ends_at = *self.ends_at.get_or_insert_with(|| Instant::now() + GRACE);
        tokio::select! {
            () = self.pending.all_ended() => {}
            () = self.closing.cancelled() => {}
            () = tokio::time::sleep_until(ends_at) => {}
        }
        self.closing.cancel();
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, mut message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => self.pending.end(&response.id),
            JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.pending.end(id)),
            _ => {}
        }
        // A future without the message is small: the service keeps the memory of each until it has looked at its end.
        let (output, line) = (Arc::clone(&self.output), line_of(&mut message));
        async move { output.write(&line?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.lines.read().await {
                Ok(LineRead::Line) if self.lines.line().trim_ascii().is_empty() => {}
                Ok(LineRead::Line) => match parse(self.lines.line()) {
                    Ok(Some(message)) => match self.accept(message) {
                        AcceptedMessage::Taken(message) => return Some(*message),
                        AcceptedMessage::Refused => {}
                        AcceptedMessage::Overrun => return None,
                    },
                    Ok(None) => {}
                    Err(fault) => self.fault(*fault)?,
                },
                Ok(LineRead::TooLong) => {
                    let text = format!("The message is longer than {LONGEST_LINE} bytes: send less, or write it to a file first.");
                    self.fault(MessageFault { id: None, error: ErrorData::invalid_request(text, None) })?;
                }
                Ok(LineRead::End) | Err(_) => {
                    self.end().await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.writer.lock().await.take());
        Ok(())
    }
}

/// What became of a message.
enum AcceptedMessage {
    /// It is answered by the server.
    Taken(Box<ClientJsonRpcMessage>),
    /// It was refused.
    Refused,
    /// The client reads no refusals any more.
    Overrun,
}
