//! The policy that the configuration describes; every entry knows its file and line.

use std::path::PathBuf;
use std::sync::Arc;

use haft_config::{Provenance, Source, Sourced};
use haft_contract::{Plan, ToolDefinition};
use haft_engine::{Candidate, Decision, Listed, Outcome, Policy, Registry, Session, StandardPolicy, TraceEntry};

/// The policy of these settings.
pub(super) fn policy(settings: &Provenance, registry: &Registry) -> Arc<dyn Policy> {
    let listed = |entries: &[Sourced<String>]| entries.iter().map(|entry| entry_of(entry, registry)).collect::<Vec<_>>();
    let mut allows = settings.lists("tools.allow").iter().map(|list| listed(&list.value));
    let standard = StandardPolicy {
        disabled: listed(settings.entries("tools.disabled")),
        allow: allows.next(),
        deny: listed(settings.entries("tools.deny")),
    };
    let further: Vec<_> = allows.map(|allow| StandardPolicy { allow: Some(allow), ..StandardPolicy::default() }).collect();
    if further.is_empty() { Arc::new(standard) } else { Arc::new(Layered { standard, further }) }
}

/// An entry as the policy compares it: a tool by its canonical name, however the person wrote it.
fn entry_of(entry: &Sourced<String>, registry: &Registry) -> Listed {
    let written = entry.value.trim();
    let pattern = registry.get(written).map_or_else(|| written.replace('-', "_"), |tool| tool.name().to_owned());
    let mut listed = Listed::new(pattern);
    (listed.file, listed.line) = place(&entry.source);
    listed
}

/// The file and line, or the variable or flag, that says so.
fn place(source: &Source) -> (Option<Arc<PathBuf>>, Option<u32>) {
    let named = || source.name.as_ref().map(|name| Arc::new(PathBuf::from(name)));
    (source.file.clone().or_else(named), source.line)
}

/// Several layers have a list of allowed tools, and a tool must stand in each of them.
struct Layered {
    standard: StandardPolicy,
    further: Vec<StandardPolicy>,
}

impl Policy for Layered {
    fn offer(&self, tool: Candidate<'_>, session: &Session) -> Decision {
        let mut decision = self.standard.offer(tool, session);
        for policy in &self.further {
            add_global(&mut decision, policy.offer(tool, session));
        }
        decision
    }

    fn permit(&self, offered: Decision, tool: &ToolDefinition, plan: &Plan, session: &Session) -> Decision {
        self.standard.permit(offered, tool, plan, session)
    }
}

/// Adds what another list of allowed tools says.
fn add_global(decision: &mut Decision, other: Decision) {
    let Some(TraceEntry { step, outcome, entry, file, line }) = other.trace.into_iter().find(|entry| entry.step == "global") else {
        return;
    };
    match (outcome, other.refusal) {
        (Outcome::Deny, Some(refusal)) => decision.deny(step, entry, refusal),
        _ => decision.pass(step, entry),
    }
    decision.source(file, line);
}
