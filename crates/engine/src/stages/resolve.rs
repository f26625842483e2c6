//! resolve + available: the name that the model wrote → a tool, and what a refusal says.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, Meta, ToolError};
use haft_policy::catalog::NOT_BUILT_YET;
use haft_policy::{Advice, Decision, Denial, Policy, Verdict, WITHOUT, folded};
use haft_text::truncate::first_chars;
use serde_json::{Value, json};

use crate::{Registry, Session, ToolEntry};

/// The tools that a session has, to suggest one of them.
#[derive(Clone, Copy)]
pub(crate) struct OfferedTools<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) policy: &'a dyn Policy,
    pub(crate) session: &'a Session,
}

impl OfferedTools<'_> {
    fn has(self, entry: &ToolEntry) -> bool {
        self.policy.offer(&entry.candidate(), self.session.caller()).verdict != Verdict::Deny
    }

    /// The tool behind a name; an unknown one is answered with the nearest names that the session's model was shown.
    pub(crate) fn resolve(self, name: &str) -> Result<Arc<ToolEntry>, ToolError> {
        self.registry.get(name).ok_or_else(|| self.not_found(name))
    }

    fn not_found(self, name: &str) -> ToolError {
        let (shown, dialect) = (first_chars(name, 100), self.session.dialect());
        let hint = match self.nearest(name).as_slice() {
            [] => {
                let offered = self.registry.entries().into_iter().filter(|entry| self.has(entry));
                let names: Vec<String> = offered.map(|entry| entry.definition().name_in(dialect).to_owned()).collect();
                if names.is_empty() {
                    "There is no tool here: answer without one.".to_owned()
                } else {
                    format!("The tools are: {}.", names.join(", "))
                }
            }
            near => format!("Did you mean {}?", near.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")),
        };
        let absent = if is_not_built(name) { " It is known, but this version does not have it yet." } else { "" };
        ToolError::new(ErrorKind::ToolNotFound, format!("Tool '{shown}' not found.{absent} {hint}"))
    }

    /// The nearest names of tools that it has, in the dialect of the session.
    fn nearest(self, name: &str) -> Vec<String> {
        let dialect = self.session.dialect();
        let near = self.registry.nearest(name).into_iter();
        let offered = near.filter_map(|name| self.registry.get(&name).filter(|entry| self.has(entry)).map(|entry| (name, entry)));
        let in_dialect = |(name, entry): (String, Arc<ToolEntry>)| match dialect {
            Dialect::Haft => name,
            dialect => entry.definition().name_in(dialect).to_owned(),
        };
        let mut near: Vec<String> = offered.map(in_dialect).collect();
        near.dedup();
        near
    }

    /// What a refusal tells the model: for a tool that it has not, with the most similar one that it has.
    pub(crate) fn refusal(self, denial: &Denial, entry: &ToolEntry) -> String {
        match denial.message.strip_suffix(WITHOUT).and_then(|start| Some((start, self.similar(entry)?))) {
            Some((start, name)) => format!("{start}Use '{name}' if it will do, or ask the user to allow it."),
            None => denial.message.clone(),
        }
    }

    /// A tool of the same section that needs no more access and shares most words with it.
    fn similar(self, entry: &ToolEntry) -> Option<String> {
        let wanted = entry.definition();
        let is_similar = |other: &Arc<ToolEntry>| {
            let definition = other.definition();
            definition.name != wanted.name && definition.section == wanted.section && definition.access == wanted.access
        };
        let others = self.registry.entries().into_iter().filter(is_similar).filter(|other| self.has(other));
        let best = others.rev().max_by_key(|other| shared_words(&wanted.description, &other.definition().description))?;
        Some(best.definition().name_in(self.session.dialect()).to_owned())
    }
}

fn shared_words(one: &str, other: &str) -> usize {
    let words = |text: &str| text.split(|ch: char| !ch.is_alphanumeric()).filter(|word| word.len() > 3).map(str::to_lowercase).collect();
    let (one, other): (BTreeSet<String>, BTreeSet<String>) = (words(one), words(other));
    one.intersection(&other).count()
}

/// Whether a tool of this name is planned: policies may name it, so the model must not think it a typing error.
fn is_not_built(name: &str) -> bool {
    let wanted = folded(name);
    NOT_BUILT_YET.iter().flat_map(Meta::names).any(|planned| folded(planned) == wanted)
}

/// The error of a decision that denies.
pub(crate) fn refused(decision: &Decision, advice: &Advice) -> ToolError {
    let details = details(decision, advice);
    match decision.denial() {
        Some(refusal) => ToolError::new(refusal.kind, refusal.message.clone()).with_details(details),
        None => ToolError::denied("The policy refused this call.").with_details(details),
    }
}

/// What the user is told of a refusal, besides its message.
pub(crate) fn details(decision: &Decision, advice: &Advice) -> Value {
    json!({ "decision": decision.trace, "to_change": advice.to_string(), "advice": advice })
}
