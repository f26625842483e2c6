//! Port for nodes: paired machines that run calls under their own policy.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BoxFuture, CommandRequest, Effect, ToolError, ToolOutput};

/// A paired machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Its id, made from its key.
    pub id: String,
    /// The name that rules know it by.
    pub name: String,
    /// Whether it is connected; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connected: Option<bool>,
    /// What it offers, as it says; empty if it is not connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    /// Its operating system and version of Haft, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// The folder that its relative paths start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// A machine that asks to be paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingNode {
    /// The id that it would have.
    pub id: String,
    /// The name that it wants.
    pub name: String,
    /// For how many seconds it is asked for.
    pub expires_in_seconds: u64,
}

/// A call for a node: what runs there, and the effects that were permitted here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeCall {
    /// The node's id.
    pub node: String,
    /// The name under which it was permitted.
    pub name: String,
    /// The tool of the node.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// The permitted effects, as history has them.
    pub effects: Value,
    /// How long it may take.
    pub timeout: Duration,
}

/// The nodes of this user.
pub trait NodeDirectory: Send + Sync {
    /// The node that a text names: an id, a name, or at least six characters that only one of them begins with. An empty text names
    /// the only one.
    fn resolve(&self, wanted: &str) -> Result<NodeSummary, ToolError>;
    /// Whether commands run on a node unless a call says otherwise.
    fn is_default_host(&self) -> bool;
    /// The effects of a shell command on a node, as far as they are known here.
    fn command_effects(&self, node: &NodeSummary, request: &CommandRequest) -> Result<Vec<Effect>, ToolError>;
    /// All paired nodes.
    fn list(&self) -> BoxFuture<'_, Result<Vec<NodeSummary>, ToolError>>;
    /// Machines that ask to be paired.
    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingNode>, ToolError>>;
    /// Refuses a machine that asks.
    fn reject<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Makes a call, which ends there when the future is dropped.
    fn call(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}
