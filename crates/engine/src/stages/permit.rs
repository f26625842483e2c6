//! permit: the policy on the effects, host permissions, approvals. Only a call that passes here may run.

use haft_contract::{Plan, Prepared, ToolError};
use haft_policy::{Decision, Policy, Verdict};

use super::resolve::refused;
use super::taint::{TaintCheck, TaintFacts};
use crate::approvals::{ApprovalStep, no_approver};
use crate::events::EventSink;
use crate::stop::StopSignal;
use crate::trail::CallFacts;
use crate::{CallLimits, Session, ToolEntry};

/// A call that may run; made by [`permit`] alone. It holds the very plan that was evaluated and approved, and a [`Prepared`]
/// cannot be changed, so an approval needs no second check before the tool starts.
pub(crate) struct PermittedCall {
    prepared: Prepared,
}

impl PermittedCall {
    pub(crate) fn plan(&self) -> &Plan {
        self.prepared.plan()
    }
    /// For the next stage.
    pub(super) fn into_prepared(self) -> Prepared {
        self.prepared
    }
}

/// Everything that the stage reads but the plan.
#[derive(Clone, Copy)]
pub(crate) struct PermitRequest<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) limits: &'a CallLimits,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) entry: &'a ToolEntry,
    pub(crate) facts: CallFacts<'a>,
    pub(crate) session: &'a Session,
    pub(crate) stop: &'a StopSignal<'a>,
}

/// The decision on a plan, and on a secret in its arguments: the policy's, never looser than what was offered, tightened by the
/// taint guard.
pub(crate) fn decide(
    policy: &dyn Policy,
    offered: Decision,
    entry: &ToolEntry,
    plan: &Plan,
    facts: TaintFacts,
    session: &Session,
) -> Decision {
    let least = offered.verdict;
    let mut decision = policy.permit(offered, &entry.candidate(), plan, session.caller());
    decision.verdict = decision.verdict.max(least);
    TaintCheck { policy, entry, plan, session, facts }.apply(&mut decision);
    policy.finalize(decision)
}

/// Decides, and asks for approval where the decision needs it. The decision is updated in place, so that history has it
/// either way.
pub(crate) async fn permit(request: PermitRequest<'_>, prepared: Prepared, decision: &mut Decision) -> Result<PermittedCall, ToolError> {
    let plan = prepared.plan();
    let approver = request.session.approver();
    let asking = approver.map(|approver| ApprovalStep { approver: &**approver, request, plan, offered: decision.clone(), subject: None });
    *decision = decide(request.policy, std::mem::take(decision), request.entry, plan, request.facts.taint, request.session);
    if decision.verdict == Verdict::Deny {
        return Err(refused(decision));
    }
    let permissions = &request.entry.definition().permissions;
    if !permissions.is_empty() {
        request.stop.unless(request.session.permissions().ensure(permissions)).await??;
        decision.pass("host permission", "granted");
    }
    if decision.verdict == Verdict::Ask {
        let rules = || request.policy.persistent_rules(&request.entry.candidate(), plan, decision);
        let asking = asking.ok_or_else(|| no_approver(decision, rules()))?;
        asking.ask(decision).await?;
    }
    Ok(PermittedCall { prepared })
}
