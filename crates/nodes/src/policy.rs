//! The policy of a node: its own, and no more than the gateway was permitted.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{Effect, ErrorKind, Plan};
use haft_policy::{Caller, Candidate, ConfigEdit, Decision, Denial, Policy, Verdict};
use haft_text::display;
use serde_json::Value;

use crate::claims::{Claim, first_beyond, permitted, planned};

/// The effects that the gateway was permitted for one call, and those that were planned for it here.
#[derive(Debug)]
pub struct CallClaims {
    permitted: Vec<Claim>,
    planned: Mutex<Vec<Claim>>,
}

tokio::task_local! {
    /// The call that this task decides on.
    static CALL: Arc<CallClaims>;
}

impl CallClaims {
    /// Runs a call whose plan must keep within these effects; returns what it planned as well.
    pub async fn limit<T>(effects: &Value, root: &std::path::Path, call: impl Future<Output = T>) -> (T, Vec<Claim>) {
        let claims = Arc::new(Self { permitted: permitted(effects, root), planned: Mutex::default() });
        let result = CALL.scope(Arc::clone(&claims), call).await;
        let planned = std::mem::take(&mut *claims.planned.lock().unwrap_or_else(PoisonError::into_inner));
        (result, planned)
    }

    /// Notes a plan; the effect of it that was not permitted.
    fn check(&self, plan: &Plan) -> Option<Claim> {
        let effects = planned(plan.effects());
        let beyond = first_beyond(&self.permitted, &effects).cloned();
        *self.planned.lock().unwrap_or_else(PoisonError::into_inner) = effects;
        beyond
    }
}

/// Decides as the policy of this machine does, and refuses what the gateway was not permitted. The plan that is compared is the one that
/// runs: nothing can change between the two.
pub struct NodePolicy {
    own: Arc<dyn Policy>,
}

haft_contract::opaque_debug!(NodePolicy);

impl NodePolicy {
    /// Over the policy of this machine.
    pub fn new(own: Arc<dyn Policy>) -> Self {
        Self { own }
    }
}

const STEP: &str = "gateway's plan";

impl Policy for NodePolicy {
    fn offer(&self, tool: &Candidate<'_>, caller: &Caller) -> Decision {
        self.own.offer(tool, caller)
    }

    fn permit(&self, offered: Decision, tool: &Candidate<'_>, plan: &Plan, caller: &Caller) -> Decision {
        let mut decision = self.own.permit(offered, tool, plan, caller);
        // A connection of a command that runs: the gateway cannot know it, and this machine's rules decide alone.
        if plan.is_egress() {
            return decision;
        }
        // Every call is decided on within its scope. Outside of it are parts of a command that runs already, such as its changes when it
        // ends: the gateway permitted the command, its sandbox bounds it, and this machine's rules decide alone.
        let Ok(beyond) = CALL.try_with(|call| call.check(plan)) else { return decision };
        let Some(beyond) = beyond else {
            decision.pass(STEP, "the same effects");
            return decision;
        };
        let what = display::escape_line(&display::shorten(&beyond.to_string(), 300)).into_owned();
        let message = format!(
            "Here this call would {what}, which is not what was permitted at the gateway; a link may lead elsewhere. Nothing was done. Name the \
             real path, as this machine knows it."
        );
        // What this machine's own policy says is told first.
        decision.deny(STEP, "other effects", Denial { kind: ErrorKind::PermissionDenied, message, ways: Vec::new() });
        decision.verdict = Verdict::Deny;
        decision
    }

    fn decide_without_arguments(&self, offered: Decision, tool: &Candidate<'_>, caller: &Caller) -> Decision {
        self.own.decide_without_arguments(offered, tool, caller)
    }

    fn finalize(&self, decision: Decision) -> Decision {
        self.own.finalize(decision)
    }

    fn names_destination(&self, tool: &Candidate<'_>, effect: &Effect, caller: &Caller) -> bool {
        self.own.names_destination(tool, effect, caller)
    }

    fn edited(&self, edits: &[ConfigEdit]) -> Option<Arc<dyn Policy>> {
        self.own.edited(edits).map(|own| Arc::new(Self::new(own)) as Arc<dyn Policy>)
    }
}

/// The folder that relative paths of a call start from.
pub fn real_root(workspace: &std::path::Path) -> PathBuf {
    workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned())
}
