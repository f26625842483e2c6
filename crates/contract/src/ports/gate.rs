//! Ports for decisions on effects that no plan could name.

use std::sync::Arc;

use serde::Serialize;

use crate::{BoxFuture, CallInfo, Connect, Effect, ToolError};

/// Decides on an effect that could not be planned, such as the next hop of a redirect.
pub trait Gate: Send + Sync {
    /// Allowed only if the session's policy allows it without asking.
    fn allows(&self, call: &CallInfo, effect: &Effect) -> Result<(), ToolError>;
    /// The same decisions after the call, for a job that continues: it does not keep the session alive, and allows nothing once that
    /// has ended.
    fn after_call(&self) -> Arc<dyn Gate>;
}

/// Decides on the connections of one sandboxed command that its plan does not name, at the moment of each connection.
///
/// It outlives the call: a command in the background may connect at any time.
pub trait EgressGate: Send + Sync {
    /// Waits for the decision, and for the user if it needs approval. The connection is a [`Connect::tunnel`].
    fn permit<'a>(&'a self, connect: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>>;
}

/// Why a connection was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressRefusal {
    /// The reason, as a sentence without its full stop.
    pub reason: String,
    /// The rule that would allow it, if the user has not decided against it.
    pub rule: Option<String>,
}

/// What became of a connection of a sandboxed command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkDecision {
    /// The host in canonical form.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What became of it.
    pub verdict: NetworkVerdict,
    /// Why not, and what would allow it.
    #[serde(skip)]
    pub refusal: Option<EgressRefusal>,
}

/// What became of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkVerdict {
    /// It was made.
    Connected,
    /// It was not permitted.
    Blocked,
    /// It was permitted, but the host did not answer.
    Unreachable,
}
