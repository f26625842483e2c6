//! The steps that decide whether a tool is offered. Each can only remove, and each says why.

mod channel;
mod defaults;
mod lists;
mod profile;
mod sandbox;
mod subagent;

use haft_contract::{ErrorKind, LimitEnd, TurnLimit};

pub(crate) use self::channel::Channels;
pub(crate) use self::lists::{ByProvider, Lists, Overrides};
pub(crate) use self::profile::{Profiles, optional, profile};
pub(crate) use self::sandbox::compile as sandbox;
pub(crate) use self::subagent::SubAgentStep;
use crate::{Caller, Candidate, ConfigEdit, Decision, Denial, turn_limits};

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
    if let Some(limit) = caller.turn_tools.excludes(&tool.names) {
        return decision.deny("agent", format!("not among the allowed-tools of {}", limit.because), limited(tool, &limit));
    }
    let Some(selection) = &caller.tools else { return };
    if tool.names.iter().any(|name| selection.contains(name)) {
        return decision.pass("agent", "in the agent's tool set");
    }
    let change = ConfigEdit::Do(format!("only the program that made the agent '{}' can give it '{}'", caller.agent, tool.name()));
    decision.deny("agent", "not in the agent's tool set", unavailable(tool, "agent", vec![change]));
}

/// A tool that cannot work here, such as one that needs a service which is not configured.
pub(crate) fn absent(decision: &mut Decision, tool: &Candidate<'_>) {
    let Some(absent) = &tool.definition.absent else { return };
    let message = format!("Tool '{}' is not available: {}. {WITHOUT}", tool.name(), absent.why);
    let ways = vec![vec![ConfigEdit::Do(absent.advice.to_string())]];
    decision.deny("switched off", absent.why.to_string(), Denial { kind: ErrorKind::ToolNotAvailable, message, ways });
}

/// What only the owner may use: a tool that says so, or one that has the name of a tool which does.
pub(crate) fn owner_only(decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
    if !tool.definition.owner_only && !is_owners(tool) {
        return;
    }
    if caller.owner {
        return decision.pass("owner-only", "the sender is the owner");
    }
    let ways = vec![vec![ConfigEdit::Do("no setting allows it: the owner must send the message".into())]];
    let denial = Denial { kind: ErrorKind::ToolNotAvailable, message: format!("Tool restricted to owner senders. {OWNER}"), ways };
    decision.deny("owner-only", "the sender is not the owner", denial);
}

/// A plugin or a server must not offer them to others by taking the name.
const OWNERS: [&str; 3] = ["cron", "gateway", "whatsapp_login"];

fn is_owners(tool: &Candidate<'_>) -> bool {
    OWNERS.iter().any(|owned| tool.names.iter().any(|name| name == owned))
}

/// The way forward of a model that has no other tool for it; an engine that knows one names it instead.
pub const WITHOUT: &str = "Do without it, or ask the user to allow it.";
const OWNER: &str = "Do without it, or ask the owner to send the message.";

/// A tool that a limit of the turn or of the session leaves out.
fn limited(tool: &Candidate<'_>, limit: &TurnLimit) -> Denial {
    let (name, because) = (tool.name(), &limit.because);
    let message = match limit.end {
        LimitEnd::Turn => format!(
            "Tool '{name}' is not available until the end of this turn: it is not among the allowed-tools of {because}. Do without it, or \
             end the turn and ask the user to continue."
        ),
        LimitEnd::Session | LimitEnd::Type => format!(
            "Tool '{name}' is not available to this sub-agent: it is not among the tools of {because}. Do without it, or end with what is \
             left to do."
        ),
    };
    let way = ConfigEdit::Do(turn_limits::way(limit));
    Denial { kind: ErrorKind::ToolNotAvailable, message, ways: vec![vec![way]] }
}

pub(crate) fn unavailable(tool: &Candidate<'_>, step: &str, way: Vec<ConfigEdit>) -> Denial {
    Denial {
        kind: ErrorKind::ToolNotAvailable,
        message: format!("Tool '{}' is not available for this agent (removed by the step '{step}'). {WITHOUT}", tool.name()),
        ways: vec![way],
    }
}
