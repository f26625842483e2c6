//! What a decision is: a verdict, and every step that had a say.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::ErrorKind;
use serde::{Deserialize, Serialize};

use crate::{ConfigEdit, Rule};

/// What comes of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Goes ahead.
    Allow,
    /// Goes ahead if the user approves.
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
pub enum StepOutcome {
    /// Had nothing against it.
    Pass,
    /// Needs approval.
    Ask,
    /// Removed it.
    Deny,
}

/// Where an entry stands: a line of a file, or a variable or flag by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceSpan {
    /// The file.
    pub file: Option<Arc<PathBuf>>,
    /// The line in it.
    pub line: Option<u32>,
}

impl SourceSpan {
    /// ` (config.toml:7)`, as the end of a sentence; nothing if it stands nowhere.
    fn brief(&self) -> String {
        let Some(name) = self.file.as_ref().and_then(|file| file.file_name()) else { return String::new() };
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!(" ({}{line})", name.to_string_lossy())
    }
}

/// What one step did, and because of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceEntry {
    /// The step.
    pub step: &'static str,
    /// What it did.
    pub outcome: StepOutcome,
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

/// Why something was refused, for the model and for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The `error_type`.
    pub kind: ErrorKind,
    /// What the model is told.
    pub message: String,
    /// What the user can change: each way lifts it, the smallest first. Nothing if no setting does.
    pub ways: Vec<Vec<ConfigEdit>>,
}

/// What the user is asked about: one effect of the plan, or the tool as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskSubject {
    /// The effect at this place of the plan.
    Effect(usize),
    /// The tool.
    Tool,
    /// Something that no rule can answer for good, such as an `ask` rule or tainted data.
    EveryTime,
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
    pub denials: Vec<Denial>,
    /// What the user would be asked about.
    pub asks: Vec<AskSubject>,
    /// What would end the questions of rules and of settings for programs, one for each.
    pub to_stop_asking: Vec<ConfigEdit>,
}

impl Decision {
    /// Nothing against it yet.
    pub fn allow() -> Self {
        Self { verdict: Verdict::Allow, trace: Vec::new(), denials: Vec::new(), asks: Vec::new(), to_stop_asking: Vec::new() }
    }
    /// Notes a step that had nothing against it.
    pub fn pass(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.note(step, StepOutcome::Pass, entry.into());
    }
    /// Notes a step that needs approval each time. A denial stays a denial.
    pub fn ask(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.ask_about(AskSubject::EveryTime, step, entry);
    }
    /// Notes a step that wants approval for something.
    pub fn ask_about(&mut self, about: AskSubject, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.note(step, StepOutcome::Ask, entry.into());
        self.asks.push(about);
        self.verdict = self.verdict.max(Verdict::Ask);
    }
    /// Notes an `ask` rule, and where it stands.
    pub(crate) fn ask_by_rule(&mut self, rule: &Rule) {
        self.ask("rules", format!("the rule '{}'", rule.label()));
        self.set_span(rule.span());
        self.to_stop_asking.push(ConfigEdit::remove_rule(rule));
    }
    /// Notes a rule that would hold a program back if it becomes what it can become, and where it stands.
    pub(crate) fn ask_about_rule(&mut self, program: &str, rule: &Rule) {
        let (text, key, place) = (rule.text(), rule.key(), rule.span().brief());
        let could_be = if rule.is_only_list() { "could start what is not" } else { "could be" };
        self.ask("rules", format!("'{program}' {could_be} {text}, which {key} names{place}"));
        self.set_span(rule.span());
        // Nothing can be added to a list that would name what a program may become.
        if !rule.is_only_list() {
            self.to_stop_asking.push(ConfigEdit::remove_rule(rule));
        }
    }
    /// Notes a step that removed it.
    pub fn deny(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>, denial: Denial) {
        self.note(step, StepOutcome::Deny, entry.into());
        self.verdict = Verdict::Deny;
        self.denials.push(denial);
    }
    fn note(&mut self, step: &'static str, outcome: StepOutcome, entry: Cow<'static, str>) {
        self.trace.push(TraceEntry { step, outcome, entry, file: None, line: None });
    }
    /// Says which line of which file the last step read.
    pub fn set_span(&mut self, span: &SourceSpan) {
        if let Some(last) = self.trace.last_mut() {
            (last.file, last.line) = (span.file.clone(), span.line);
        }
    }
    /// Why the model is refused, if it is.
    pub fn denial(&self) -> Option<&Denial> {
        self.denials.first()
    }
    /// Why the user is asked, in words: each reason once.
    pub fn question(&self) -> String {
        distinct(self.asking().map(|entry| entry.entry.to_string())).join("; ")
    }
    /// Why the user is asked, each reason once, with the place of its rule or setting.
    pub fn ask_reasons(&self) -> Vec<String> {
        distinct(self.asking().map(TraceEntry::with_place))
    }
    fn asking(&self) -> impl Iterator<Item = &TraceEntry> {
        self.trace.iter().filter(|entry| entry.outcome == StepOutcome::Ask)
    }
}

impl TraceEntry {
    /// The entry, and where it stands if it does not say so itself.
    fn with_place(&self) -> String {
        let place = SourceSpan { file: self.file.clone(), line: self.line }.brief();
        if self.entry.contains(place.trim()) { self.entry.to_string() } else { format!("{}{place}", self.entry) }
    }
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.fold(Vec::new(), |mut all, text| {
        if !all.contains(&text) {
            all.push(text);
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_stays_and_the_first_refusal_is_told() {
        let denial = |message: &str| Denial { kind: ErrorKind::Blocked, message: message.into(), ways: Vec::new() };
        let mut decision = Decision::allow();
        decision.ask("a", "x");
        assert_eq!(decision.verdict, Verdict::Ask);
        decision.deny("b", "y", denial("first"));
        decision.deny("c", "z", denial("second"));
        decision.ask("d", "w");
        assert_eq!((decision.verdict, decision.denial().unwrap().message.as_str()), (Verdict::Deny, "first"));
        assert_eq!((decision.trace.len(), decision.question().as_str()), (4, "x; w"));
    }

    #[test]
    fn each_reason_to_ask_is_named_once_with_its_place() {
        let span = SourceSpan { file: Some(Arc::new(PathBuf::from("/home/ann/config.toml"))), line: Some(7) };
        let none = SourceSpan::default();
        let mut decision = Decision::allow();
        for reason in ["the rule 'ask exec(npm *)'", "network access to a.org:443 needs approval", "the rule 'ask exec(npm *)'"] {
            decision.ask("rules", reason);
            decision.set_span(if reason.starts_with("the rule") { &span } else { &none });
        }
        assert_eq!(decision.question(), "the rule 'ask exec(npm *)'; network access to a.org:443 needs approval");
        assert_eq!(decision.ask_reasons(), ["the rule 'ask exec(npm *)' (config.toml:7)", "network access to a.org:443 needs approval"]);
    }
}
