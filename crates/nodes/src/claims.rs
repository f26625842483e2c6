//! What a gateway was permitted, and what a node would do: the node compares the two, and so does the gateway afterwards.

use std::path::{Path, PathBuf};

use haft_contract::{Effect, ExecHost};
use haft_text::paths::lexical;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One effect on a node, in the form in which both sides compare it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Reads this path, or what is beneath it.
    Read(PathBuf),
    /// Creates or changes this path.
    Write(PathBuf),
    /// Removes this path.
    Delete(PathBuf),
    /// Runs this program with these arguments.
    Exec(Vec<String>),
    /// Uses this device.
    Device(String, String),
    /// Shows something to the user there.
    Notify,
    /// Does what cannot be known before.
    Unknown,
    /// Does something that no gateway can permit.
    Other(String),
}

/// The action of a command as such.
pub(crate) const EXEC: &str = "exec";

/// What the gateway was permitted, by the effects that it sends. Relative paths start from the root of the node.
pub fn permitted(effects: &Value, root: &Path) -> Vec<Claim> {
    let text = |effect: &Value, key: &str| effect[key].as_str().unwrap_or_default().to_owned();
    let claim = |effect: &Value| match effect["effect"].as_str() {
        Some("node") => {
            let (action, target) = (text(effect, "action"), text(effect, "target"));
            let path = || lexical(&root.join(&target));
            Some(match action.as_str() {
                "read" | "list" => Claim::Read(path()),
                "write" => Claim::Write(path()),
                "delete" => Claim::Delete(path()),
                "notify" => Claim::Notify,
                _ => Claim::Device(action, target),
            })
        }
        Some("exec") if effect["host"] == ExecHost::Node.as_str() => {
            let program = if effect["named"].is_string() { text(effect, "named") } else { text(effect, "program") };
            let arguments = effect["arguments"].as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned));
            Some(Claim::Exec(std::iter::once(program).chain(arguments).collect()))
        }
        Some("unknown") if effect["host"].is_null() => Some(Claim::Unknown),
        // What the gateway does on its own machine is none of the node's.
        _ => None,
    };
    effects.as_array().into_iter().flatten().filter_map(claim).collect()
}

/// What the node would do.
pub fn planned(effects: &[Effect]) -> Vec<Claim> {
    let claim = |effect: &Effect| match effect {
        Effect::Read(path) => Some(Claim::Read(path.location.path().to_owned())),
        Effect::Write(path) => Some(Claim::Write(path.location.path().to_owned())),
        Effect::Delete(path) => Some(Claim::Delete(path.location.path().to_owned())),
        Effect::Exec(exec) => Some(Claim::Exec(std::iter::once(&exec.named).chain(&exec.arguments).cloned().collect())),
        Effect::Node { action, target, .. } => Some(Claim::Device(action.clone(), target.clone())),
        Effect::Send { outward: false, .. } => Some(Claim::Notify),
        Effect::Unknown { .. } => Some(Claim::Unknown),
        // The sandbox of the node bounds it, whatever it is.
        Effect::Contained { .. } => None,
        other => Some(Claim::Other(format!("{} {}", other.kind(), other.target()))),
    };
    effects.iter().filter_map(claim).collect()
}

/// The first effect that was not permitted.
pub fn first_beyond<'a>(permitted: &[Claim], planned: &'a [Claim]) -> Option<&'a Claim> {
    planned.iter().find(|claim| !permitted.contains(claim))
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read {}", path.display()),
            Self::Write(path) => write!(f, "write {}", path.display()),
            Self::Delete(path) => write!(f, "delete {}", path.display()),
            Self::Exec(words) => write!(f, "run {}", words.join(" ")),
            Self::Device(action, target) => write!(f, "{action} {target}"),
            Self::Notify => f.write_str("notify"),
            Self::Unknown => f.write_str("do something that is not known before"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_effects_on_nodes_are_permitted_there() {
        let effects = json!([
            {"effect": "node", "node": "n", "action": "read", "target": "a/../b.txt"},
            {"effect": "node", "node": "n", "action": "write", "target": "/etc/x"},
            {"effect": "node", "node": "n", "action": "camera_snap", "target": "front"},
            {"effect": "exec", "program": "git", "arguments": ["status"], "host": "node"},
            {"effect": "exec", "program": "/bin/rm", "named": "rm", "arguments": [], "host": "node"},
            {"effect": "exec", "program": "here", "arguments": [], "host": "sandbox"},
            {"effect": "write", "path": "/gateway/out.mp4"},
            {"effect": "unknown", "why": "x"},
            {"effect": "unknown", "why": "x", "host": "sandbox"},
            7, {}, {"effect": 1},
        ]);
        let words = |words: &[&str]| Claim::Exec(words.iter().map(|word| (*word).to_owned()).collect());
        let expected = vec![
            Claim::Read("/folder/b.txt".into()),
            Claim::Write("/etc/x".into()),
            Claim::Device("camera_snap".into(), "front".into()),
            words(&["git", "status"]),
            words(&["rm"]),
            Claim::Unknown,
        ];
        assert_eq!(permitted(&effects, Path::new("/folder")), expected);
        for no_list in [json!(null), json!("x"), json!({"effect": "unknown"})] {
            assert_eq!(permitted(&no_list, Path::new("/")), []);
        }
    }

    #[test]
    fn anything_beyond_what_was_permitted_is_found() {
        let read = Claim::Read("/a".into());
        assert_eq!(first_beyond(std::slice::from_ref(&read), std::slice::from_ref(&read)), None);
        assert_eq!(first_beyond(&[], std::slice::from_ref(&read)), Some(&read));
        assert_eq!(first_beyond(&[Claim::Unknown, Claim::Write("/a".into())], std::slice::from_ref(&read)), Some(&read));
    }
}
