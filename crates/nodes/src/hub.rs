//! The gateway's side: who is paired, who is connected, and calls to them.

mod open_node;
pub(crate) mod window;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use haft_contract::ports::{NodeCall, NodeDirectory, NodeSummary, PendingNode};
use haft_contract::{BoxFuture, CommandRequest, Effect, ToolError, ToolOutput};
use haft_websocket::{WsMessage, WsRole};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::open_node::OpenNode;
use self::window::{Approved, CodeFault, PairingAnswer, PairingWindow};
use crate::book::{PairedNode, PairingBook};
use crate::command;
use crate::frame::Frame;
use crate::handshake::{HandshakeError, PairingVerdict, Secured, as_gateway};
use crate::keys::{MachineKey, PeerKey};
use crate::link::{BoxStream, OpenSocket, PING};

/// How long a machine may take to prove its key.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Everything about nodes in a server. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct NodeHub {
    inner: Arc<NodeHubState>,
}

#[derive(Debug)]
struct NodeHubState {
    key: MachineKey,
    book: PairingBook,
    window: Mutex<PairingWindow>,
    open: Mutex<HashMap<String, Arc<OpenNode>>>,
    is_default_host: bool,
    stop: CancellationToken,
}

impl NodeHub {
    /// The nodes whose list is in this folder. `is_default_host` says that commands run on a node unless a call says otherwise.
    pub fn open(folder: &Path, is_default_host: bool, stop: CancellationToken) -> io::Result<Self> {
        let key = MachineKey::open(&folder.join("gateway.key"))?;
        let (window, open) = (Mutex::default(), Mutex::default());
        let inner = NodeHubState { key, book: PairingBook::new(folder), window, open, is_default_host, stop };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What a node must know of this gateway to be paired with it.
    pub fn fingerprint(&self) -> String {
        self.inner.key.public().fingerprint()
    }

    // Both hold values that are changed whole, so they are consistent after a panic elsewhere.
    fn window(&self) -> MutexGuard<'_, PairingWindow> {
        self.inner.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn open_nodes(&self) -> MutexGuard<'_, HashMap<String, Arc<OpenNode>>> {
        self.inner.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a WebSocket that a machine has opened, until it is lost.
    pub async fn accept(&self, stream: BoxStream) -> Result<(), HandshakeError> {
        let socket = OpenSocket::new(stream, WsRole::Server);
        let handshake = as_gateway(socket, &self.inner.key, |key, _| self.admit(key));
        let silent = |_| io::Error::from(io::ErrorKind::TimedOut);
        let secured = tokio::select! {
            secured = timeout(HANDSHAKE, handshake) => secured.map_err(silent)??,
            () = self.inner.stop.cancelled() => return Ok(()),
        };
        if secured.is_paired {
            return Ok(self.serve(secured).await?);
        }
        match self.wait_for_approval(secured).await? {
            Some(approved) => Ok(self.serve(approved).await?),
            None => Ok(()),
        }
    }

    fn admit(&self, key: &PeerKey) -> PairingVerdict {
        match self.inner.book.find(key) {
            Ok(Some(_)) => PairingVerdict::Paired,
            Ok(None) => self.window().refusal(Instant::now()).map_or(PairingVerdict::Pending, PairingVerdict::Refused),
            Err(error) => PairingVerdict::Refused(error.to_string()),
        }
    }

    /// Waits until the user has approved or rejected a machine, or the time is over, or it is gone.
    async fn wait_for_approval(&self, mut secured: Secured) -> io::Result<Option<Secured>> {
        let (id, code) = (secured.peer.id(), secured.code.clone());
        let decided = self.window().ask(&secured.peer, &secured.name, &code);
        let left = self.window().time_left(Instant::now()).unwrap_or_default();
        let decision = tokio::select! {
            decision = timeout(left, decided) => decision.ok().and_then(Result::ok),
            () = stay_in_touch(&mut secured) => None,
            () = self.inner.stop.cancelled() => None,
        };
        self.window().withdraw(&id, &code);
        let reason = match decision {
            Some(PairingAnswer::Approved) => {
                let name = self.inner.book.find(&secured.peer)?.map(|node| node.name).unwrap_or_default();
                secured.writer.send(&Frame::Paired { name }, &[]).await?;
                return Ok(Some(secured));
            }
            Some(PairingAnswer::Rejected) => "the user of the gateway has rejected this machine",
            None => "nobody has approved this machine in time",
        };
        secured.writer.send(&Frame::Bye { reason: reason.to_owned(), is_final: true }, &[]).await?;
        Ok(None)
    }

    /// The newest connection of a machine counts: an older one may be dead without either side knowing.
    async fn serve(&self, secured: Secured) -> io::Result<()> {
        let node = OpenNode::new(secured.peer.id(), secured.writer, &self.inner.stop);
        let before = self.open_nodes().insert(node.id.clone(), Arc::clone(&node));
        let _listed = ListedNode { hub: self, node: &node };
        if let Some(before) = before {
            before.end("another connection of this machine has taken its place", false).await;
        }
        // It may have been revoked between the proof of its key and this line.
        if self.inner.book.find(&secured.peer)?.is_none() {
            node.end("this machine was revoked", true).await;
        }
        node.serve(secured.reader).await
    }

    /// Lets machines ask to be paired for this long.
    pub fn open_window(&self, length: Duration) {
        self.window().open(Instant::now(), length);
    }

    /// Pairs the machine whose screen shows this code.
    pub fn approve(&self, code: &str) -> Result<PairedNode, ToolError> {
        let Approved { key, name, answer } = self.window().approve(Instant::now(), code).map_err(|fault| code_fault(&fault))?;
        if answer.is_closed() {
            return Err(ToolError::execution(format!("The machine '{name}' does not ask any more. Start `haft node run` there again.")));
        }
        let node = self.inner.book.add(&key, &name, seconds_now()).map_err(|error| ToolError::execution(error.to_string()))?;
        // A machine that is lost in this moment is paired, and finds that out when it comes back.
        answer.send(PairingAnswer::Approved).ok();
        Ok(node)
    }

    /// Removes a machine, and ends its connection at once.
    pub async fn revoke(&self, wanted: &str) -> Result<PairedNode, ToolError> {
        let node = self.inner.book.resolve(wanted)?;
        self.inner.book.remove(&node.id).map_err(|error| ToolError::execution(error.to_string()))?;
        let open = self.open_nodes().remove(&node.id);
        if let Some(open) = open {
            open.end("the user of the gateway has revoked this machine", true).await;
        }
        Ok(node)
    }

    /// Gives a machine another name.
    pub fn rename(&self, wanted: &str, name: &str) -> Result<PairedNode, ToolError> {
        let node = self.inner.book.resolve(wanted)?;
        let name = self.inner.book.rename(&node.id, name).map_err(|error| ToolError::validation(error.to_string()))?;
        Ok(PairedNode { name, ..node })
    }

    /// Every paired machine, with what it says of itself.
    pub fn summaries(&self) -> Result<Vec<NodeSummary>, ToolError> {
        let nodes = self.inner.book.nodes().map_err(|error| ToolError::execution(error.to_string()))?;
        let open = self.open_nodes();
        let summary = |node: &PairedNode| {
            let about = open.get(&node.id).filter(|node| node.is_open()).map(|node| node.about());
            let connected = Some(about.is_some());
            let about = about.unwrap_or_default();
            let told = |text: String| Some(text).filter(|text| !text.is_empty());
            NodeSummary {
                connected,
                actions: about.actions,
                platform: told(about.platform),
                workspace: told(about.workspace),
                ..node.summary()
            }
        };
        Ok(nodes.iter().map(summary).collect())
    }

    /// Machines that ask to be paired.
    pub fn pending_nodes(&self) -> Vec<PendingNode> {
        self.window().pending(Instant::now())
    }

    /// Refuses a machine that asks.
    pub fn reject_node(&self, id: &str) -> Result<(), ToolError> {
        if self.window().reject(id) {
            return Ok(());
        }
        Err(ToolError::validation("No machine with this id asks to be paired. `haft node list` shows those that do."))
    }

    async fn make_call(&self, call: NodeCall) -> Result<ToolOutput, ToolError> {
        let node = self.inner.book.resolve(&call.node)?;
        if node.name != call.name {
            return Err(ToolError::denied(format!("The node was renamed to '{}' after the call was permitted. Make it again.", node.name)));
        }
        let open = self.open_nodes().get(&node.id).filter(|open| open.is_open()).cloned();
        let Some(open) = open else {
            return Err(ToolError::execution(format!(
                "The node '{}' is not connected, and nothing was run. Start `haft node run` there, or use another one.",
                node.name
            )));
        };
        open.call(call).await
    }
}

/// Takes a connection off the list however its task ends: the list would hold it open.
struct ListedNode<'a> {
    hub: &'a NodeHub,
    node: &'a Arc<OpenNode>,
}

