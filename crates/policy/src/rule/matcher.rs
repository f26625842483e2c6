//! What stands in the parentheses of a rule, ready to be matched.

use std::path::Path;

use haft_contract::Connect;

use super::RuleKind;
use super::command::{Command, CommandPattern};
use super::connection::ConnectionPattern;
use super::fault::Fault;
use super::message::{MessagePattern, NamePattern};
use super::path::{PathPattern, Spellings};
use super::scope::Grammar;
use super::text::{Letter, behind};

/// The content of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Matcher {
    /// None: every effect of the kind.
    Any,
    Path(PathPattern),
    Command(CommandPattern),
    Connection(ConnectionPattern),
    Message(MessagePattern),
    Name(NamePattern),
}

/// What an effect does, in the form in which rules compare it.
#[derive(Debug)]
pub(super) enum Deed<'a> {
    Touches(&'a Spellings<'a>),
    Runs(&'a Command<'a>),
    Connects(&'a Connect),
    Sends {
        channel: &'a str,
        to: &'a str,
    },
    /// Starts an agent, or changes a setting, of this name.
    Names(&'a str),
}

impl Matcher {
    /// Reads content.
    pub(super) fn parse(grammar: Grammar, kind: RuleKind, letters: &[Letter], home: Option<&Path>) -> Result<Self, Fault> {
        check(grammar, letters)?;
        Ok(match grammar {
            Grammar::Path => Self::Path(PathPattern::parse(kind, letters, home)?),
            Grammar::Command => Self::Command(CommandPattern::parse(kind, letters, home)?),
            Grammar::Connection => Self::Connection(ConnectionPattern::parse(kind, letters)?),
            Grammar::Message => Self::Message(MessagePattern::parse(kind, letters)?),
            Grammar::Agent | Grammar::Key => Self::Name(NamePattern::parse(kind, letters)),
        })
    }

    /// Whether it says exactly where the rule holds.
    pub(super) fn is_anchored(&self) -> bool {
        match self {
            Self::Any => false,
            Self::Path(pattern) => pattern.is_anchored(),
            Self::Command(pattern) => pattern.is_anchored(),
            Self::Connection(pattern) => pattern.is_anchored(),
            Self::Message(pattern) => pattern.is_anchored(),
            Self::Name(pattern) => pattern.is_anchored(),
        }
    }

    /// Whether the rule speaks of what an effect does.
    pub(super) fn matches(&self, deed: &Deed<'_>) -> bool {
        match (self, deed) {
            (Self::Any, _) => true,
            (Self::Path(pattern), Deed::Touches(spellings)) => pattern.matches(spellings),
            (Self::Command(pattern), Deed::Runs(command)) => pattern.matches(command),
            (Self::Connection(pattern), Deed::Connects(connect)) => pattern.matches(connect),
            (Self::Message(pattern), Deed::Sends { channel, to }) => pattern.matches(channel, to),
            (Self::Name(pattern), Deed::Names(name)) => pattern.matches(name),
            _ => false,
        }
    }
}

/// Refuses the words of another kind of content, which would be taken for a name that nothing has.
fn check(grammar: Grammar, letters: &[Letter]) -> Result<(), Fault> {
    const WORDS: [(&str, Option<Grammar>); 7] = [
        ("domain:", Some(Grammar::Connection)),
        ("method:", Some(Grammar::Connection)),
        ("host:", Some(Grammar::Command)),
        ("channel:", Some(Grammar::Message)),
        ("to:", Some(Grammar::Message)),
        ("http://", None),
        ("https://", None),
    ];
    // The grammar of connections and messages says more precisely what is wrong.
    if matches!(grammar, Grammar::Connection | Grammar::Message) {
        return Ok(());
    }
    let foreign = WORDS.iter().find(|(word, of)| *of != Some(grammar) && behind(letters, word).is_some());
    match foreign {
        Some((word, _)) => Err(Fault::new(format!("'{word}…' can never match {}", grammar.subject()), grammar.advice())),
        None => Ok(()),
    }
}
