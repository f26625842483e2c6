//! Nodes: paired machines that run calls of the gateway under their own policy.
//!
//! A node opens one WebSocket to the gateway ([`NodeClient`]), where the [`NodeHub`] knows who is paired. Both prove their keys when a connection
//! begins, and every message after that is sealed and counted. A call brings the plan that was permitted at the gateway; the node plans it
//! again, refuses it if its own plan has other effects ([`NodePolicy`]), and runs what its own policy allows. When the connection is lost,
//! the gateway answers that the outcome is unknown, and the node ends what nobody waits for.

// The derive writes `::haft::…`, which is what embedding programs depend on; here it is the contract itself.
extern crate haft_contract as haft;

pub mod claims;
pub mod device;

mod book;
mod cipher;
mod command;
mod control;
mod frame;
mod handshake;
mod hub;
mod keys;
mod link;
mod node;
mod policy;
mod resolve;

pub use self::book::{PairedNode, PairingBook};
pub use self::control::{ControlClient, ControlRequest, ControlServer};
pub use self::frame::About;
pub use self::handshake::{HandshakeError, PROTOCOL};
pub use self::hub::NodeHub;
pub use self::hub::window::DEFAULT_WINDOW;
pub use self::keys::{MachineKey, PeerKey};
pub use self::link::{BoxStream, LinkStream};
pub use self::node::calls::{NodeOutcome, NodeRequest, NodeRunner};
pub use self::node::dial::{GatewayAddress, NODE_PATH};
pub use self::node::{NodeClient, NodeEnded, NodeEvent, NodeStore, NodeWatcher, PinnedGateway};
pub use self::policy::{CallClaims, NodePolicy, real_root};
