//! What the content of a rule speaks of: which kinds of effects, and how it is read.

use haft_contract::Effect;

use super::fault::Fault;
use super::text::{Letter, behind};
use crate::catalog::CATALOG;
use crate::name::{folded, glob};

/// A set of effect kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const COUNT: usize = 8;
    pub(super) const READ: Self = Self(1);
    const WRITE: Self = Self(1 << 1);
    const DELETE: Self = Self(1 << 2);
    const EXEC: Self = Self(1 << 3);
    const CONNECT: Self = Self(1 << 4);
    const SEND: Self = Self(1 << 5);
    const SPAWN: Self = Self(1 << 6);
    const CONFIGURE: Self = Self(1 << 7);
    const CHANGE: Self = Self::WRITE.and(Self::DELETE);
    const EDIT: Self = Self::READ.and(Self::WRITE);
    const PATH: Self = Self::CHANGE.and(Self::READ);

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    fn within(self, other: Self) -> Option<Self> {
        let common = self.0 & other.0;
        (common != 0).then_some(Self(common))
    }
    /// The same without deletions, unless it is about those alone: whoever permits one says so.
    fn permitted(self) -> Self {
        Self(self.0 & !Self::DELETE.0).within(self).unwrap_or(self)
    }
    /// Whether any kind is in both.
    pub(super) fn meets(self, other: Self) -> bool {
        self.within(other).is_some()
    }
    /// The places of the kinds, from 0.
    pub(super) fn places(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |place| self.0 & (1 << place) != 0)
    }
    /// The kind of an effect; none if no rule can name it.
    pub(super) fn of(effect: &Effect) -> Self {
        match effect {
            Effect::Read(_) => Self::READ,
            Effect::Write(_) => Self::WRITE,
            Effect::Delete(_) => Self::DELETE,
            Effect::Exec(_) => Self::EXEC,
            Effect::Connect(_) => Self::CONNECT,
            Effect::Send { .. } => Self::SEND,
            Effect::Spawn { .. } => Self::SPAWN,
            Effect::Configure { .. } => Self::CONFIGURE,
            _ => Self(0),
        }
    }
}

/// How content is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Path,
    Command,
    Connection,
    Message,
    Agent,
    Key,
}

impl Grammar {
    fn kinds(self) -> Kinds {
        match self {
            Self::Path => Kinds::PATH,
            Self::Command => Kinds::EXEC,
            Self::Connection => Kinds::CONNECT,
            Self::Message => Kinds::SEND,
            Self::Agent => Kinds::SPAWN,
            Self::Key => Kinds::CONFIGURE,
        }
    }
    /// What it speaks of, in words.
    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::Path => "a path",
            Self::Command => "a program",
            Self::Connection => "a connection",
            Self::Message => "a message",
            Self::Agent => "the name of an agent",
            Self::Key => "the key of a setting",
        }
    }
    /// What to write.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Path => "write a path pattern, such as 'docs/**'",
            Self::Command => "write the program and its arguments, such as 'git push *'",
            Self::Connection => "write 'domain:example.org'",
            Self::Message => "write 'channel:desktop'",
            Self::Agent => "write the agent's name",
            Self::Key => "write the key",
        }
    }
}

/// What content speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) grammar: Grammar,
    /// What a rule that restricts is about.
    pub(super) kinds: Kinds,
    /// What a rule that permits is about.
    pub(super) permitted: Kinds,
}

impl Scope {
    fn new(grammar: Grammar, kinds: Kinds) -> Self {
        Self { grammar, kinds, permitted: kinds.permitted() }
    }
}

/// How rules on effects are read, in the order of [`Effect::KINDS`].
const READINGS: [(Grammar, Kinds); Kinds::COUNT] = [
    (Grammar::Path, Kinds::READ),
    (Grammar::Path, Kinds::CHANGE),
    (Grammar::Path, Kinds::DELETE),
    (Grammar::Command, Kinds::EXEC),
    (Grammar::Connection, Kinds::CONNECT),
    (Grammar::Message, Kinds::SEND),
    (Grammar::Agent, Kinds::SPAWN),
    (Grammar::Key, Kinds::CONFIGURE),
];

/// The effects that a rule can name.
pub(super) fn effects() -> impl Iterator<Item = (&'static str, Scope)> {
    Effect::KINDS.iter().copied().zip(READINGS.map(|(grammar, kinds)| Scope::new(grammar, kinds)))
}

