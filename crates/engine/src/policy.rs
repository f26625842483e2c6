//! One decision function: what the model is offered, what may run, what `explain` prints and what history keeps all
//! come from here, with the reasons.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{Access, Effect, ErrorKind, Need, Plan, ToolDefinition, Zone};
use serde::Serialize;

use crate::registry::folded;
use crate::{Entry, Session};

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
    pub to_change: Option<String>,
}

/// A verdict with its reasons. The default denies, without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// What comes of it.
    pub verdict: Verdict,
    /// Every step that had a say, in order.
    pub trace: Vec<TraceEntry>,
    /// Why not, if not.
    pub refusal: Option<Refusal>,
}

impl Decision {
    /// Nothing against it yet.
    pub fn allow() -> Self {
        Self { verdict: Verdict::Allow, trace: Vec::with_capacity(6), refusal: None }
    }
    /// Notes a step that had nothing against it.
    pub fn pass(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.trace.push(TraceEntry { step, outcome: Outcome::Pass, entry: entry.into(), file: None, line: None });
    }
    /// Notes a step that wants a person's word. A denial stays a denial.
    pub fn ask(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>) {
        self.trace.push(TraceEntry { step, outcome: Outcome::Ask, entry: entry.into(), file: None, line: None });
        if self.verdict == Verdict::Allow {
            self.verdict = Verdict::Ask;
        }
    }
    /// Notes a step that removed it. The first refusal is the one that is told.
    pub fn deny(&mut self, step: &'static str, entry: impl Into<Cow<'static, str>>, refusal: Refusal) {
        self.trace.push(TraceEntry { step, outcome: Outcome::Deny, entry: entry.into(), file: None, line: None });
        self.verdict = Verdict::Deny;
        self.refusal.get_or_insert(refusal);
    }
    /// Says which line of which file the last step read.
    pub fn source(&mut self, file: Option<Arc<PathBuf>>, line: Option<u32>) {
        if let Some(last) = self.trace.last_mut() {
            (last.file, last.line) = (file, line);
        }
    }
}

/// A tool whose availability is decided.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// What is known of it.
    pub definition: &'a ToolDefinition,
    /// Whether the registry has it switched off for everyone.
    pub switched_off: bool,
}

impl<'a> From<&'a Entry> for Candidate<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self { definition: entry.definition(), switched_off: entry.is_disabled() }
    }
}

/// Decides. Steps run in order, and each can only tighten.
pub trait Policy: Send + Sync {
    /// Whether the tool is offered to this session at all.
    fn offer(&self, tool: Candidate<'_>, session: &Session) -> Decision;
    /// Goes on from [`Policy::offer`]: whether a call with these effects may run.
    fn permit(&self, offered: Decision, tool: &ToolDefinition, plan: &Plan, session: &Session) -> Decision;
    /// Both at once.
    fn decide(&self, tool: Candidate<'_>, plan: Option<&Plan>, session: &Session) -> Decision {
        let offered = self.offer(tool, session);
        match plan {
            Some(plan) if offered.verdict != Verdict::Deny => self.permit(offered, tool.definition, plan, session),
            _ => offered,
        }
    }
}

/// One list entry and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// A tool name, an alias, or a pattern with `*`.
    pub pattern: String,
    /// The file it stands in.
    pub file: Option<Arc<PathBuf>>,
    /// The line.
    pub line: Option<u32>,
}

impl Listed {
    /// An entry that stands in no file.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), file: None, line: None }
    }
    fn matches(&self, tool: &ToolDefinition) -> bool {
        // Spelled as freely as a call: blanks, case and hyphens do not matter.
        let pattern = folded(&self.pattern);
        std::iter::once(&tool.name).chain(&tool.aliases).any(|name| glob(&pattern, &folded(name)))
    }
}

/// The policy of this version: switched-off tools, the global lists, the agent's selection, owner-only, access level.
#[derive(Debug, Clone, Default)]
pub struct StandardPolicy {
    /// Tools switched off for everyone.
    pub disabled: Vec<Listed>,
    /// Lists of allowed tools: a tool must stand in each of them; without a list, all are allowed.
    pub allow: Vec<Vec<Listed>>,
    /// Never these.
    pub deny: Vec<Listed>,
}

impl Policy for StandardPolicy {
    fn offer(&self, tool: Candidate<'_>, session: &Session) -> Decision {
        let mut decision = Decision::allow();
        self.switched_off(&mut decision, tool);
        self.global(&mut decision, tool.definition);
        agent(&mut decision, tool.definition, session);
        owner_only(&mut decision, tool.definition, session);
        decision
    }

    fn permit(&self, mut decision: Decision, tool: &ToolDefinition, plan: &Plan, session: &Session) -> Decision {
        if plan.effects().is_empty() {
            // A tool that says nothing of its effects is taken at its word about its access.
            reach(&mut decision, tool, None, tool.access, session);
        }
        for effect in plan.effects() {
            match effect.need() {
                Need::Never(kind, why) => decision.deny("access level", effect.kind(), never(kind, &why)),
                Need::Access(needed) => reach(&mut decision, tool, Some(effect), needed, session),
            }
            if let Effect::Unknown { why } = effect {
                decision.ask("unknown effects", why.clone());
            }
        }
        decision
    }
}

impl StandardPolicy {
    fn switched_off(&self, decision: &mut Decision, candidate: Candidate<'_>) {
        let tool = candidate.definition;
        let listed = self.disabled.iter().find(|entry| entry.matches(tool));
        if listed.is_none() && !candidate.switched_off {
            return;
        }
        decision.deny(
            "switched off",
            listed.map_or_else(|| tool.name.to_string(), |entry| entry.pattern.clone()),
            Refusal {
                kind: ErrorKind::ToolGloballyDisabled,
                message: format!("Tool '{}' is switched off for everyone. Use another tool, or ask the person to switch it on.", tool.name),
                to_change: Some(format!("remove '{}' from tools.disabled", tool.name)),
            },
        );
        if let Some(entry) = listed {
            decision.source(entry.file.clone(), entry.line);
        }
    }

