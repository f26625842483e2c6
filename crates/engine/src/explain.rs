//! Why a call is, or is not, allowed: the same stages as a call, up to the decision, and nothing happens.

use haft_contract::{Arguments, ToolError};
use serde::Serialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::policy::{Candidate, Decision, TraceEntry, Verdict};
use crate::stages::arguments::check;
use crate::stages::permit::decide;
use crate::stages::plan::plan;
use crate::stages::resolve::resolve;
use crate::stop::Stop;
use crate::{Entry, Session};

/// The verdict on a tool or a call, with all its reasons.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// What comes of it.
    pub verdict: Verdict,
    /// The canonical name of the tool.
    pub tool: String,
    /// What the call would do.
    pub effects: Value,
    /// Every step that had a say.
    pub trace: Vec<TraceEntry>,
    /// What the model would be told, if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the person can change to get another verdict.
    pub to_change: Option<String>,
}

impl Engine {
    /// The decision on a tool, without a call: is it offered at all?
    pub fn offers(&self, entry: &Entry, session: &Session) -> Decision {
        self.inner.policy.decide(Candidate::from(entry), None, session)
    }

    /// Explains a tool, or a call when arguments are given. Fails only where a call would fail before any decision.
    pub async fn explain(&self, tool: &str, arguments: Option<Arguments>, session: &Session) -> Result<Explanation, ToolError> {
        let entry = resolve(&self.inner.registry, tool)?;
        let mut decision = self.offers(&entry, session);
        let mut effects = Value::Array(Vec::new());
        if let Some(mut arguments) = arguments
            && decision.verdict != Verdict::Deny
        {
            let checked = check(&entry, &mut arguments, self.inner.limits.argument_bytes)?;
            let stop = Stop::new(session, None);
            let prepared = plan(&self.inner.workers, &entry, checked.value, session.host(), &stop).await?;
            effects = serde_json::to_value(prepared.plan().effects()).unwrap_or_default();
            decision = decide(&*self.inner.policy, decision, &entry, prepared.plan(), session);
        }
        Ok(explanation(&entry, effects, decision))
    }
}

fn explanation(entry: &Entry, effects: Value, decision: Decision) -> Explanation {
    let (message, to_change) = decision.refusal.map_or((None, None), |refusal| (Some(refusal.message), refusal.to_change));
    Explanation { verdict: decision.verdict, tool: entry.name().to_owned(), effects, trace: decision.trace, message, to_change }
}
