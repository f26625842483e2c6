//! The steps that decide whether a tool is offered. Each can only remove, and each says why.

mod channel;
mod defaults;
mod lists;
mod profile;
mod sandbox;
mod subagent;

use haft_contract::ErrorKind;

pub(crate) use self::channel::Channels;
pub(crate) use self::lists::{Lists, Provided, StandsIn};
pub(crate) use self::profile::{Profiles, profile};
pub(crate) use self::sandbox::compile as sandbox;
pub(crate) use self::subagent::SubAgents;
use crate::catalog::CATALOG;
use crate::{Caller, Candidate, Change, Decision, Refusal};

/// The steps of a decision, in order.
pub const STEPS: &[&str] = &[
    "switched off",
    "profile",
    "provider profile",
    "global",
    "global per provider",
    "agent",
    "agent per provider",
    "group",
    "sandbox",
    "sub-agent",
    "owner-only",
    "access level",
    "rules",
    "exec",
    "asking",
];

/// The tools that whoever made the session gave to it.
pub(crate) fn selection(decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
    let Some(selection) = &caller.tools else { return };
    if tool.names.iter().any(|name| selection.contains(name)) {
        return decision.pass("agent", "in the agent's tool set");
    }
    let change = Change::Do(format!("add '{}' to the tools of agent '{}'", tool.name(), caller.agent));
    decision.deny("agent", "not in the agent's tool set", unavailable(tool, "agent", Some(change)));
}

/// What only the owner may use: a tool that says so, or one that has the name of a tool which does.
pub(crate) fn owner_only(decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
    if !tool.definition.owner_only && !is_owners(tool) {
        return;
    }
    if caller.owner {
        return decision.pass("owner-only", "the sender is the owner");
    }
    let change = Some(Change::Do("have the owner send it".into()));
    let refusal = Refusal { kind: ErrorKind::ToolNotAvailable, message: "Tool restricted to owner senders.".into(), to_change: change };
    decision.deny("owner-only", "the sender is not the owner", refusal);
}

fn is_owners(tool: &Candidate<'_>) -> bool {
    CATALOG.iter().filter(|known| known.owner_only).any(|known| tool.names.iter().any(|name| name == known.name))
}

pub(crate) fn unavailable(tool: &Candidate<'_>, step: &str, to_change: Option<Change>) -> Refusal {
    Refusal {
        kind: ErrorKind::ToolNotAvailable,
        message: format!("Tool '{}' is not available for this agent (removed by the step '{step}').", tool.name()),
        to_change,
    }
}
