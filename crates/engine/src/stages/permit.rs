//! permit: the policy on the effects, host permissions, approvals. Only a call that passes here may run.

use haft_contract::{Plan, Prepared, TaintPolicy, ToolError};
use haft_policy::{Caller, Decision, Policy, Verdict};
use serde_json::Value;

use super::resolve::refused;
use super::taint::{TaintCheck, TaintFacts};
use crate::advice::AdviceCase;
use crate::approvals::{ApprovalOutcome, ApprovalStep, PastCalls, no_approver};
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
    pub(crate) stop: &'a StopSignal,
    pub(crate) past: PastCalls<'a>,
}

/// What comes of the stage, if the call is not refused.
pub(crate) enum Permission {
    Granted(PermittedCall),
    /// The user wants other arguments; the call as it was is given back.
    Edited(Prepared, Value),
}

impl<'a> PermitRequest<'a> {
    /// What the user can change about it.
    pub(crate) fn advice(self, plan: &'a Plan) -> AdviceCase<'a> {
        AdviceCase { policy: self.policy, entry: self.entry, plan: Some(plan), facts: self.facts.taint, session: self.session }
    }
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
    let (caller, taint_policy) = (session.caller(), session.taint_policy());
    decide_case(DecisionCase { policy, entry, plan, facts, session, caller, taint_policy }, offered)
}

/// A plan on which is decided, for a caller who need not be the session's own: advice tries others.
#[derive(Clone, Copy)]
pub(crate) struct DecisionCase<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) entry: &'a ToolEntry,
    pub(crate) plan: &'a Plan,
    pub(crate) facts: TaintFacts,
    pub(crate) session: &'a Session,
    pub(crate) caller: &'a Caller,
    pub(crate) taint_policy: TaintPolicy,
}

/// As [`decide`].
pub(crate) fn decide_case(case: DecisionCase<'_>, offered: Decision) -> Decision {
    let least = offered.verdict;
    let mut decision = case.policy.permit(offered, &case.entry.candidate(), case.plan, case.caller);
    decision.verdict = decision.verdict.max(least);
    TaintCheck { case }.apply(&mut decision);
    case.policy.finalize(decision)
}

/// Decides, and asks for approval where the decision needs it. The decision is updated in place, so that history has it
/// either way. `edit_fault` says why the last edit of the arguments was not accepted.
pub(crate) async fn permit(
    request: PermitRequest<'_>,
    prepared: Prepared,
    decision: &mut Decision,
    edit_fault: Option<String>,
) -> Result<Permission, ToolError> {
    let plan = prepared.plan();
    let can_ask = request.session.approver().is_some_and(|approver| approver.can_ask());
    let offered = can_ask.then(|| decision.clone());
    *decision = decide(request.policy, std::mem::take(decision), request.entry, plan, request.facts.taint, request.session);
    if decision.verdict == Verdict::Deny {
        return Err(refused(decision, &request.advice(plan).advise(decision)));
    }
    if decision.verdict == Verdict::Allow && request.entry.definition().permissions.is_empty() {
        return Ok(Permission::Granted(PermittedCall { prepared }));
    }
    Box::pin(wait_for_user(request, prepared, decision, offered, edit_fault)).await
}

/// The permissions of the platform, and the approval: what few calls wait for. `offered` is the decision on the tool alone, if somebody
/// can be asked.
async fn wait_for_user(
    request: PermitRequest<'_>,
    prepared: Prepared,
    decision: &mut Decision,
    offered: Option<Decision>,
    edit_fault: Option<String>,
) -> Result<Permission, ToolError> {
    let plan = prepared.plan();
    let permissions = &request.entry.definition().permissions;
    if !permissions.is_empty() {
        request.stop.unless(request.session.permissions().ensure(permissions)).await??;
        decision.pass("host permission", "granted");
    }
    if decision.verdict == Verdict::Ask {
        let Some((approver, offered)) = request.session.approver().zip(offered) else {
            return Err(no_approver(decision, &request.advice(plan).advise(decision)));
        };
        let asking = ApprovalStep { approver: &**approver, request, plan, offered, subject: None, edit_fault };
        if let ApprovalOutcome::Edited(arguments) = asking.ask(decision).await? {
            return Ok(Permission::Edited(prepared, arguments));
        }
    }
    Ok(Permission::Granted(PermittedCall { prepared }))
}
