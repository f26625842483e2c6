//! What skills and commands of the user leave of a tool for a turn, and the type of a sub-agent for good: calls that an entry of their
//! tools covers.

use haft_contract::{Effect, ErrorKind, LimitEnd, Plan, TurnLimit};

use crate::catalog::Vocabulary;
use crate::rule::rest_of_tool;
use crate::{Caller, Candidate, ConfigEdit, Decision, Denial};

const STEP: &str = "agent";

/// Denies effects that the limits of the turn do not cover: those of the caller, and of the agents that started it.
pub(crate) fn apply(
    decision: &mut Decision,
    tool: &Candidate<'_>,
    plan: &Plan,
    caller: &Caller,
    vocabulary: &Vocabulary,
    home: Option<&std::path::Path>,
) {
    for caller in std::iter::successors(Some(caller), |caller| caller.parent.as_deref()) {
        for limit in caller.turn_tools.narrowing(&tool.names) {
            if let Some(outside) = first_outside(&limit, tool, plan, vocabulary, home) {
                deny(decision, tool, &limit, &outside);
            }
        }
    }
}

/// The first effect that no entry covers, in words. What cannot be read or is not known is covered by nothing.
fn first_outside(
    limit: &TurnLimit,
    tool: &Candidate<'_>,
    plan: &Plan,
    vocabulary: &Vocabulary,
    home: Option<&std::path::Path>,
) -> Option<String> {
    let rest = match rest_of_tool(tool.name(), &limit.tools, &vocabulary.including(tool), home) {
        Ok(rest) => rest,
        Err(faults) => return Some(faults.first().map_or_else(String::new, ToString::to_string)),
    };
    let is_outside =
        |effect: &&Effect| matches!(effect, Effect::Unknown { .. } | Effect::Contained { .. }) || rest.on_effect(tool, effect).is_some();
    plan.effects().iter().find(is_outside).map(|effect| format!("{} {}", effect.kind(), effect.target()))
}

fn deny(decision: &mut Decision, tool: &Candidate<'_>, limit: &TurnLimit, outside: &str) {
    let (name, because, left) = (tool.name(), &limit.because, limit.tools.join(", "));
    let message = match limit.end {
        LimitEnd::Turn => format!(
            "'{outside}' is not covered by the allowed-tools of {because}, which leave '{name}' this until the end of the turn: {left}. Do \
             without it, or end the turn and ask the user to continue."
        ),
        LimitEnd::Session | LimitEnd::Type => format!(
            "'{outside}' is not covered by the tools of {because}, which leave '{name}' this: {left}. Do without it, or end with what is \
             left to do."
        ),
    };
    let way = ConfigEdit::Do(way(limit));
    let entry = format!("not covered by the allowed-tools of {because}: {left}");
    decision.deny(STEP, entry, Denial { kind: ErrorKind::PermissionDenied, message, ways: vec![vec![way]] });
}

/// What the user can do about a limit.
pub(crate) fn way(limit: &TurnLimit) -> String {
    let because = &limit.because;
    match limit.end {
        LimitEnd::Turn => format!("the limit ends with the turn; `allowed-tools` in the front matter of {because} names what it leaves"),
        LimitEnd::Session | LimitEnd::Type => format!("the front matter of {because} names what it leaves to the sub-agent"),
    }
}
