//! A socket of this user alone, over which other programs of Haft use the nodes of the running server.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::ports::{NodeCall, NodeDirectory, NodeSummary, PendingNode};
use haft_contract::{BoxFuture, CommandRequest, Effect, ToolError, ToolOutput};
use haft_text::base64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use crate::book::PairingBook;
use crate::command;
use crate::frame::{ContentBlock, kind, pack, unpack};
use crate::hub::NodeHub;

/// The longest request or answer, with a picture in base64.
const MAX_BYTES: u64 = 64 << 20;

/// What another program asks of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ControlRequest {
    /// The paired nodes.
    List,
    /// The machines that ask.
    Pending,
    /// Let machines ask to be paired.
    Open {
        /// For this long.
        seconds: u64,
    },
    /// Pair the machine that shows this code.
    Approve {
        /// The code.
        code: String,
    },
    /// Refuse a machine that asks.
    Reject {
        /// Its id.
        id: String,
    },
    /// Remove a node.
    Revoke {
        /// Which.
        node: String,
    },
    /// Rename a node.
    Rename {
        /// Which.
        node: String,
        /// The new name.
        name: String,
    },
    /// Make a call.
    Call(NodeCall),
}

#[derive(Debug, Serialize, Deserialize)]
struct ControlAnswer {
    #[serde(default, skip_serializing_if = "Value::is_null")]
    value: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<(String, String)>,
}

/// Answers other programs of this user.
#[derive(Debug)]
pub struct ControlServer {
    listener: UnixListener,
    path: PathBuf,
    hub: NodeHub,
}

impl ControlServer {
    /// Listens; `None` if another server does already.
    pub async fn bind(path: &Path, hub: NodeHub) -> io::Result<Option<Self>> {
        if UnixStream::connect(path).await.is_ok() {
            return Ok(None);
        }
        std::fs::remove_file(path).ok();
        let listener = UnixListener::bind(path)?;
        // The folder is private; this is the second lock.
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        Ok(Some(Self { listener, path: path.to_owned(), hub }))
    }

    /// Answers until it is stopped.
    pub async fn serve(self, stop: &CancellationToken) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let hub = self.hub.clone();
                    tokio::spawn(async move { answer(stream, &hub).await });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// One request and its answer. A program that goes away gives its call up.
async fn answer(stream: UnixStream, hub: &NodeHub) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read.take(MAX_BYTES));
    let mut line = Vec::new();
    read.read_until(b'\n', &mut line).await?;
    let request: ControlRequest = serde_json::from_slice(&line)?;
    let result = tokio::select! {
        result = perform(request, hub) => result,
        _ = read.read_u8() => return Ok(()),
    };
    let answer = match result {
        Ok(value) => ControlAnswer { value, error: None },
        Err(error) => ControlAnswer { value: Value::Null, error: Some((error.kind().as_str().into(), error.message().into())) },
    };
    let mut bytes = serde_json::to_vec(&answer)?;
    bytes.push(b'\n');
    write.write_all(&bytes).await
}

async fn perform(request: ControlRequest, hub: &NodeHub) -> Result<Value, ToolError> {
    Ok(match request {
        ControlRequest::List => json!(hub.summaries()?),
        ControlRequest::Pending => json!(hub.pending_nodes()),
        ControlRequest::Open { seconds } => {
            hub.open_window(Duration::from_secs(seconds.min(3600)));
            json!(hub.fingerprint())
        }
        ControlRequest::Approve { code } => json!(hub.approve(&code)?.summary()),
        ControlRequest::Reject { id } => {
            hub.reject_node(&id)?;
            Value::Null
        }
        ControlRequest::Revoke { node } => json!(hub.revoke(&node).await?.summary()),
        ControlRequest::Rename { node, name } => json!(hub.rename(&node, &name)?.summary()),
        ControlRequest::Call(call) => {
            let (blocks, bytes, details) = pack(hub.call(call).await?);
            json!({ "blocks": blocks, "bytes": base64::encode(&bytes), "details": details })
        }
    })
}

