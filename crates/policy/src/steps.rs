//! The steps that decide whether a tool is offered. Each can only remove, and each says why.

mod channel;
mod defaults;
mod lists;
mod profile;
mod sandbox;
mod subagent;

use haft_contract::ErrorKind;

pub(crate) use self::channel::Channels;
pub(crate) use self::lists::{ByProvider, Lists, Overrides};
pub(crate) use self::profile::{Profiles, profile};
pub(crate) use self::sandbox::compile as sandbox;
pub(crate) use self::subagent::SubAgents;
use crate::catalog::NOT_BUILT_YET;
use crate::{Caller, Candidate, ConfigEdit, Decision, Denial};

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

/// The tools that the creator of the session gave to it.
pub(crate) fn selection(decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
    let Some(selection) = &caller.tools else { return };
    if tool.names.iter().any(|name| selection.contains(name)) {
        return decision.pass("agent", "in the agent's tool set");
    }
    let change = ConfigEdit::Do(format!("add '{}' to the tools of agent '{}'", tool.name(), caller.agent));
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
    let change = Some(ConfigEdit::Do("have the owner send it".into()));
    let denial = Denial { kind: ErrorKind::ToolNotAvailable, message: "Tool restricted to owner senders.".into(), to_change: change };
    decision.deny("owner-only", "the sender is not the owner", denial);
}

fn is_owners(tool: &Candidate<'_>) -> bool {
    NOT_BUILT_YET.iter().filter(|planned| planned.owner_only).any(|planned| tool.names.iter().any(|name| name == planned.name))
}

pub(crate) fn unavailable(tool: &Candidate<'_>, step: &str, to_change: Option<ConfigEdit>) -> Denial {
    Denial {
        kind: ErrorKind::ToolNotAvailable,
        message: format!("Tool '{}' is not available for this agent (removed by the step '{step}').", tool.name()),
        to_change,
    }
}
