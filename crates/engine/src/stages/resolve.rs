//! resolve + available: the name that the model wrote → a tool, and what a refusal says.

use std::sync::Arc;

use haft_contract::{Dialect, ErrorKind, Meta, ToolError};
use haft_policy::catalog::NOT_BUILT_YET;
use haft_policy::{ConfigEdit, Decision, StepOutcome, TraceEntry, folded};
use haft_text::truncate::first_chars;

use crate::{Registry, ToolEntry};

/// The tool behind a name; an unknown one is answered with the nearest names, as the session's model was shown them.
pub(crate) fn resolve(registry: &Registry, name: &str, dialect: Dialect) -> Result<Arc<ToolEntry>, ToolError> {
    registry.get(name).ok_or_else(|| not_found(registry, name, dialect))
}

fn not_found(registry: &Registry, name: &str, dialect: Dialect) -> ToolError {
    let shown = first_chars(name, 100);
    let hint = match nearest(registry, name, dialect).as_slice() {
        [] => {
            let names: Vec<String> = registry.entries().iter().map(|entry| entry.definition().name_in(dialect).to_owned()).collect();
            format!("The tools are: {}.", names.join(", "))
        }
        near => format!("Did you mean {}?", near.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")),
    };
    let absent = if is_not_built(name) { " It is known, but this version does not have it yet." } else { "" };
    ToolError::new(ErrorKind::ToolNotFound, format!("Tool '{shown}' not found.{absent} {hint}"))
}

/// Whether a tool of this name is planned: policies may name it, so the model must not think it a typing error.
fn is_not_built(name: &str) -> bool {
    let wanted = folded(name);
    NOT_BUILT_YET.iter().flat_map(Meta::names).any(|planned| folded(planned) == wanted)
}

/// The nearest names, in the dialect of the session.
fn nearest(registry: &Registry, name: &str, dialect: Dialect) -> Vec<String> {
    let mut near = registry.nearest(name);
    if dialect != Dialect::Haft {
        near = near.iter().filter_map(|name| Some(registry.get(name)?.definition().name_in(dialect).to_owned())).collect();
        near.dedup();
    }
    near
}

/// The error of a decision that denies.
pub(crate) fn refused(decision: &Decision) -> ToolError {
    let details = serde_json::json!({
        "decision": decision.trace,
        "to_change": to_change(decision),
    });
    match decision.denial() {
        Some(refusal) => ToolError::new(refusal.kind, refusal.message.clone()).with_details(details),
        None => ToolError::denied("The policy refused this call.").with_details(details),
    }
}

/// All changes that the user would have to make, and where: a tool that several steps removed comes back when none of them
/// removes it. `None` if no change would help.
pub(crate) fn to_change(decision: &Decision) -> Option<String> {
    let changes: Option<Vec<ConfigEdit>> = decision.denials.iter().map(|refusal| refusal.to_change.clone()).collect();
    let changes = with_spans(&changes.filter(|changes| !changes.is_empty())?, decision, StepOutcome::Deny);
    Some(if decision.asks.is_empty() { changes } else { format!("{changes}; then it needs approval") })
}

/// Several changes, each once, with the file and line of the entry that each is about. A decision has one denial, or one
/// rule or setting for programs that asks, for each of them, in order.
pub(crate) fn with_spans(changes: &[ConfigEdit], decision: &Decision, outcome: StepOutcome) -> String {
    let counts = |entry: &&TraceEntry| entry.outcome == outcome && (outcome == StepOutcome::Deny || matches!(entry.step, "rules" | "exec"));
    let steps = decision.trace.iter().filter(counts);
    let spans = steps.map(Some).chain(std::iter::repeat(None));
    let mut texts: Vec<String> = changes.iter().zip(spans).map(|(change, entry)| with_span(change, entry)).collect();
    texts.dedup();
    texts.join("; and ")
}

/// A change, and where it is to be made; one that names the file already gets the line alone.
fn with_span(change: &ConfigEdit, entry: Option<&TraceEntry>) -> String {
    let text = change.to_string();
    let Some((file, entry)) = entry.and_then(|entry| Some((entry.file.as_ref()?.display().to_string(), entry))) else { return text };
    let span = entry.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
    if text.contains(&file) { text.replacen(&file, &span, 1) } else { format!("{text} ({span})") }
}
