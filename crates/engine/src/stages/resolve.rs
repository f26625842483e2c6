//! resolve + available: the name the model wrote → a tool that this agent may use.

use std::sync::Arc;

use haft_contract::{ErrorKind, ToolError};

use crate::policy::{Candidate, Decision, Policy, Verdict};
use crate::{Entry, Registry, Session};

/// The tool behind a name; an unknown one is answered with the nearest names.
pub(crate) fn resolve(registry: &Registry, name: &str) -> Result<Arc<Entry>, ToolError> {
    registry.get(name).ok_or_else(|| not_found(registry, name))
}

fn not_found(registry: &Registry, name: &str) -> ToolError {
    let shown: String = name.chars().take(100).collect();
    let hint = match registry.nearest(name).as_slice() {
        [] => format!("The tools are: {}.", registry.names().join(", ")),
        near => format!("Did you mean {}?", near.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or ")),
    };
    ToolError::new(ErrorKind::ToolNotFound, format!("Tool '{shown}' not found. {hint}"))
}

/// Whether this session is offered the tool; the refusal names the step that removed it.
pub(crate) fn available(policy: &dyn Policy, entry: &Entry, session: &Session) -> Result<Decision, (ToolError, Decision)> {
    let decision = policy.offer(Candidate::from(entry), session);
    if decision.verdict == Verdict::Deny { Err((refused(&decision), decision)) } else { Ok(decision) }
}

/// The error of a decision that said no.
pub(crate) fn refused(decision: &Decision) -> ToolError {
    let details = serde_json::json!({
        "decision": decision.trace,
        "to_change": decision.refusal.as_ref().and_then(|refusal| refusal.to_change.clone()),
    });
    match &decision.refusal {
        Some(refusal) => ToolError::new(refusal.kind, refusal.message.clone()).with_details(details),
        None => ToolError::denied("The policy refused this call.").with_details(details),
    }
}
