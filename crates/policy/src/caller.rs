//! Who is calling.

use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{Access, TurnTools};

use crate::name::folded;
use crate::{Owner, SessionGrants, SourceSpan};

/// The sender of the message that the agent works on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sender {
    /// Their id in the channel.
    pub id: Option<String>,
    /// Their telephone number.
    pub e164: Option<String>,
    /// Their user name.
    pub username: Option<String>,
    /// Their shown name; anyone can choose any.
    pub name: Option<String>,
}

impl Sender {
    /// A sender as people write one: `id:42`, `e164:+49…`, `username:ann`, `name:Ann`; without a kind it is an id. The kind
    /// is known in upper and lower case.
    pub fn parse(written: &str) -> Self {
        let written = written.trim();
        let (kind, value) = written.split_once(':').unwrap_or(("id", written));
        let value = Some(value.trim().to_owned());
        match kind.trim().to_ascii_lowercase().as_str() {
            "id" => Self { id: value, ..Self::default() },
            "e164" => Self { e164: value, ..Self::default() },
            "username" => Self { username: value, ..Self::default() },
            "name" => Self { name: value, ..Self::default() },
            _ => Self { id: Some(written.to_owned()), ..Self::default() },
        }
    }

    /// What they are known as, the surest first. Ids are compared ch by ch, because some channels tell `U1` from
    /// `u1`; what people choose for themselves is not.
    pub(crate) fn keys(&self) -> Vec<String> {
        let chosen = |value: &Option<String>| value.as_ref().map(|value| value.to_lowercase());
        let keys =
            [("id", self.id.clone()), ("e164", self.e164.clone()), ("username", chosen(&self.username)), ("name", chosen(&self.name))];
        keys.into_iter().filter_map(|(kind, value)| Some(format!("{kind}:{}", value?))).collect()
    }
}

/// A key that limits the access of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLimit {
    /// The key: `access`, or `agents.NAME.access`.
    pub key: String,
    /// The level it gives.
    pub access: Access,
    /// Whose value it is, and where it stands.
    pub owner: Owner,
}

/// Everything about a session that a decision may depend on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Caller {
    /// The agent's name.
    pub agent: Arc<str>,
    /// The tools that the agent was given, in their folded spelling; `None` means all.
    pub tools: Option<Vec<String>>,
    /// How much it may do.
    pub access: Access,
    /// Where the access level stands.
    pub access_span: SourceSpan,
    /// Every key that limits it, for advice; none if a program set it.
    pub access_limits: Vec<AccessLimit>,
    /// Whether the user is explicitly the owner.
    pub owner: bool,
    /// The provider of its model.
    pub provider: Option<String>,
    /// Its model, without the provider.
    pub model: Option<String>,
    /// Where the message came from: `telegram`, or `telegram:-100` for one group of it.
    pub channel: Option<String>,
    /// Who sent it.
    pub sender: Option<Sender>,
    /// Whether the whole session runs in a sandbox.
    pub sandboxed: bool,
    /// How many agents up the line the user is: 0 for the agent they talk to.
    pub depth: u32,
    /// The agent that started this one; what it may not use, this one may not either.
    pub parent: Option<Arc<Self>>,
    /// What the user allowed for this session.
    pub grants: SessionGrants,
    /// The tools that skills leave to its turn; clones share it.
    pub turn_tools: Arc<TurnTools>,
    /// The access level that its session has now, for the agents that it started; clones share it.
    pub level: Arc<AccessLevel>,
}

/// The access level of a session that the user may change while agents that it started run.
#[derive(Debug)]
pub struct AccessLevel(Mutex<Access>);

impl Default for AccessLevel {
    /// None that limits anything.
    fn default() -> Self {
        Self(Mutex::new(Access::FullAccess))
    }
}

impl AccessLevel {
    /// Changes it.
    pub fn set(&self, access: Access) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = access;
    }

    fn get(&self) -> Access {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Caller {
    /// The agent `main`, which nobody restricts and nobody vouches for.
    fn default() -> Self {
        Self {
            agent: Arc::from("main"),
            tools: None,
            access: Access::default(),
            access_span: SourceSpan::default(),
            access_limits: Vec::new(),
            owner: false,
            provider: None,
            model: None,
            channel: None,
            sender: None,
            sandboxed: false,
            depth: 0,
            parent: None,
            grants: SessionGrants::default(),
            turn_tools: Arc::default(),
            level: Arc::default(),
        }
    }
}

impl Caller {
    /// Gives the agent these tools only.
    pub fn select(&mut self, names: impl IntoIterator<Item = impl AsRef<str>>) {
        self.tools = Some(names.into_iter().map(|name| folded(name.as_ref())).collect());
    }

    /// How much it may do now: also where the user has lowered the level of an agent above it meanwhile.
    pub(crate) fn access_now(&self) -> Access {
        let above = std::iter::successors(self.parent.as_deref(), |caller| caller.parent.as_deref());
        above.map(|caller| caller.level.get()).fold(self.access, Ord::min)
    }

    /// Takes over what an agent shares with the one that started it; nothing of it can be wider than the other's.
    pub fn inherit(&mut self) {
        let Some(parent) = &self.parent else { return };
        self.depth = parent.depth.saturating_add(1);
        if parent.access < self.access {
            (self.access, self.access_span) = (parent.access, parent.access_span.clone());
        }
        self.access_limits
            .extend(parent.access_limits.iter().filter(|limit| !self.access_limits.contains(limit)).cloned().collect::<Vec<_>>());
        self.owner &= parent.owner;
        self.sandboxed |= parent.sandboxed;
        // What the user allowed holds for both: they are one session to the user.
        self.grants = parent.grants.clone();
        self.channel.clone_from(&parent.channel);
        self.sender.clone_from(&parent.sender);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_that_is_lowered_above_is_lowered_below_and_raised_nowhere() {
        let with = |parent: Option<&Caller>| Caller {
            access: Access::WorkspaceWrite,
            parent: parent.map(|parent| Arc::new(parent.clone())),
            ..Caller::default()
        };
        let root = with(None);
        let child = with(Some(&root));
        let grandchild = with(Some(&child));
        for (level, now) in [
            (Access::FullAccess, Access::WorkspaceWrite),
            (Access::ReadOnly, Access::ReadOnly),
            (Access::WorkspaceWrite, Access::WorkspaceWrite),
        ] {
            root.level.set(level);
            assert_eq!([child.access_now(), grandchild.access_now()], [now; 2], "{level}");
        }
    }
}
