//! Effects: what a call will do, before it does it.
//!
//! Permission, approval text, locks, sandbox, taint, undo and audit are all derived from a [`Plan`](crate::Plan); no tool
//! implements any of them itself.

mod connect;
mod exec;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use self::connect::Connect;
pub use self::exec::{Exec, ExecHost, ExecNature, ExecReach};
use crate::{Access, ErrorKind, Location, RefusalCause, Zone};

/// Whether a path effect touches one file or everything beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// This path alone.
    File,
    /// This path and all beneath it.
    Tree,
}

/// A path and how far it reaches.
#[derive(Debug, Clone)]
pub struct PathEffect {
    /// Where.
    pub location: Location,
    /// One file or a whole tree.
    pub extent: Extent,
}

/// One thing a call will do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Effect {
    /// Read a path.
    Read(PathEffect),
    /// Create or change a path.
    Write(PathEffect),
    /// Remove a path.
    Delete(PathEffect),
    /// Run a program.
    Exec(Exec),
    /// Connect to a host.
    Connect(Connect),
    /// Send something to someone.
    Send {
        /// How: `desktop`, `mail`, ….
        channel: String,
        /// To whom.
        to: String,
        /// Whether it leaves this machine.
        outward: bool,
    },
    /// Start an agent.
    Spawn {
        /// Which.
        agent: String,
    },
    /// Change configuration.
    Configure {
        /// Which key.
        key: String,
    },
    /// Do something on a paired machine, or with a device of this one.
    Node {
        /// Which machine, by the name that the user gave it; [`Effect::THIS_MACHINE`] for this one.
        node: String,
        /// What: `exec`, `read`, `camera_snap`, ….
        action: String,
        /// To what: the command, the path, the device; may be empty.
        target: String,
    },
    /// Ask a user.
    Ask {
        /// Whom to ask.
        user: String,
    },
    /// What it will do cannot be known beforehand.
    Unknown {
        /// Why not.
        why: String,
    },
    /// What a sandboxed command will do cannot be known beforehand, but it can do no more than its sandbox lets it.
    Contained {
        /// Why not.
        why: String,
        /// Whether its sandbox lets it change nothing of the workspace.
        read_only: bool,
    },
}

/// What an effect needs before it may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// This access level.
    Access(Access),
    /// It is refused at every level, for this reason.
    Never(ErrorKind, String),
}

impl Effect {
    /// The names of all kinds: those that a rule can name, then the two that it cannot.
    pub const KINDS: &[&str] = &["read", "write", "delete", "exec", "connect", "send", "spawn", "configure", "node", "ask", "unknown"];
    /// The node of an effect on a device of this machine itself.
    pub const THIS_MACHINE: &str = "this";

    /// The name of its kind, as in rules and JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Delete(_) => "delete",
            Self::Exec(_) => "exec",
            Self::Connect(_) => "connect",
            Self::Send { .. } => "send",
            Self::Spawn { .. } => "spawn",
            Self::Configure { .. } => "configure",
            Self::Node { .. } => "node",
            Self::Ask { .. } => "ask",
            Self::Unknown { .. } | Self::Contained { .. } => "unknown",
        }
    }

    /// The access it needs, or why it can never be had.
    pub fn need(&self) -> Need {
        match self {
            Self::Read(effect) => read_need(&effect.location),
            Self::Write(effect) | Self::Delete(effect) => write_need(&effect.location),
            Self::Connect(Connect { refused: Some(why), .. }) => Need::Never(ErrorKind::NetworkError, why.clone()),
            Self::Connect(connect) if connect.only_reads() => Need::Access(Access::ReadOnly),
            // It changes what a command of the session could change as well.
            Self::Connect(connect) if connect.is_sandbox() => Need::Access(Access::WorkspaceWrite),
            // A sub-agent has at most the access of its parent, and each of its calls is decided on like any other.
            Self::Send { outward: false, .. } | Self::Ask { .. } | Self::Spawn { .. } => Need::Access(Access::ReadOnly),
            Self::Configure { .. } => Need::Access(Access::WorkspaceWrite),
            // The configuration of this machine switches each of its devices on by name.
            Self::Node { node, .. } if node == Self::THIS_MACHINE => Need::Access(Access::ReadOnly),
            // A sandboxed program writes in the workspace alone and has no network; every exception is an effect of its own.
            Self::Exec(exec) if exec.host.is_sandboxed() => Need::Access(view_access(exec.read_only_view)),
            Self::Contained { read_only, .. } => Need::Access(view_access(*read_only)),
            Self::Connect(_) | Self::Exec(_) | Self::Send { .. } | Self::Node { .. } | Self::Unknown { .. } => {
                Need::Access(Access::FullAccess)
            }
        }
    }

    /// What refuses it at every access level; none if nothing does, or nothing is known of it.
    pub fn causes(&self) -> &[RefusalCause] {
        match self {
            Self::Read(effect) => effect.location.no_read_causes(),
            Self::Connect(connect) => &connect.causes,
            _ => &[],
        }
    }

    /// What it would need in another zone, or without what refuses it: for advice, which decides nothing.
    pub fn need_after(&self, zone: Option<Zone>, is_lifted: bool) -> Need {
        match self {
            Self::Read(effect) if is_lifted || effect.location.no_read().is_none() => {
                zone_read_need(zone.unwrap_or(effect.location.zone()))
            }
            Self::Write(effect) | Self::Delete(effect) if effect.location.no_write().is_none() => {
                zone_write_need(zone.unwrap_or(effect.location.zone()), &effect.location)
            }
            Self::Connect(connect) if is_lifted => Self::Connect(Connect { refused: None, causes: Vec::new(), ..connect.clone() }).need(),
            other => other.need(),
        }
    }

    /// Whether it changes anything: such calls are recorded before they run.
    pub const fn changes_something(&self) -> bool {
        match self {
            Self::Read(_) | Self::Ask { .. } | Self::Contained { read_only: true, .. } => false,
            Self::Exec(exec) => !exec.read_only_view,
            Self::Connect(connect) => !connect.only_reads(),
            _ => true,
        }
    }

    /// Whether it can carry data off this machine.
    pub fn is_outward(&self) -> bool {
        match self {
            Self::Connect(connect) => !connect.is_sandbox() && !connect.is_provider,
            Self::Send { outward: true, .. } | Self::Unknown { .. } => true,
            Self::Exec(exec) => !exec.host.is_sandboxed(),
            Self::Node { node, .. } => node != Self::THIS_MACHINE,
            _ => false,
        }
    }

    /// The path it touches and whether it changes it.
    pub fn path(&self) -> Option<(&PathEffect, bool)> {
        match self {
            Self::Read(effect) => Some((effect, false)),
            Self::Write(effect) | Self::Delete(effect) => Some((effect, true)),
            _ => None,
        }
    }

    /// What it touches, as text. Not escaped: a display must do that.
    pub fn target(&self) -> String {
        match self {
            Self::Read(effect) | Self::Write(effect) | Self::Delete(effect) => effect.location.display().to_owned(),
            Self::Exec(exec) => {
                std::iter::once(exec.program.display().to_string()).chain(exec.arguments.iter().cloned()).collect::<Vec<_>>().join(" ")
            }
            Self::Connect(connect) => format!("{} {}://{}:{}", connect.method, connect.scheme, connect.host, connect.port),
            Self::Send { channel, to, .. } => format!("{channel} to {to}"),
            Self::Spawn { agent } => agent.clone(),
            Self::Configure { key } => key.clone(),
            Self::Node { node, action, target } if target.is_empty() => format!("{node}:{action}"),
            Self::Node { node, action, target } => format!("{node}:{action} {target}"),
            Self::Ask { user } => user.clone(),
            Self::Unknown { why } => why.clone(),
            Self::Contained { why, .. } => format!("it runs in the sandbox, and what it does there is not known before ({why})"),
        }
    }
}

