//! What a decision is: a verdict, and every step that had a say.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::ErrorKind;
use serde::Serialize;

use crate::{Change, Rule};

/// What comes of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Goes ahead.
    Allow,
    /// Goes ahead if a person says yes.
    Ask,
    /// Does not happen.
    #[default]
    Deny,
}

impl Verdict {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Had nothing against it.
    Pass,
    /// Wants a person's word.
    Ask,
    /// Removed it.
    Deny,
}

/// Where an entry stands: a line of a file, or a variable or flag by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file.
    pub file: Option<Arc<PathBuf>>,
    /// The line in it.
    pub line: Option<u32>,
}

/// What one step did, and because of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceEntry {
    /// The step.
    pub step: &'static str,
    /// What it did.
    pub outcome: Outcome,
    /// Because of which entry, level or rule.
    pub entry: Cow<'static, str>,
    /// The file that says so.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub file: Option<Arc<PathBuf>>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[allow(clippy::ref_option)] // the signature that serde asks for
fn as_text<S: serde::Serializer>(file: &Option<Arc<PathBuf>>, serializer: S) -> Result<S::Ok, S::Error> {
    file.as_ref().map(|file| file.to_string_lossy()).serialize(serializer)
}

/// Why something was refused, for the model and for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The `error_type`.
    pub kind: ErrorKind,
    /// What the model is told.
    pub message: String,
    /// What the person can change.
    pub to_change: Option<Change>,
}

/// What a person is asked about: one effect of the plan, or the tool as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The effect at this place of the plan.
    Effect(usize),
    /// The tool.
    Tool,
    /// Something that no rule can answer for good, such as an `ask` rule or tainted data.
    Firm,
}

/// A verdict with its reasons. The default denies, without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Decision {
    /// What comes of it.
    pub verdict: Verdict,
    /// Every step that had a say, in order.
    pub trace: Vec<TraceEntry>,
    /// Why not, if not: one for each step that removed it, in order. The first is what the model is told.
    pub refusals: Vec<Refusal>,
    /// What a person would be asked about.
    pub asks: Vec<About>,
    /// What would end the questions of rules and of settings for programs, one for each.
    pub to_stop_asking: Vec<Change>,
}

impl Decision {
    /// Nothing against it yet.
    pub fn allow() -> Self {
        Self { verdict: Verdict::Allow, trace: Vec::with_capacity(6), refusals: Vec::new(), asks: Vec::new(), to_stop_asking: Vec::new() }
    }
    /// Notes a step that had nothing against it.
    pub fn pass(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.note(step, Outcome::Pass, entry.into());
    }
    /// Notes a step that wants a person's word, which no rule can give for good. A denial stays a denial.
    pub fn ask(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.ask_about(About::Firm, step, entry);
    }
    /// Notes a step that wants a person's word about something.
    pub fn ask_about(&mut self, about: About, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.note(step, Outcome::Ask, entry.into());
        self.asks.push(about);
        self.verdict = self.verdict.max(Verdict::Ask);
    }
    /// Notes an `ask` rule, and where it stands.
    pub(crate) fn ask_by_rule(&mut self, rule: &Rule) {
        self.ask("rules", format!("the rule 'ask {}'", rule.text()));
        self.source(rule.place());
        self.to_stop_asking.push(Change::remove_rule(rule));
    }
    /// Notes a step that removed it.
    pub fn deny(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>, refusal: Refusal) {
        self.note(step, Outcome::Deny, entry.into());
        self.verdict = Verdict::Deny;
        self.refusals.push(refusal);
    }
    fn note(&mut self, step: &'static str, outcome: Outcome, entry: Cow<'static, str>) {
        self.trace.push(TraceEntry { step, outcome, entry, file: None, line: None });
    }
    /// Says which line of which file the last step read.
    pub fn source(&mut self, place: &Place) {
        if let Some(last) = self.trace.last_mut() {
            (last.file, last.line) = (place.file.clone(), place.line);
        }
    }
    /// Why the model is refused, if it is.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusals.first()
    }
    /// Why a person is asked, in words.
    pub fn question(&self) -> String {
        let asks = self.trace.iter().filter(|entry| entry.outcome == Outcome::Ask).map(|entry| entry.entry.as_ref());
        asks.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_stays_and_the_first_refusal_is_told() {
        let refusal = |message: &str| Refusal { kind: ErrorKind::Blocked, message: message.into(), to_change: None };
        let mut decision = Decision::allow();
        decision.ask("a", "x");
        assert_eq!(decision.verdict, Verdict::Ask);
        decision.deny("b", "y", refusal("first"));
        decision.deny("c", "z", refusal("second"));
        decision.ask("d", "w");
        assert_eq!((decision.verdict, decision.refusal().unwrap().message.as_str()), (Verdict::Deny, "first"));
        assert_eq!((decision.trace.len(), decision.question().as_str()), (4, "x; w"));
    }
}
