//! resolve + available: the name the model wrote → a tool that this agent may use.

use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, ToolError};
use haft_policy::catalog::{CATALOG, Known};
use haft_policy::{Change, Decision, Outcome, Policy, TraceEntry, Verdict, folded};

use crate::{Entry, Registry, Session};

/// The tool behind a name; an unknown one is answered with the nearest names, as the session's model was shown them.
pub(crate) fn resolve(registry: &Registry, name: &str, dialect: Dialect) -> Result<Arc<Entry>, ToolError> {
    registry.get(name).ok_or_else(|| not_found(registry, name, dialect))
}

fn not_found(registry: &Registry, name: &str, dialect: Dialect) -> ToolError {
    let shown: String = name.chars().take(100).collect();
    let hint = match nearest(registry, name, dialect).as_slice() {
        [] => {
            let names: Vec<String> = registry.entries().iter().map(|entry| entry.definition().name_in(dialect).to_owned()).collect();
            format!("The tools are: {}.", names.join(", "))
        }
        near => format!("Did you mean {}?", near.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")),
    };
    let absent = if is_catalogued(name) { " It is known, but this version does not have it yet." } else { "" };
    ToolError::new(ErrorKind::ToolNotFound, format!("Tool '{shown}' not found.{absent} {hint}"))
}

/// A name of the catalog whose tool is not built: policies may speak of it, so whoever asks must not think it a typing error.
fn is_catalogued(name: &str) -> bool {
    let wanted = folded(name);
    let names = |known: &'static Known| std::iter::once(known.name).chain(known.aliases.iter().copied());
    CATALOG.iter().flat_map(names).any(|known| folded(known) == wanted)
}

/// A model that knows a tool by another name is not confused with the canonical one.
fn nearest(registry: &Registry, name: &str, dialect: Dialect) -> Vec<String> {
    let mut near = registry.nearest(name);
    if dialect != Dialect::Haft {
        near = near.iter().filter_map(|name| Some(registry.get(name)?.definition().name_in(dialect).to_owned())).collect();
        near.dedup();
    }
    near
}

/// Whether this session is offered the tool; the refusal names the step that removed it.
pub(crate) fn available(policy: &dyn Policy, entry: &Entry, session: &Session) -> Result<Decision, (ToolError, Decision)> {
    let decision = policy.offer(&entry.candidate(), session.caller());
    if decision.verdict == Verdict::Deny { Err((refused(&decision), decision)) } else { Ok(decision) }
}

/// The error of a decision that said no.
pub(crate) fn refused(decision: &Decision) -> ToolError {
    let details = serde_json::json!({
        "decision": decision.trace,
        "to_change": to_change(decision),
    });
    match decision.refusal() {
        Some(refusal) => ToolError::new(refusal.kind, refusal.message.clone()).with_details(details),
        None => ToolError::denied("The policy refused this call.").with_details(details),
    }
}

/// What the person would have to change, all of it and where: a tool that several steps removed comes back when none of them
/// does. `None` if nothing that can be changed would help.
pub(crate) fn to_change(decision: &Decision) -> Option<String> {
    let changes: Option<Vec<Change>> = decision.refusals.iter().map(|refusal| refusal.to_change.clone()).collect();
    let changes = placed(&changes.filter(|changes| !changes.is_empty())?, decision, Outcome::Deny);
    Some(if decision.asks.is_empty() { changes } else { format!("{changes}; then a person is asked") })
}

/// Several changes, each once, with the file and line of the entry that each is about. A decision has one denial, or one
/// rule or setting for programs that asks, for each of them, in order.
pub(crate) fn placed(changes: &[Change], decision: &Decision, outcome: Outcome) -> String {
    let counts = |entry: &&TraceEntry| entry.outcome == outcome && (outcome == Outcome::Deny || matches!(entry.step, "rules" | "exec"));
    let steps = decision.trace.iter().filter(counts);
    let places = steps.map(Some).chain(std::iter::repeat(None));
    let mut texts: Vec<String> = changes.iter().zip(places).map(|(change, entry)| with_place(change, entry)).collect();
    texts.dedup();
    texts.join("; and ")
}

/// A change, and where it is to be made; one that names the file already gets the line alone.
fn with_place(change: &Change, entry: Option<&TraceEntry>) -> String {
    let text = change.to_string();
    let Some((file, entry)) = entry.and_then(|entry| Some((entry.file.as_ref()?.display().to_string(), entry))) else { return text };
    let place = entry.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
    if text.contains(&file) { text.replacen(&file, &place, 1) } else { format!("{text} ({place})") }
}