/// The access that a sandboxed program needs.
const fn view_access(read_only: bool) -> Access {
    if read_only { Access::ReadOnly } else { Access::WorkspaceWrite }
}

fn read_need(location: &Location) -> Need {
    if let Some(why) = location.no_read() {
        return Need::Never(ErrorKind::PathNotAllowed, why.to_owned());
    }
    zone_read_need(location.zone())
}

fn zone_read_need(zone: Zone) -> Need {
    Need::Access(if zone == Zone::Outside { Access::FullAccess } else { Access::ReadOnly })
}

fn write_need(location: &Location) -> Need {
    if let Some(why) = location.no_write() {
        return Need::Never(ErrorKind::PathNotAllowed, why.to_owned());
    }
    zone_write_need(location.zone(), location)
}

fn zone_write_need(zone: Zone, location: &Location) -> Need {
    match zone {
        Zone::Workspace => Need::Access(Access::WorkspaceWrite),
        Zone::ReadOnlyRoot => Need::Never(
            ErrorKind::PathNotAllowed,
            format!("'{}' lies in a folder that may only be read. Write in the workspace instead", location.display()),
        ),
        Zone::Outside => Need::Access(Access::FullAccess),
    }
}

impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("effect", self.kind())?;
        match self {
            Self::Read(effect) | Self::Write(effect) | Self::Delete(effect) => {
                map.serialize_entry("path", &effect.location.path().to_string_lossy())?;
                if effect.extent == Extent::Tree {
                    map.serialize_entry("tree", &true)?;
                }
                if effect.location.zone() == Zone::Outside {
                    map.serialize_entry("outside", &true)?;
                }
            }
            Self::Exec(exec) => {
                map.serialize_entry("program", &exec.program.to_string_lossy())?;
                if exec.program.as_os_str() != exec.named.as_str() {
                    map.serialize_entry("named", &exec.named)?;
                }
                map.serialize_entry("arguments", &exec.arguments)?;
                map.serialize_entry("directory", &exec.directory.to_string_lossy())?;
                map.serialize_entry("host", exec.host.as_str())?;
                if !exec.environment.is_empty() {
                    map.serialize_entry("environment", &exec.environment)?;
                }
                if exec.read_only_view {
                    map.serialize_entry("read_only", &true)?;
                }
            }
            Self::Connect(connect) => {
                map.serialize_entry("host", &connect.host)?;
                map.serialize_entry("port", &connect.port)?;
                map.serialize_entry("method", &connect.method)?;
                if connect.is_provider {
                    map.serialize_entry("provider", &true)?;
                }
            }
            Self::Send { channel, to, .. } => {
                map.serialize_entry("channel", channel)?;
                map.serialize_entry("to", to)?;
            }
            Self::Spawn { agent } => map.serialize_entry("agent", agent)?,
            Self::Configure { key } => map.serialize_entry("key", key)?,
            Self::Node { node, action, target } => {
                map.serialize_entry("node", node)?;
                map.serialize_entry("action", action)?;
                map.serialize_entry("target", target)?;
            }
            Self::Ask { user } => map.serialize_entry("user", user)?,
            Self::Unknown { why } => map.serialize_entry("why", why)?,
            Self::Contained { why, .. } => {
                map.serialize_entry("why", why)?;
                map.serialize_entry("host", ExecHost::Sandbox.as_str())?;
            }
        }
        map.end()
    }
}
