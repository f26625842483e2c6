//! Port for nodes: paired machines that run calls under their own policy.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use haft_text::paths::lexical;
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

impl NodeSummary {
    /// A path on the node as rules name it, in one way only: relative to the folder of the node if it is beneath it, without `.` and `..`.
    pub fn path(&self, path: &str) -> String {
        let path = Path::new(path.trim());
        let beneath =
            self.workspace.as_deref().and_then(|root| lexical(&Path::new(root).join(path)).strip_prefix(root).ok().map(Path::to_owned));
        let clean = beneath.unwrap_or_else(|| without_dots(path));
        if clean.as_os_str().is_empty() { ".".to_owned() } else { clean.to_string_lossy().into_owned() }
    }
}

/// The path without `.`, and without `..` but at its beginning.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match (part, clean.components().next_back()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(clean.pop()),
            (part, _) => clean.push(part),
        }
    }
    clean
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_node_is_written_in_one_way() {
        let node = |workspace: Option<&str>| NodeSummary { workspace: workspace.map(str::to_owned), ..NodeSummary::default() };
        for (path, known, unknown) in [
            ("a/b", "a/b", "a/b"),
            (" ./a//b/ ", "a/b", "a/b"),
            ("x/../a/./b", "a/b", "a/b"),
            ("", ".", "."),
            (".", ".", "."),
            ("/srv/here/a", "a", "/srv/here/a"),
            ("/srv/here", ".", "/srv/here"),
            ("/srv/x/../here/a", "a", "/srv/here/a"),
            ("../here/a", "a", "../here/a"),
            ("../other/a", "../other/a", "../other/a"),
            ("/etc/../../etc/x", "/etc/x", "/etc/x"),
            ("/srv/hereafter/a", "/srv/hereafter/a", "/srv/hereafter/a"),
        ] {
            assert_eq!((node(Some("/srv/here")).path(path).as_str(), node(None).path(path).as_str()), (known, unknown), "{path}");
        }
    }
}
