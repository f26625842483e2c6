//! What the content of a rule speaks of: which kinds of effects, and how it is read.

use haft_contract::{Effect, RuleTarget};
use haft_pattern::{NameGlob, PatternChar};

use super::problem::RuleProblem;
use super::text::behind;
use crate::catalog::Vocabulary;

/// A set of effect kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u16);

impl Kinds {
    pub(super) const COUNT: usize = 9;
    pub(super) const READ: Self = Self(1);
    const WRITE: Self = Self(1 << 1);
    const DELETE: Self = Self(1 << 2);
    pub(super) const EXEC: Self = Self(1 << 3);
    pub(super) const CONNECT: Self = Self(1 << 4);
    const SEND: Self = Self(1 << 5);
    const SPAWN: Self = Self(1 << 6);
    const CONFIGURE: Self = Self(1 << 7);
    const NODE: Self = Self(1 << 8);
    pub(super) const CHANGE: Self = Self::WRITE.and(Self::DELETE);
    /// The kinds that an `only` list closes together: who restricts writing restricts deleting.
    pub(super) const GROUPS: [Self; 8] =
        [Self::READ, Self::CHANGE, Self::EXEC, Self::CONNECT, Self::SEND, Self::SPAWN, Self::CONFIGURE, Self::NODE];
    const EDIT: Self = Self::READ.and(Self::WRITE);
    pub(super) const PATH: Self = Self::CHANGE.and(Self::READ);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub(super) fn within(self, other: Self) -> Option<Self> {
        let common = self.0 & other.0;
        (common != 0).then_some(Self(common))
    }
    /// The same without deletions, unless it is about those alone: a rule that permits one says so.
    fn permitted(self) -> Self {
        Self(self.0 & !Self::DELETE.0).within(self).unwrap_or(self)
    }
    /// Whether it has all of these.
    pub(super) fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any kind is in both.
    pub(super) fn meets(self, other: Self) -> bool {
        self.within(other).is_some()
    }
    /// The places of the kinds, from 0.
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |index| self.0 & (1 << index) != 0)
    }
    /// That of running programs.
    pub(super) const fn of_programs() -> Self {
        Self::EXEC
    }
    /// The kind of an effect; none if no rule can name it.
    pub(super) fn from_effect(effect: &Effect) -> Self {
        match effect {
            Effect::Read(_) => Self::READ,
            Effect::Write(_) => Self::WRITE,
            Effect::Delete(_) => Self::DELETE,
            Effect::Exec(_) => Self::EXEC,
            Effect::Connect(_) => Self::CONNECT,
            Effect::Send { .. } => Self::SEND,
            Effect::Spawn { .. } => Self::SPAWN,
            Effect::Configure { .. } => Self::CONFIGURE,
            Effect::Node { .. } => Self::NODE,
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
    Node,
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
            Self::Node => Kinds::NODE,
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
            Self::Node => "a paired machine",
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
            Self::Node => "write the machine and what it does, such as 'laptop:read notes/*'",
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
    (Grammar::Node, Kinds::NODE),
];

/// The effects that a rule can name.
pub(super) fn effects() -> impl Iterator<Item = (&'static str, Scope)> {
    Effect::KINDS.iter().copied().zip(READINGS.map(|(grammar, kinds)| Scope::new(grammar, kinds)))
}

/// What content on a tool speaks of: to be restricted, and to be permitted.
fn of_target(target: RuleTarget) -> Scope {
    let (grammar, kinds, permitted) = match target {
        RuleTarget::Read => (Grammar::Path, Kinds::READ, Kinds::READ),
        RuleTarget::Write => (Grammar::Path, Kinds::CHANGE, Kinds::WRITE),
        // A tool that may change the middle of a file may read it to do so.
        RuleTarget::Edit => (Grammar::Path, Kinds::CHANGE, Kinds::EDIT),
        RuleTarget::Exec => (Grammar::Command, Kinds::EXEC, Kinds::EXEC),
        RuleTarget::Connect => (Grammar::Connection, Kinds::CONNECT, Kinds::CONNECT),
        RuleTarget::Send => (Grammar::Message, Kinds::SEND, Kinds::SEND),
        RuleTarget::Spawn => (Grammar::Agent, Kinds::SPAWN, Kinds::SPAWN),
        RuleTarget::Node => (Grammar::Node, Kinds::NODE, Kinds::NODE),
        _ => (Grammar::Key, Kinds::CONFIGURE, Kinds::CONFIGURE),
    };
    Scope { grammar, kinds, permitted }
}

/// What the content of a rule on this tool speaks of, if the tool says so.
pub(super) fn of_tool(canonical: &str, vocabulary: &Vocabulary) -> Option<Scope> {
    vocabulary.rule_target(canonical).map(of_target)
}

/// Whether a rule that allows something to this tool says that of this kind of effect, and nothing of another. That a tool
/// which changes a file reads it as well is no other.
pub(super) fn is_exactly(canonical: &str, effect: &Effect, vocabulary: &Vocabulary) -> bool {
    let kind = Kinds::from_effect(effect);
    let scope = of_tool(canonical, vocabulary);
    scope.is_some_and(|scope| scope.permitted == kind || (scope.permitted == Kinds::EDIT && kind == Kinds::WRITE))
}

/// Whether a pattern on names matches a tool that runs programs.
pub(super) fn matches_runner(pattern: &NameGlob, vocabulary: &Vocabulary) -> bool {
    vocabulary.rule_targets(pattern).any(|target| target == RuleTarget::Exec)
}

/// What content speaks of when only it can tell.
pub(super) fn of_content(chars: &[PatternChar]) -> Scope {
    let begins = |word| behind(chars, word).is_some();
    let grammar = match () {
        () if begins("domain:") || begins("method:") => Grammar::Connection,
        () if begins("host:") => Grammar::Command,
        () => Grammar::Path,
    };
    Scope::new(grammar, grammar.kinds())
}

/// What content speaks of behind a pattern on tools.
pub(super) fn of_tools(pattern: &str, chars: &[PatternChar], vocabulary: &Vocabulary) -> Result<Scope, RuleProblem> {
    let scope @ Scope { grammar, kinds, permitted } = of_content(chars);
    let glob = NameGlob::parse_stars(pattern);
    let known = vocabulary.rule_targets(&glob).map(of_target).map(|scope| (scope.kinds, scope.permitted));
    let both = |a: (Kinds, Kinds), b: (Kinds, Kinds)| (a.0.and(b.0), a.1.and(b.1));
    let Some(meant) = known.reduce(both) else { return Ok(scope) };
    let within = kinds.within(meant.0).zip(permitted.within(meant.1));
    within.map(|(kinds, permitted)| Scope { grammar, kinds, permitted }).ok_or_else(|| {
        let message = format!("no tool that '{pattern}' matches has to do with {}", grammar.subject());
        RuleProblem::new(message, "name the effect instead: read, write, delete, exec or connect")
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
            Effect::Node { node: "a".into(), action: "b".into(), target: "c".into() },
        ];
        for ((effect, (name, scope)), index) in named.iter().zip(effects()).zip(0..) {
            assert_eq!((effect.kind(), Kinds::from_effect(effect)), (name, Kinds(1 << index)));
            assert!(scope.kinds.meets(Kinds::from_effect(effect)) && scope.permitted == Kinds::from_effect(effect), "{name}");
        }
        assert_eq!(effects().count(), named.len());
    }
}
