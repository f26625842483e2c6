//! permit: the policy on the effects, host permissions, approvals. Only what comes out of here may run.

use haft_contract::{Answer, ApprovalRequest, CallInfo, ErrorKind, Plan, ToolError};

use super::guard;
use super::resolve::refused;
use super::settle::Remembered;
use crate::policy::{Decision, Outcome, Policy, Verdict};
use crate::stop::{Stop, within};
use crate::{Entry, Limits, Session};

/// Proof that a call may run with this plan; made by [`permit`] alone.
#[derive(Debug)]
pub(crate) struct Cleared(());

/// Everything the permit stage looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) call: &'a CallInfo,
    pub(crate) arguments: &'a Remembered,
    pub(crate) plan: &'a Plan,
    pub(crate) session: &'a Session,
    pub(crate) stop: &'a Stop<'a>,
}

/// The decision on a plan: the policy's, never looser than what was offered, tightened by the taint guard.
pub(crate) fn decide(policy: &dyn Policy, offered: Decision, entry: &Entry, plan: &Plan, session: &Session) -> Decision {
    let least = offered.verdict;
    let mut decision = policy.permit(offered, entry.definition(), plan, session);
    decision.verdict = decision.verdict.max(least);
    guard::taint(session, plan, &mut decision);
    decision
}

/// Decides, and asks whoever must be asked. The decision is updated in place, so that history has it either way.
pub(crate) async fn permit(
    policy: &dyn Policy,
    limits: &Limits,
    request: Request<'_>,
    decision: &mut Decision,
) -> Result<Cleared, ToolError> {
    let offered = std::mem::take(decision);
    *decision = decide(policy, offered, request.entry, request.plan, request.session);
    if decision.verdict == Verdict::Deny {
        return Err(refused(decision));
    }
    let permissions = &request.entry.definition().permissions;
    if !permissions.is_empty() {
        request.stop.unless(request.session.permissions().ensure(permissions)).await??;
        decision.pass("host permission", "granted");
    }
    if decision.verdict == Verdict::Ask {
        ask(limits, request, decision).await?;
        decision.pass("approval", "once");
    }
    Ok(Cleared(()))
}

async fn ask(limits: &Limits, request: Request<'_>, decision: &Decision) -> Result<(), ToolError> {
    let reason = reason(decision);
    let Some(approver) = request.session.approver() else {
        return Err(ToolError::denied(format!("This call needs a person's approval ({reason}), and nobody can be asked here.")));
    };
    let question =
        ApprovalRequest::new(request.call.clone(), request.arguments.clone().into_value(), request.plan.effects().to_vec(), reason);
    match request.stop.unless(within(limits.approval, approver.ask(question))).await? {
        Some(Answer::Once) => Ok(()),
        Some(Answer::Deny { comment: Some(comment) }) => Err(ToolError::denied(format!("The person said no: {comment}"))),
        Some(_) => Err(ToolError::denied("The person said no. Do not repeat the call; ask what they want instead.")),
        None => Err(ToolError::new(
            ErrorKind::ApprovalTimeout,
            format!(
                "Nobody answered within {} s, so the call was not made. Go on without it, or ask the person.",
                limits.approval.as_secs()
            ),
        )),
    }
}

fn reason(decision: &Decision) -> String {
    let asks: Vec<&str> = decision.trace.iter().filter(|entry| entry.outcome == Outcome::Ask).map(|entry| entry.entry.as_ref()).collect();
    asks.join("; ")
}
