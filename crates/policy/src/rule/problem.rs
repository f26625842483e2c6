//! What is wrong with a rule.

use std::fmt;

use super::RuleKind;
use crate::{ListEntry, SourceSpan};

/// A rule that cannot be, or that could never match, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFault {
    /// The rule as it is written.
    pub rule: String,
    /// The list that has it.
    pub kind: RuleKind,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where it stands.
    pub span: SourceSpan,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for RuleFault {}

/// A fault before it is known which rule has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleProblem {
    pub(super) message: String,
    pub(super) help: String,
}

impl RuleProblem {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
    pub(super) fn into_fault(self, kind: RuleKind, listed: &ListEntry) -> RuleFault {
        RuleFault { rule: listed.pattern.clone(), kind, message: self.message, help: Some(self.help), span: listed.span.clone() }
    }
}
