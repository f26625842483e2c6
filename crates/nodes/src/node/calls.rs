//! The calls of a connected gateway: each runs under the node's own policy, and ends when nobody waits for it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{BoxFuture, ErrorKind, ToolError, ToolOutput};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::claims::Claim;
use crate::frame::{About, Frame, failed, pack};
use crate::link::{Arrival, CHUNK, LinkReader, LinkWriter};

/// Calls that run at once.
const MAX_CALLS: usize = 64;
/// No call takes longer, whatever the gateway says.
const LONGEST: Duration = Duration::from_hours(1);

/// A call of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRequest {
    /// The tool of this machine.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The effects that the gateway was permitted.
    pub effects: Value,
}

/// What came of it, and what was planned for it here.
#[derive(Debug)]
pub struct NodeOutcome {
    /// The result or the refusal.
    pub result: Result<ToolOutput, ToolError>,
    /// The effects that this machine planned.
    pub effects: Vec<Claim>,
}

/// Runs calls on this machine, under its own policy. When the future is dropped, the call ends with everything that it started.
pub trait NodeRunner: Send + Sync + 'static {
    /// Runs one call.
    fn run(self: Arc<Self>, request: NodeRequest) -> BoxFuture<'static, NodeOutcome>;
    /// What this machine is and offers.
    fn about(&self) -> About;
}

/// How a connection ended.
#[derive(Debug)]
pub(crate) enum LinkEnd {
    /// It was lost, and may come back.
    Lost(io::Error),
    /// The gateway has ended it.
    Bye { reason: String, is_final: bool },
    /// This machine has.
    Stopped,
}

/// The calls that run.
#[derive(Debug, Default)]
struct NodeCalls(Mutex<HashMap<u64, AbortHandle>>);

impl NodeCalls {
    fn with<T>(&self, change: impl FnOnce(&mut HashMap<u64, AbortHandle>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Answers calls until the connection ends.
pub(crate) async fn serve(mut reader: LinkReader, writer: LinkWriter, runner: Arc<dyn NodeRunner>, stop: &CancellationToken) -> LinkEnd {
    let writer = Arc::new(AsyncMutex::new(writer));
    if let Err(error) = writer.lock().await.send(&Frame::About(runner.about()), &[]).await {
        return LinkEnd::Lost(error);
    }
    let calls = Arc::new(NodeCalls::default());
    let guard = EndAll(Arc::clone(&calls));
    let mut last = 0;
    let reads = async {
        loop {
            match reader.next().await {
                Ok(Arrival::Frame(Frame::Call { id, tool, arguments, effects, timeout_ms }, _)) => {
                    if id <= last {
                        let why = "the gateway repeats a call; nothing was run again";
                        return LinkEnd::Lost(io::Error::new(io::ErrorKind::InvalidData, why));
                    }
                    last = id;
                    let limit = Duration::from_millis(timeout_ms).min(LONGEST);
                    start(id, NodeRequest { tool, arguments, effects }, limit, &runner, &writer, &calls).await;
                }
                Ok(Arrival::Frame(Frame::Cancel { id }, _)) => {
                    if let Some(call) = calls.with(|calls| calls.remove(&id)) {
                        call.abort();
                    }
                }
                Ok(Arrival::Frame(Frame::Bye { reason, is_final }, _)) => return LinkEnd::Bye { reason, is_final },
                Ok(Arrival::Frame(..) | Arrival::Pong) => {}
                Ok(Arrival::Ping(payload)) => {
                    if let Err(error) = writer.lock().await.pong(&payload).await {
                        return LinkEnd::Lost(error);
                    }
                }
                Err(error) => return LinkEnd::Lost(error),
            }
        }
    };
    let end = tokio::select! {
        end = reads => end,
        () = stop.cancelled() => LinkEnd::Stopped,
    };
    drop(guard);
    end
}

/// Ends every call when the connection ends.
struct EndAll(Arc<NodeCalls>);

impl Drop for EndAll {
    fn drop(&mut self) {
        self.0.with(|calls| calls.drain().for_each(|(_, call)| call.abort()));
    }
}

async fn start(
    id: u64,
    request: NodeRequest,
    limit: Duration,
    runner: &Arc<dyn NodeRunner>,
    writer: &Arc<AsyncMutex<LinkWriter>>,
    calls: &Arc<NodeCalls>,
) {
    if calls.with(|calls| calls.len()) >= MAX_CALLS {
        let busy = ToolError::execution(format!("{MAX_CALLS} calls run here already. Wait for one of them."));
        writer.lock().await.send(&failed(id, &busy), &[]).await.ok();
        return;
    }
    let (runner, writer, done) = (Arc::clone(runner), Arc::clone(writer), Arc::clone(calls));
    let call = async move {
        let outcome = tokio::time::timeout(limit, runner.run(request)).await;
        let late = |_| NodeOutcome {
            result: Err(ToolError::new(ErrorKind::Timeout, format!("The call took longer than {} s, and was ended.", limit.as_secs()))),
            effects: Vec::new(),
        };
        let NodeOutcome { result, effects } = outcome.unwrap_or_else(late);
        reply(id, result, effects, &writer).await.ok();
        done.with(|calls| calls.remove(&id));
    };
    // Both under the lock, so that a call that ends at once is taken off the list after it was put there.
    calls.with(|calls| calls.insert(id, tokio::spawn(call).abort_handle()));
}

/// Sends a result, in parts if it is large.
async fn reply(id: u64, result: Result<ToolOutput, ToolError>, effects: Vec<Claim>, writer: &AsyncMutex<LinkWriter>) -> io::Result<()> {
    let output = match result {
        Ok(output) => output,
        Err(error) => return writer.lock().await.send(&failed(id, &error), &[]).await,
    };
    let (content, bytes, details) = pack(output);
    let mut rest = &bytes[..];
    while rest.len() > CHUNK {
        let (part, after) = rest.split_at(CHUNK);
        writer.lock().await.send(&Frame::Part { id }, part).await?;
        rest = after;
    }
    let sent = writer.lock().await.send(&Frame::Done { id, content: content.clone(), details, effects: effects.clone() }, rest).await;
    match sent {
        // Only the details can be too long: they are for people, and the content is bounded by the engine.
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            writer.lock().await.send(&Frame::Done { id, content, details: None, effects }, rest).await
        }
        sent => sent,
    }
}