/// The nodes of a server that runs in another process of this user.
#[derive(Debug, Clone)]
pub struct ControlClient {
    socket: PathBuf,
    book: PairingBook,
    is_default_host: bool,
}

impl ControlClient {
    /// By the socket of the server, and the folder of its list.
    pub fn new(socket: PathBuf, folder: &Path, is_default_host: bool) -> Self {
        Self { socket, book: PairingBook::new(folder), is_default_host }
    }

    /// Asks the server; `None` if there is none.
    pub async fn ask(&self, request: &ControlRequest) -> Result<Option<Value>, ToolError> {
        let Ok(stream) = UnixStream::connect(&self.socket).await else { return Ok(None) };
        let lost = |error: io::Error| {
            ToolError::execution(format!("Outcome unknown: the server that has the nodes went away ({error}). Look before you repeat it."))
        };
        let line = exchange(stream, request).await.map_err(lost)?;
        let answer: ControlAnswer = serde_json::from_slice(&line).map_err(|error| lost(error.into()))?;
        match answer.error {
            Some((name, message)) => Err(ToolError::new(kind(&name), message)),
            None => Ok(Some(answer.value)),
        }
    }

    async fn needed(&self, request: &ControlRequest) -> Result<Value, ToolError> {
        self.ask(request).await?.ok_or_else(|| {
            ToolError::execution("No server runs that nodes are connected to. The user starts one with `haft serve`; nothing was done.")
        })
    }

    async fn make_call(&self, call: NodeCall) -> Result<ToolOutput, ToolError> {
        let broken = |why: &str| ToolError::execution(format!("The server answered something else than a result: {why}."));
        let answer = self.needed(&ControlRequest::Call(call)).await?;
        let blocks: Vec<ContentBlock> = serde_json::from_value(answer["blocks"].clone()).map_err(|error| broken(&error.to_string()))?;
        let bytes = answer["bytes"].as_str().and_then(base64::decode).ok_or_else(|| broken("it has no content"))?;
        unpack(blocks, &bytes, Some(answer["details"].clone()).filter(|details| !details.is_null())).map_err(broken)
    }
}

async fn exchange(mut stream: UnixStream, request: &ControlRequest) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(request)?;
    bytes.push(b'\n');
    stream.write_all(&bytes).await?;
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_BYTES)).read_until(b'\n', &mut line).await?;
    if line.ends_with(b"\n") { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

impl NodeDirectory for ControlClient {
    fn resolve(&self, wanted: &str) -> Result<NodeSummary, ToolError> {
        self.book.resolve(wanted).map(|node| node.summary())
    }
    fn is_default_host(&self) -> bool {
        self.is_default_host
    }
    fn command_effects(&self, node: &NodeSummary, request: &CommandRequest) -> Result<Vec<Effect>, ToolError> {
        command::effects(node, request)
    }
    fn list(&self) -> BoxFuture<'_, Result<Vec<NodeSummary>, ToolError>> {
        Box::pin(async {
            if let Some(list) = self.ask(&ControlRequest::List).await? {
                return serde_json::from_value(list).map_err(|error| ToolError::execution(error.to_string()));
            }
            // Without a server nobody is connected.
            let nodes = self.book.nodes().map_err(|error| ToolError::execution(error.to_string()))?;
            Ok(nodes.iter().map(|node| NodeSummary { connected: Some(false), ..node.summary() }).collect())
        })
    }
    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingNode>, ToolError>> {
        Box::pin(async {
            let pending = self.ask(&ControlRequest::Pending).await?;
            pending.map_or_else(
                || Ok(Vec::new()),
                |list| serde_json::from_value(list).map_err(|error| ToolError::execution(error.to_string())),
            )
        })
    }
    fn reject<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { self.needed(&ControlRequest::Reject { id: id.to_owned() }).await.map(drop) })
    }
    fn call(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.make_call(call))
    }
}