/// What the tools of the catalog do that content can speak of: to be restricted, and to be permitted.
#[rustfmt::skip] // one kind a line
const TOOLS: [(Grammar, Kinds, Kinds, &[&str]); 8] = [
    (Grammar::Path, Kinds::READ, Kinds::READ, &["read_file", "glob_search", "grep_search", "memory_get", "image"]),
    (Grammar::Path, Kinds::CHANGE, Kinds::WRITE, &["write_file", "todo_write", "tts"]),
    // Whoever may change a file in its middle may read it to do so.
    (Grammar::Path, Kinds::CHANGE, Kinds::EDIT, &["edit_file", "apply_patch", "notebook_edit"]),
    (Grammar::Command, Kinds::EXEC, Kinds::EXEC, &["exec", "process", "repl", "powershell"]),
    (Grammar::Connection, Kinds::CONNECT, Kinds::CONNECT, &["web_fetch", "web_search", "http_request", "browser"]),
    (Grammar::Message, Kinds::SEND, Kinds::SEND, &["message", "notify", "send_user_message", "sessions_send"]),
    (Grammar::Agent, Kinds::SPAWN, Kinds::SPAWN, &["sessions_spawn", "agent", "subagents"]),
    (Grammar::Key, Kinds::CONFIGURE, Kinds::CONFIGURE, &["config", "gateway"]),
];

/// What the content of a rule on this tool of the catalog speaks of.
pub(super) fn of_tool(canonical: &str) -> Option<Scope> {
    let row = TOOLS.iter().find(|(.., tools)| tools.contains(&canonical));
    row.map(|(grammar, kinds, permitted, _)| Scope { grammar: *grammar, kinds: *kinds, permitted: *permitted })
}

/// Whether a rule that allows something to this tool says that of this kind of effect, and nothing of another. That a tool
/// which changes a file reads it as well is no other.
pub(super) fn is_exactly(canonical: &str, effect: &Effect) -> bool {
    let kind = Kinds::of(effect);
    of_tool(canonical).is_some_and(|scope| scope.permitted == kind || (scope.permitted == Kinds::EDIT && kind == Kinds::WRITE))
}

/// Whether a pattern on names holds a tool that runs programs.
pub(super) fn holds_a_runner(pattern: &str) -> bool {
    TOOLS.iter().filter(|(_, kinds, ..)| *kinds == Kinds::EXEC).any(|(.., tools)| tools.iter().any(|tool| glob(pattern, tool)))
}

/// Whether a name would be taken for that of another tool of the catalog.
pub(super) fn is_anothers(name: &str) -> bool {
    let wanted = folded(name);
    CATALOG.iter().filter(|known| known.name != name).any(|known| known.aliases.iter().any(|alias| folded(alias) == wanted))
}

/// Whether the catalog knows a tool.
pub(super) fn is_of_catalog(canonical: &str) -> bool {
    CATALOG.iter().any(|known| known.name == canonical)
}

/// What content speaks of when only it can tell.
pub(super) fn of_content(letters: &[Letter]) -> Scope {
    let begins = |word| behind(letters, word).is_some();
    let grammar = match () {
        () if begins("domain:") || begins("method:") => Grammar::Connection,
        () if begins("host:") => Grammar::Command,
        () => Grammar::Path,
    };
    Scope::new(grammar, grammar.kinds())
}

/// What content speaks of behind a pattern on tools.
pub(super) fn of_tools(pattern: &str, letters: &[Letter]) -> Result<Scope, Fault> {
    let scope @ Scope { grammar, kinds, permitted } = of_content(letters);
    let known = TOOLS.iter().filter(|(.., tools)| tools.iter().any(|tool| glob(pattern, tool)));
    let both = |a: (Kinds, Kinds), b: (Kinds, Kinds)| (a.0.and(b.0), a.1.and(b.1));
    let Some(meant) = known.map(|(_, kinds, permitted, _)| (*kinds, *permitted)).reduce(both) else { return Ok(scope) };
    let within = kinds.within(meant.0).zip(permitted.within(meant.1));
    within.map(|(kinds, permitted)| Scope { grammar, kinds, permitted }).ok_or_else(|| {
        let message = format!("no tool that '{pattern}' matches has to do with {}", grammar.subject());
        Fault::new(message, "name the effect instead: read, write, delete, exec or connect")
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{exec, file};
    use super::*;

    #[test]
    fn every_kind_of_effect_has_its_own_reading() {
        let connect = haft_contract::Connect::new("https", "a.org", 443, "GET");
        let named = [
            Effect::Read(file("a")),
            Effect::Write(file("a")),
            Effect::Delete(file("a")),
            Effect::Exec(exec("ls")),
            Effect::Connect(connect),
            Effect::Send { channel: "a".into(), to: "b".into(), outward: false },
            Effect::Spawn { agent: "a".into() },
            Effect::Configure { key: "a".into() },
        ];
        for ((effect, (name, scope)), place) in named.iter().zip(effects()).zip(0..) {
            assert_eq!((effect.kind(), Kinds::of(effect)), (name, Kinds(1 << place)));
            assert!(scope.kinds.meets(Kinds::of(effect)) && scope.permitted == Kinds::of(effect), "{name}");
        }
        assert_eq!(effects().count(), named.len());
    }
}