    fn global(&self, decision: &mut Decision, tool: &ToolDefinition) {
        if let Some(entry) = self.deny.iter().find(|entry| entry.matches(tool)) {
            let change = format!("remove '{}' from tools.deny", entry.pattern);
            decision.deny("global", format!("deny {}", entry.pattern), unavailable(tool, "global", Some(change)));
            decision.source(entry.file.clone(), entry.line);
            return;
        }
        for allow in &self.allow {
            if let Some(entry) = allow.iter().find(|entry| entry.matches(tool)) {
                decision.pass("global", format!("allow {}", entry.pattern));
                decision.source(entry.file.clone(), entry.line);
            } else {
                let change = format!("add '{}' to tools.allow", tool.name);
                decision.deny("global", "not in tools.allow", unavailable(tool, "global", Some(change)));
                decision.source(allow.first().and_then(|entry| entry.file.clone()), allow.first().and_then(|entry| entry.line));
            }
        }
    }
}

fn agent(decision: &mut Decision, tool: &ToolDefinition, session: &Session) {
    let Some(selection) = session.tools() else { return };
    let chosen = std::iter::once(&tool.name).chain(&tool.aliases).any(|name| selection.iter().any(|picked| *picked == folded(name)));
    if chosen {
        decision.pass("agent", "in the agent's tool set");
    } else {
        let change = format!("add '{}' to the tools of agent '{}'", tool.name, session.agent());
        decision.deny("agent", "not in the agent's tool set", unavailable(tool, "agent", Some(change)));
    }
}

fn owner_only(decision: &mut Decision, tool: &ToolDefinition, session: &Session) {
    if !tool.owner_only {
        return;
    }
    if session.is_owner() {
        decision.pass("owner-only", "the sender is the owner");
    } else {
        let refusal = Refusal { kind: ErrorKind::ToolNotAvailable, message: "Tool restricted to owner senders.".into(), to_change: None };
        decision.deny("owner-only", "the sender is not the owner", refusal);
    }
}

fn unavailable(tool: &ToolDefinition, step: &str, to_change: Option<String>) -> Refusal {
    Refusal {
        kind: ErrorKind::ToolNotAvailable,
        message: format!("Tool '{}' is not available for this agent (removed by the step '{step}').", tool.name),
        to_change,
    }
}

fn never(kind: ErrorKind, why: &str) -> Refusal {
    let message = if kind == ErrorKind::PathNotAllowed { format!("Access denied: {why}") } else { why.to_owned() };
    Refusal { kind, message, to_change: None }
}

/// Whether the session's access suffices, for an effect or for a tool that names none.
fn reach(decision: &mut Decision, tool: &ToolDefinition, effect: Option<&Effect>, needed: Access, session: &Session) {
    if needed <= session.access() {
        return decision.pass("access level", access_note(needed));
    }
    let what = effect.map_or("the tool", Effect::kind);
    decision.deny(
        "access level",
        format!("{what} needs {needed}, the session has {}", session.access()),
        beyond(tool, effect, needed, session),
    );
}

fn beyond(tool: &ToolDefinition, effect: Option<&Effect>, needed: Access, session: &Session) -> Refusal {
    let to_change = Some(format!("run with --access {needed}, or set access = \"{needed}\""));
    let outside = effect.and_then(Effect::path).is_some_and(|(path, _)| path.location.zone() == Zone::Outside);
    let target = effect.map(Effect::target).unwrap_or_default();
    if outside {
        let message = format!(
            "Access denied: path is outside the workspace: '{target}'. Use a path inside the workspace; only the person can grant {needed}."
        );
        return Refusal { kind: ErrorKind::PathNotAllowed, message, to_change };
    }
    let purpose = effect.map(|effect| format!(" to {} '{target}'", effect.kind())).unwrap_or_default();
    let message = format!(
        "'{}' needs the access level {needed}{purpose}, and this session has {}. Only the person can raise it (--access {needed}).",
        tool.name,
        session.access()
    );
    Refusal { kind: ErrorKind::PermissionDenied, message, to_change }
}

fn access_note(needed: Access) -> &'static str {
    match needed {
        Access::ReadOnly => "needs read-only",
        Access::WorkspaceWrite => "needs workspace-write",
        Access::FullAccess => "needs full-access",
    }
}

/// Matches `*` against any run of characters. Iterative, so that no pattern can take long.
fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && pattern[p] == name[n] {
            p += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, matches) in [
            ("read_file", "read_file", true),
            ("read", "read_file", false),
            ("web_*", "web_fetch", true),
            ("*", "anything", true),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("r*d*e", "read_file", true),
            ("", "x", false),
        ] {
            assert_eq!(glob(pattern, name), matches, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_denial_stays_and_the_first_refusal_is_told() {
        let refusal = |message: &str| Refusal { kind: ErrorKind::Blocked, message: message.into(), to_change: None };
        let mut decision = Decision::allow();
        decision.ask("a", "x");
        assert_eq!(decision.verdict, Verdict::Ask);
        decision.deny("b", "y", refusal("first"));
        decision.deny("c", "z", refusal("second"));
        decision.ask("d", "w");
        assert_eq!((decision.verdict, decision.refusal.unwrap().message), (Verdict::Deny, "first".into()));
        assert_eq!(decision.trace.len(), 4);
    }
}
