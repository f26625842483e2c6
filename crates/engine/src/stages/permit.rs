//! permit: the policy on the effects, host permissions, approvals. Only what comes out of here may run.

use haft_contract::{CallInfo, Plan, Prepared, ToolError};
use haft_policy::{Decision, Policy, Verdict};

use super::resolve::refused;
use super::settle::Remembered;
use super::taint;
use crate::approvals::{Asking, nobody_to_ask};
use crate::events::EventSink;
use crate::stop::Stop;
use crate::{Entry, Limits, Session};

/// A call that may run; made by [`permit`] alone. It holds the very plan that was judged and approved, and nothing can put
/// another in its place: a [`Prepared`] cannot be changed, and is taken apart where it runs. So an approval needs no second
/// look before the tool starts.
pub(crate) struct Cleared {
    prepared: Prepared,
}

impl Cleared {
    pub(crate) fn plan(&self) -> &Plan {
        self.prepared.plan()
    }
    /// For the next stage.
    pub(super) fn into_prepared(self) -> Prepared {
        self.prepared
    }
}

/// Everything the permit stage looks at, but the plan.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) limits: &'a Limits,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) entry: &'a Entry,
    pub(crate) call: &'a CallInfo,
    pub(crate) arguments: &'a Remembered,
    /// The shape of a secret in them.
    pub(crate) secret: Option<&'static str>,
    pub(crate) session: &'a Session,
    pub(crate) stop: &'a Stop<'a>,
}

/// The decision on a plan, and on a secret in its arguments: the policy's, never looser than what was offered, tightened by the
/// taint guard.
pub(crate) fn decide(
    policy: &dyn Policy,
    offered: Decision,
    entry: &Entry,
    plan: &Plan,
    secret: Option<&'static str>,
    session: &Session,
) -> Decision {
    let least = offered.verdict;
    let mut decision = policy.permit(offered, &entry.candidate(), plan, session.caller());
    decision.verdict = decision.verdict.max(least);
    taint::judge(session, plan, secret, &mut decision);
    policy.seal(decision)
}

/// Decides, and asks whoever must be asked. The decision is updated in place, so that history has it either way.
pub(crate) async fn permit(request: Request<'_>, prepared: Prepared, decision: &mut Decision) -> Result<Cleared, ToolError> {
    let plan = prepared.plan();
    let approver = request.session.approver();
    let asking = approver.map(|approver| Asking { approver: &**approver, request, plan, offered: decision.clone() });
    *decision = decide(request.policy, std::mem::take(decision), request.entry, plan, request.secret, request.session);
    if decision.verdict == Verdict::Deny {
        return Err(refused(decision));
    }
    let permissions = &request.entry.definition().permissions;
    if !permissions.is_empty() {
        request.stop.unless(request.session.permissions().ensure(permissions)).await??;
        decision.pass("host permission", "granted");
    }
    if decision.verdict == Verdict::Ask {
        let lasting = || request.policy.lasting(&request.entry.candidate(), plan, decision);
        let asking = asking.ok_or_else(|| nobody_to_ask(decision, lasting()))?;
        asking.ask(decision).await?;
    }
    Ok(Cleared { prepared })
}
