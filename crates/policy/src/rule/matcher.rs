//! The content of a rule's parentheses, compiled for matching.

use std::path::Path;

use haft_pattern::PatternChar;

use super::RuleKind;
use super::command::{CommandPattern, ExecForm};
use super::connection::{Connection, ConnectionPattern};
use super::message::{MessagePattern, NamePattern};
use super::path::{PathPattern, Spellings};
use super::problem::RuleProblem;
use super::scope::Grammar;
use super::text::behind;

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
pub(super) enum EffectForm<'a> {
    Touches(&'a Spellings<'a>),
    Runs(&'a ExecForm<'a>),
    Connects(&'a Connection<'a>),
    Sends {
        channel: &'a str,
        to: &'a str,
    },
    /// Starts an agent, changes a setting, or does something on a machine, of this name.
    Names(&'a str),
}

impl Matcher {
    /// Reads content.
    pub(super) fn parse(grammar: Grammar, kind: RuleKind, chars: &[PatternChar], home: Option<&Path>) -> Result<Self, RuleProblem> {
        check(grammar, chars)?;
        Ok(match grammar {
            Grammar::Path => Self::Path(PathPattern::parse(kind, chars, home)?),
            Grammar::Command => Self::Command(CommandPattern::parse(kind, chars, home)?),
            Grammar::Connection => Self::Connection(ConnectionPattern::parse(kind, chars)?),
            Grammar::Message => Self::Message(MessagePattern::parse(kind, chars)?),
            Grammar::Agent | Grammar::Key | Grammar::Node => Self::Name(NamePattern::parse(kind, chars)),
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
            Self::Name(pattern) => pattern.is_anchored() || pattern.names_owner(),
        }
    }

    /// Whether it names where data may go.
    pub(super) fn names_destination(&self) -> bool {
        match self {
            Self::Connection(pattern) => pattern.names_owner(),
            Self::Command(_) | Self::Message(_) => self.is_anchored(),
            // Of what has a name, only what happens on another machine carries data away.
            Self::Name(pattern) => pattern.names_owner(),
            Self::Any | Self::Path(_) => false,
        }
    }

    /// Whether the rule speaks of what an effect does.
    pub(super) fn matches(&self, form: &EffectForm<'_>) -> bool {
        match (self, form) {
            (Self::Any, _) => true,
            (Self::Path(pattern), EffectForm::Touches(spellings)) => pattern.matches(spellings),
            (Self::Command(pattern), EffectForm::Runs(command)) => pattern.matches(command),
            (Self::Connection(pattern), EffectForm::Connects(connection)) => pattern.matches(connection),
            (Self::Message(pattern), EffectForm::Sends { channel, to }) => pattern.matches(channel, to),
            (Self::Name(pattern), EffectForm::Names(name)) => pattern.matches(name),
            _ => false,
        }
    }
}

/// Refuses the words of another kind of content, which would be taken for a name that nothing has.
fn check(grammar: Grammar, chars: &[PatternChar]) -> Result<(), RuleProblem> {
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
    let foreign = WORDS.iter().find(|(word, of)| *of != Some(grammar) && behind(chars, word).is_some());
    match foreign {
        Some((word, _)) => Err(RuleProblem::new(format!("'{word}…' can never match {}", grammar.subject()), grammar.advice())),
        None => Ok(()),
    }
}
