//! One client on standard input and output: one JSON message a line.

mod output;

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_text::display;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonObject, JsonRpcMessage, MetaObject, RequestId, RequestMetaObject,
    ServerJsonRpcMessage,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::Transport;
use rmcp::{Peer, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::output::MessageOutput;
use super::answer::{push_answer, push_message};
use super::backend::ToolBackend;
use super::client_session::ClientSession;
use super::early_call::{EarlyOutcome, ReadyClient};
use super::handler::ToolServer;
use super::message::{DirectCall, MessageFault, ParsedLine, parse};
use super::pending::PendingRequests;
use crate::lines::{BoundedLines, LineRead};

/// The longest message: the largest arguments of a call, and what is around them.
const LONGEST_LINE: usize = 32 << 20;
/// After this many messages that are none, the connection ends.
const MOST_FAULTS: usize = 100;
/// Refusals that wait for the client to read.
const MOST_REFUSALS: usize = 64;
/// After the end of the input, running calls have this long to end by themselves.
const GRACE: Duration = Duration::from_secs(2);
/// Answers wait for others that can be given at once, up to this many bytes.
const TOGETHER: usize = 64 * 1024;
/// Answers that a client may leave unread, in bytes: beyond it nothing of it is read either.
const MOST_UNREAD: usize = 16 << 20;
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
    let transport = StdioTransport::new(server.clone(), input, output, closing.clone());
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
///
/// Calls, which are nearly all messages, and the list of tools, with which clients begin, are answered here without the SDK, which knows of
/// neither the request nor the answer; all else (the handshake, other lists, notifications, questions to the client and their answers) is the SDK's.
struct StdioTransport<R, W> {
    server: ToolServer,
    lines: BoundedLines<BufReader<R>>,
    output: Arc<MessageOutput<W>>,
    pending: Arc<PendingRequests>,
    closing: CancellationToken,
    refusals: Arc<Semaphore>,
    faults: usize,
    /// Whether answers wait for a flush.
    has_answers: bool,
    /// When to stop waiting for running calls, once the input has ended.
    ends_at: Option<Instant>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> StdioTransport<R, W> {
    fn new(server: ToolServer, input: R, output: W, closing: CancellationToken) -> Self {
        Self {
            server,
            lines: BoundedLines::new(BufReader::new(input), LONGEST_LINE),
            output: Arc::new(MessageOutput::new(output, closing.clone())),
            pending: Arc::default(),
            closing,
            refusals: Arc::new(Semaphore::new(MOST_REFUSALS)),
            faults: 0,
            has_answers: false,
            ends_at: None,
        }
    }

    /// Answers what is no request that can be run. Written by a task of its own: a message must not be cut because the read that
    /// found it was cancelled. `None` ends the connection.
    fn refuse(&self, id: Option<RequestId>, error: ErrorData) -> Option<()> {
        let permit = Arc::clone(&self.refusals).try_acquire_owned().ok()?;
        let output = Arc::clone(&self.output);
        output.push(|line| push_message(line, &ServerJsonRpcMessage::error(error, id))).ok()?;
        tokio::spawn(async move {
            output.flush().await.ok();
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
    fn accept(&self, message: Box<ClientJsonRpcMessage>) -> AcceptedMessage {
        match &*message {
            JsonRpcMessage::Request(request) => {
                if let Some(refused) = self.begin(&request.id, None) {
                    return refused;
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    cancelled.params.request_id.iter().for_each(|id| self.pending.cancel(id));
                }
            }
            _ => {}
        }
        AcceptedMessage::Taken(message)
    }

    /// Begins a request, unless it is refused.
    fn begin(&self, id: &RequestId, cancel: Option<&CancellationToken>) -> Option<AcceptedMessage> {
        let refusal = self.pending.begin(id, cancel).err()?;
        let (id, error) = refusal.answer(id);
        let refused = self.refuse(id, error);
        Some(if refused.is_some() { AcceptedMessage::Refused } else { AcceptedMessage::Overrun })
    }

    /// Answers with the tools, or hands the request to the SDK.
    fn accept_list(&mut self, id: &RequestId, message: Value) -> AcceptedMessage {
        let listing = self.server.direct_client().map(|_| self.server.listing()).filter(|listing| listing.is_one_page());
        let Some(listing) = listing else {
            return match serde_json::from_value(message) {
                Ok(message) => self.accept(message),
                Err(_) => AcceptedMessage::Refused,
            };
        };
        if let Some(refused) = self.begin(id, None) {
            return refused;
        }
        self.pending.end_with(id, || drop(self.output.push(|text| listing.push_answer(text, id))));
        self.has_answers = true;
        AcceptedMessage::Answered
    }

    /// Answers a call, or hands it to the SDK.
    fn accept_call(&mut self, call: DirectCall) -> AcceptedMessage {
        let Some(client) = self.server.direct_client().filter(|_| call.is_plain()).cloned() else {
            return self.accept(Box::new(call.into_message()));
        };
        let cancel = CancellationToken::new();
        if let Some(refused) = self.begin(&call.id, Some(&cancel)) {
            return refused;
        }
        match (client.ready(), client.direct_peer()) {
            (Some(ready), _) => self.answer_at_once(call, client, ready, cancel),
            (None, Some(peer)) => self.answer(call, peer.clone(), cancel),
            (None, None) => self.pending.end(&call.id),
        }
        AcceptedMessage::Answered
    }

    /// Runs a call of a client that has called before. Most are done at once, and cost neither a task nor a context.
    fn answer_at_once(&mut self, call: DirectCall, client: Arc<ClientSession>, ready: ReadyClient, cancel: CancellationToken) {
        let DirectCall { id, params, meta } = call;
        let shape = self.server.shape(&params.name);
        let early = match client.begin(ready, params, shape, cancel.clone()) {
            EarlyOutcome::Answered(answer) => {
                self.pending.end_with(&id, || drop(self.output.push(|line| push_answer(line, id.clone(), answer))));
                self.has_answers = true;
                return;
            }
            EarlyOutcome::Runs(early) => early,
        };
        let Some(peer) = client.direct_peer().cloned() else { return self.pending.end(&id) };
        let context = context(id.clone(), peer, cancel, meta);
        let (output, pending) = (Arc::clone(&self.output), Arc::clone(&self.pending));
        tokio::spawn(async move {
            let continued = AssertUnwindSafe(client.continue_early(shape, early, context)).catch_unwind().await;
            let answer = continued.unwrap_or_else(|_| Err(ended_without_result()));
            pending.end_with(&id, || drop(output.push(|line| push_answer(line, id.clone(), answer))));
            output.flush().await.ok();
        });
    }

    /// Runs a call. Those that are not done at once continue behind this.
    fn answer(&mut self, call: DirectCall, peer: Peer<RoleServer>, cancel: CancellationToken) {
        let DirectCall { id, params, meta } = call;
        let context = context(id.clone(), peer, cancel, meta);
        let (server, output, pending) = (self.server.clone(), Arc::clone(&self.output), Arc::clone(&self.pending));
        let mut answering = Box::pin(async move {
            let called = AssertUnwindSafe(server.call_tool(params, context)).catch_unwind().await;
            let answer = called.unwrap_or_else(|_| Err(ended_without_result()));
            pending.end_with(&id, || drop(output.push(|line| push_answer(line, id.clone(), answer))));
        });
        if (&mut answering).now_or_never().is_some() {
            self.has_answers = true;
            return;
        }
        let output = Arc::clone(&self.output);
        tokio::spawn(async move {
            answering.await;
            output.flush().await.ok();
        });
    }

    /// Writes the answers that were given, unless the next message is here as well and may be answered with them.
    fn send_answers(&mut self) {
        if self.has_answers && !(self.lines.has_next() && self.output.len() < TOGETHER) {
            self.has_answers = false;
            self.output.flush_behind();
        }
    }

    /// Waits while the client leaves too many answers unread. `None` if it has gone.
    async fn wait_for_reader(&mut self) -> Option<()> {
        if self.output.len() > MOST_UNREAD {
            self.output.flush().await.ok()?;
        }
        Some(())
    }

    /// The next line; the end as well when the client takes no answers any more.
    async fn read(&mut self) -> io::Result<LineRead> {
        tokio::select! {
            biased;
            read = self.lines.read() => read,
            () = self.closing.cancelled() => Ok(LineRead::End),
        }
    }

    /// Lets running calls end, then ends them; those have their answers as well.
    async fn end(&mut self) {
        let ends_at = *self.ends_at.get_or_insert_with(|| Instant::now() + GRACE);
        tokio::select! {
            () = self.pending.all_ended() => {}
            () = self.closing.cancelled() => {}
            () = tokio::time::sleep_until(ends_at) => {}
        }
        self.closing.cancel();
        tokio::time::timeout_at(ends_at + GRACE, self.pending.all_ended()).await.ok();
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        match &message {
            JsonRpcMessage::Response(response) => self.pending.end(&response.id),
            JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.pending.end(id)),
            _ => {}
        }
        let (output, pushed) = (Arc::clone(&self.output), self.output.push(|line| push_message(line, &message)));
        async move {
            pushed?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.send_answers();
            self.wait_for_reader().await?;
            let accepted = match self.read().await {
                Ok(LineRead::Line) if self.lines.line().trim_ascii().is_empty() => continue,
                Ok(LineRead::Line) => match parse(self.lines.line()) {
                    Ok(ParsedLine::Call(call)) => self.accept_call(call),
                    Ok(ParsedLine::List(id, message)) => self.accept_list(&id, message),
                    Ok(ParsedLine::Message(message)) => self.accept(message),
                    Ok(ParsedLine::Nothing) => continue,
                    Err(fault) => {
                        self.fault(*fault)?;
                        continue;
                    }
                },
                Ok(LineRead::TooLong) => {
                    let text = format!("The message is longer than {LONGEST_LINE} bytes: send less, or write it to a file first.");
                    self.fault(MessageFault { id: None, error: ErrorData::invalid_request(text, None) })?;
                    continue;
                }
                Ok(LineRead::End) | Err(_) => {
                    self.end().await;
                    return None;
                }
            };
            match accepted {
                AcceptedMessage::Taken(message) => return Some(*message),
                AcceptedMessage::Answered | AcceptedMessage::Refused => {}
                AcceptedMessage::Overrun => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Answers that were given before the end.
        tokio::time::timeout(GRACE, self.output.flush()).await.ok();
        self.output.close().await;
        Ok(())
    }
}

/// What a call of the usual shape says of itself.
fn context(id: RequestId, peer: Peer<RoleServer>, cancel: CancellationToken, meta: Option<JsonObject>) -> RequestContext<RoleServer> {
    let mut context = RequestContext::new(id, peer);
    context.ct = cancel;
    if let Some(meta) = meta {
        context.meta = RequestMetaObject(MetaObject(meta));
    }
    context
}

fn ended_without_result() -> ErrorData {
    ErrorData::internal_error("The call ended without a result.", None)
}

/// What became of a message.
enum AcceptedMessage {
    /// It is answered by the SDK.
    Taken(Box<ClientJsonRpcMessage>),
    /// It is a call that runs, or is done.
    Answered,
    /// It was refused.
    Refused,
    /// The client reads no refusals any more.
    Overrun,
}