impl Drop for ListedNode<'_> {
    fn drop(&mut self) {
        let mut open = self.hub.open_nodes();
        if open.get(&self.node.id).is_some_and(|current| Arc::ptr_eq(current, self.node)) {
            open.remove(&self.node.id);
        }
    }
}

/// Keeps the connection of a machine that waits; returns when it is lost. Before it is approved, a machine has nothing to say.
async fn stay_in_touch(secured: &mut Secured) {
    let Secured { reader, writer, .. } = secured;
    let pings = async {
        loop {
            tokio::time::sleep(PING).await;
            if writer.ping().await.is_err() {
                return;
            }
        }
    };
    let reads = async { while matches!(reader.socket.next().await, Ok(WsMessage::Pong)) {} };
    tokio::select! {
        () = pings => {}
        () = reads => {}
    }
}

fn code_fault(fault: &CodeFault) -> ToolError {
    match fault {
        CodeFault::Closed => ToolError::denied("No machine may ask to be paired now. Run `haft node pair`, and read its new code."),
        CodeFault::Wrong(left) => ToolError::validation(format!(
            "No machine that asks shows this code. Read it on its screen: `haft node run` prints it there. {left} more tries."
        )),
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl NodeDirectory for NodeHub {
    fn resolve(&self, wanted: &str) -> Result<NodeSummary, ToolError> {
        let node = self.inner.book.resolve(wanted)?;
        let workspace = self.open_nodes().get(&node.id).filter(|open| open.is_open()).map(|open| open.workspace());
        Ok(NodeSummary { workspace: workspace.filter(|folder| !folder.is_empty()), ..node.summary() })
    }
    fn is_default_host(&self) -> bool {
        self.inner.is_default_host
    }
    fn command_effects(&self, node: &NodeSummary, request: &CommandRequest) -> Result<Vec<Effect>, ToolError> {
        command::effects(node, request)
    }
    fn list(&self) -> BoxFuture<'_, Result<Vec<NodeSummary>, ToolError>> {
        Box::pin(async { self.summaries() })
    }
    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingNode>, ToolError>> {
        Box::pin(async { Ok(self.pending_nodes()) })
    }
    fn reject<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { self.reject_node(id) })
    }
    fn call(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.make_call(call))
    }
}

#[cfg(test)]
mod tests;
