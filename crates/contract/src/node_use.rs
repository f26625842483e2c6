//! Nodes, as planned.

use std::time::Duration;

use serde_json::Value;

use crate::capability::{alive, unplanned};
use crate::ports::{NodeCall, NodeDirectory, NodeSummary, PendingNode};
use crate::{CommandRequest, Effect, Plan, PlanContext, ToolContext, ToolError, ToolOutput};

/// The key that the plan of a call names when it changes the list of nodes.
const PAIRINGS: &str = "nodes";

fn no_nodes() -> ToolError {
    ToolError::execution("There are no nodes here: this program has no gateway for them. Leave 'node' out, and work on this machine.")
}

/// The nodes of the user, as planned.
#[derive(Debug, Clone, Copy)]
pub struct NodeUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> NodeUse<'a> {
    fn port(self) -> Result<&'a dyn NodeDirectory, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().nodes.as_deref().ok_or_else(no_nodes)
    }

    /// All paired nodes.
    pub async fn list(&self) -> Result<Vec<NodeSummary>, ToolError> {
        self.port()?.list().await
    }

    /// Machines that ask to be paired.
    pub async fn pending(&self) -> Result<Vec<PendingNode>, ToolError> {
        self.port()?.pending().await
    }

    /// Refuses a machine that asks, if that is planned.
    pub async fn reject(&self, id: &str) -> Result<(), ToolError> {
        if !self.cx.plan().permits_configure(PAIRINGS) {
            return Err(unplanned("configure", PAIRINGS));
        }
        self.port()?.reject(id).await
    }

    /// Makes a call on the node that the plan names. The node gets the whole plan, and does no more than that.
    pub async fn call(&self, wanted: &str, tool: &str, arguments: Value, timeout: Duration) -> Result<ToolOutput, ToolError> {
        let port = self.port()?;
        let node = port.resolve(wanted)?;
        let is_planned = |effect: &Effect| matches!(effect, Effect::Node { node: planned, .. } if *planned == node.name);
        if !self.cx.plan().effects().iter().any(is_planned) {
            return Err(unplanned("use the node", &node.name));
        }
        let effects = serde_json::to_value(self.cx.plan().effects()).unwrap_or_default();
        port.call(NodeCall { node: node.id, name: node.name, tool: tool.to_owned(), arguments, effects, timeout }).await
    }
}

impl PlanContext<'_> {
    /// The node that a text names, for the plan.
    pub fn node(&self, wanted: &str) -> Result<NodeSummary, ToolError> {
        self.services().nodes.as_deref().ok_or_else(no_nodes)?.resolve(wanted.trim())
    }

    /// Whether commands run on a node unless a call says otherwise.
    pub fn runs_on_nodes(&self) -> bool {
        self.services().nodes.as_deref().is_some_and(NodeDirectory::is_default_host)
    }

    /// Plans a shell command on a node.
    pub fn node_command(&self, node: &NodeSummary, request: &CommandRequest) -> Result<Plan, ToolError> {
        let effects = self.services().nodes.as_deref().ok_or_else(no_nodes)?.command_effects(node, request)?;
        Ok(effects.into_iter().fold(Plan::nothing(), Plan::with))
    }

    /// Plans the refusal of a machine that asks to be paired.
    pub fn node_refusal(&self) -> Plan {
        Plan::nothing().configure(PAIRINGS)
    }
}

impl Plan {
    /// Adds something that happens on a node.
    pub fn on_node(self, node: &NodeSummary, action: impl Into<String>, target: impl Into<String>) -> Self {
        self.with(Effect::Node { node: node.name.clone(), action: action.into(), target: target.into() })
    }
}
