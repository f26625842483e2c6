//! The node's side: connects to its gateway, and comes back when the connection is lost.

pub(crate) mod calls;
pub(crate) mod dial;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_text::display;
use haft_websocket::WsRole;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use self::calls::{LinkEnd, NodeRunner, serve};
use self::dial::GatewayAddress;
use crate::frame::Frame;
use crate::handshake::{HandshakeError, Secured, as_node};
use crate::keys::{MachineKey, PeerKey};
use crate::link::{Arrival, OpenSocket};

/// How long the first wait is before a connection is tried again; each is twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How long a machine waits to be approved.
const APPROVAL: Duration = Duration::from_mins(15);

/// The gateway that this machine is paired with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedGateway {
    /// Where it is.
    pub url: String,
    /// Its public key, in hexadecimal.
    pub key: String,
    /// What it calls this machine.
    pub name: String,
}

/// What this machine stores: its key and its gateway.
#[derive(Debug)]
pub struct NodeStore {
    folder: PathBuf,
}

impl NodeStore {
    /// In this folder, which need not exist.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("gateway.json")
    }

    /// The key of this machine.
    pub fn key(&self) -> io::Result<MachineKey> {
        MachineKey::open(&self.folder.join("node.key"))
    }

    /// The gateway; an error if the file cannot be read, because another gateway must not take its place then.
    pub fn gateway(&self) -> io::Result<Option<PinnedGateway>> {
        match fs::read(self.file()) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).map_err(|error| {
                io::Error::other(format!("{} cannot be read: {error}. Remove it, and pair again.", self.file().display()))
            })?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Pins a gateway.
    pub fn pin(&self, gateway: &PinnedGateway) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let temporary = self.folder.join("gateway.new");
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(&serde_json::to_vec_pretty(gateway)?)?;
        file.sync_all()?;
        fs::rename(temporary, self.file())
    }

    /// Removes the pairing; whether there was one.
    pub fn forget(&self) -> io::Result<bool> {
        match fs::remove_file(self.file()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What happens to a node, for the user at its screen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeEvent {
    /// It waits to be approved; the gateway asks for this code.
    Waiting {
        /// The code.
        code: String,
    },
    /// It is paired.
    Paired {
        /// What the gateway calls it.
        name: String,
        /// The id of the gateway.
        gateway: String,
    },
    /// It is connected.
    Connected {
        /// What the gateway calls it.
        name: String,
    },
    /// The connection is lost, and will be tried again.
    Lost {
        /// Why.
        why: String,
        /// After this time.
        wait: Duration,
    },
}

/// Watches a node.
pub type NodeWatcher = Arc<dyn Fn(&NodeEvent) + Send + Sync>;

/// A machine that works for a gateway.
pub struct NodeClient {
    /// Where the gateway is.
    pub url: String,
    /// The name that it asks for.
    pub name: String,
    /// Its key and its gateway.
    pub store: NodeStore,
    /// What runs its calls.
    pub runner: Arc<dyn NodeRunner>,
    /// Who watches.
    pub watcher: NodeWatcher,
}

haft_contract::opaque_debug!(NodeClient: url = url, name = name);

/// Why a node has ended for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEnded(pub String);

impl std::fmt::Display for NodeEnded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl NodeClient {
    /// Works until it is stopped; an error means that coming back would not help.
    pub async fn run(&self, stop: &CancellationToken) -> Result<(), NodeEnded> {
        let address = GatewayAddress::parse(&self.url).map_err(NodeEnded)?;
        if address.fingerprint().is_none() && self.store.gateway().map_err(ended)?.is_none() {
            return Err(NodeEnded(format!(
                "{} does not say which gateway it is. Use the address that `haft node pair` prints there, with its #",
                self.url
            )));
        }
        let key = self.store.key().map_err(ended)?;
        let mut wait = FIRST_WAIT;
        loop {
            let end = tokio::select! {
                end = self.connect(&address, &key, stop, &mut wait) => end?,
                () = stop.cancelled() => return Ok(()),
            };
            let why = match end {
                LinkEnd::Stopped => return Ok(()),
                LinkEnd::Bye { reason, is_final: true } => return Err(self.dismissed(&reason)),
                LinkEnd::Bye { reason, .. } => escape(&reason),
                LinkEnd::Lost(error) => escape(&error.to_string()),
            };
            (self.watcher)(&NodeEvent::Lost { why, wait });
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => return Ok(()),
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// One connection, from its beginning to its end.
    async fn connect(
        &self,
        address: &GatewayAddress,
        key: &MachineKey,
        stop: &CancellationToken,
        wait: &mut Duration,
    ) -> Result<LinkEnd, NodeEnded> {
        let stream = match address.connect().await {
            Ok(stream) => stream,
            Err(error) => return Ok(LinkEnd::Lost(error)),
        };
        let pinned = self.store.gateway().map_err(ended)?;
        let pinned_key = pinned.as_ref().and_then(|gateway| PeerKey::from_hex(&gateway.key));
        if pinned.is_some() && pinned_key.is_none() {
            return Err(NodeEnded("the stored key of the gateway is none. Run `haft node run --forget`, and pair again".into()));
        }
        let is_expected = |found: &PeerKey| match &pinned_key {
            Some(pinned) => pinned == found,
            None => address.fingerprint() == Some(found.fingerprint().as_str()),
        };
        let handshake = as_node(OpenSocket::new(stream, WsRole::Client), key, is_expected, &self.name);
        let secured = match tokio::time::timeout(Duration::from_secs(15), handshake).await {
            Ok(Ok(secured)) => secured,
            Ok(Err(HandshakeError::Lost(error))) => return Ok(LinkEnd::Lost(error)),
            Ok(Err(HandshakeError::Refused(why))) => return Err(NodeEnded(why)),
            Err(_) => return Ok(LinkEnd::Lost(io::ErrorKind::TimedOut.into())),
        };
        let (secured, name) = match self.paired(secured, pinned).await? {
            Ok(paired) => paired,
            Err(end) => return Ok(end),
        };
        *wait = FIRST_WAIT;
        (self.watcher)(&NodeEvent::Connected { name });
        Ok(serve(secured.reader, secured.writer, Arc::clone(&self.runner), stop).await)
    }

    /// Waits to be approved, if the gateway does not know this machine yet. Pins the gateway.
    async fn paired(&self, mut secured: Secured, pinned: Option<PinnedGateway>) -> Result<Result<(Secured, String), LinkEnd>, NodeEnded> {
        let name = match (&pinned, secured.is_paired) {
            (Some(pinned), true) => return Ok(Ok((secured, pinned.name.clone()))),
            // It was approved while this machine was away; or this machine has forgotten it, and the user named the gateway again.
            (None, true) => secured.name.clone(),
            (_, false) => {
                (self.watcher)(&NodeEvent::Waiting { code: secured.code.clone() });
                match tokio::time::timeout(APPROVAL, approval(&mut secured)).await {
                    Ok(Ok(name)) => name,
                    Ok(Err(end)) => return Ok(Err(end)),
                    Err(_) => return Err(NodeEnded("nobody has approved this machine in time. Run it again".into())),
                }
            }
        };
        let gateway = PinnedGateway { url: self.url.clone(), key: secured.peer.to_hex(), name: name.clone() };
        self.store.pin(&gateway).map_err(ended)?;
        (self.watcher)(&NodeEvent::Paired { name: name.clone(), gateway: secured.peer.id() });
        Ok(Ok((secured, name)))
    }

    /// The gateway has ended it for good: the pairing is of no use any more.
    fn dismissed(&self, reason: &str) -> NodeEnded {
        self.store.forget().ok();
        NodeEnded(format!("{}. To pair again, run `haft node pair` at the gateway, and `haft node run` here", escape(reason)))
    }
}

/// Waits for the answer of the user at the gateway.
async fn approval(secured: &mut Secured) -> Result<String, LinkEnd> {
    loop {
        match secured.reader.next().await {
            Ok(Arrival::Frame(Frame::Paired { name }, _)) => return Ok(escape(&name)),
            Ok(Arrival::Frame(Frame::Bye { reason, is_final }, _)) => return Err(LinkEnd::Bye { reason, is_final }),
            Ok(Arrival::Ping(payload)) => secured.writer.pong(&payload).await.map_err(LinkEnd::Lost)?,
            Ok(_) => return Err(LinkEnd::Lost(io::Error::other("the gateway calls before it is paired"))),
            Err(error) => return Err(LinkEnd::Lost(error)),
        }
    }
}

fn escape(text: &str) -> String {
    display::escape_line(&display::shorten(text, 300)).into_owned()
}

fn ended(error: impl std::fmt::Display) -> NodeEnded {
    NodeEnded(error.to_string())
}

#[cfg(test)]
mod tests;
