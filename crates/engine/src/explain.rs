//! Explains why a call is, or is not, allowed: the stages of a call up to the decision, without running it.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, ErrorKind, Plan, Prepared, ToolError, ToolSource};
use haft_policy::{Advice, ConfigEdit, Decision, Denial, STEPS, StepOutcome, TraceEntry, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::advice::AdviceCase;
use crate::engine::Engine;
use crate::hooks::{HookCall, RegisteredHook};
use crate::stages::arguments::check_as;
use crate::stages::permit::decide;
use crate::stages::plan::plan;
use crate::stages::taint::{TaintFacts, secret_in};
use crate::stop::StopSignal;
use crate::{Session, ToolEntry};

/// Trace entry of a step that has no lists, levels or rules about the tool.
pub const NOTHING_CONFIGURED: &str = "nothing configured";
/// Trace entry of a step that evaluates effects, when there are no arguments.
pub const NOT_YET: &str = "depends on the arguments";

/// The step of a trace for a call that its tool refused to plan.
pub const PLANNING: &str = "planning";
/// The step of a trace that names a hook.
pub const HOOK: &str = "hook";

/// The verdict on a tool or a call, with all its reasons.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// The canonical name of the tool.
    pub tool: String,
    /// The effects of the call.
    pub effects: Value,
    /// The trace of every step.
    pub trace: Vec<TraceEntry>,
    /// The message to the model, if the call is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The smallest change that would give another verdict, in words.
    pub to_change: Option<String>,
    /// The same, for programs.
    pub advice: Advice,
}

impl Engine {
    /// The decision on a tool without a call: whether it is offered at all.
    pub fn offers(&self, entry: &ToolEntry, session: &Session) -> Decision {
        self.inner.policy.offer(&entry.candidate(), session.caller())
    }

    /// Explains a tool, or a call when arguments are given. Fails only where a call would fail before any decision. Hooks are
    /// listed and not run, so the verdict holds unless one of them objects.
    pub async fn explain(&self, tool: &str, arguments: Option<Arguments>, session: &Session) -> Result<Explanation, ToolError> {
        let entry = self.tools_of(session).resolve(tool)?;
        let offered = self.offers(&entry, session);
        let is_refused = offered.verdict == Verdict::Deny;
        let Some(mut arguments) = arguments else {
            if is_refused {
                return Ok(self.explanation(&entry, None, TaintFacts::default(), offered, session));
            }
            let decision = self.inner.policy.decide_without_arguments(offered, &entry.candidate(), session.caller());
            let hooks = self.hook_notes(&entry, &Value::Null, None, session);
            return Ok(self.explanation(&entry, None, TaintFacts::default(), with_hooks(decision, hooks), session));
        };
        let stop = StopSignal::new(session, None);
        if is_refused {
            let (decision, planned) = self.decide_anyway(offered, &entry, tool, arguments, session, &stop).await;
            let (plan, facts) = planned.as_ref().map_or((None, TaintFacts::default()), |(plan, facts)| (Some(plan.plan()), *facts));
            return Ok(self.explanation(&entry, plan, facts, decision, session));
        }
        let form = entry.called(tool, session.dialect());
        let checked = check_as(&entry, form, &mut arguments, self.inner.limits.argument_bytes)?;
        let facts = TaintFacts { secret: secret_in(&checked.value), running: None };
        let prepared = match plan(&self.inner.workers, &entry, checked.value.clone(), session, &stop).await {
            Err(error) if is_refusal(&error) => {
                return Ok(self.explanation(&entry, None, facts, unplanned(offered, &error), session));
            }
            prepared => prepared?,
        };
        let decision = decide(&*self.inner.policy, offered, &entry, prepared.plan(), facts, session);
        let hooks = self.hook_notes(&entry, &checked.value, Some(prepared.plan()), session);
        Ok(self.explanation(&entry, Some(prepared.plan()), facts, with_hooks(decision, hooks), session))
    }

    /// Continues with a call whose tool is not offered, so that everything against it is known at once, as far as its arguments
    /// are right. Foreign code is not run for it.
    pub(crate) async fn decide_anyway(
        &self,
        offered: Decision,
        entry: &Arc<ToolEntry>,
        name: &str,
        mut arguments: Arguments,
        session: &Session,
        stop: &StopSignal,
    ) -> (Decision, Option<(Prepared, TaintFacts)>) {
        let form = entry.called(name, session.dialect());
        let checked = check_as(entry, form, &mut arguments, self.inner.limits.argument_bytes);
        let Some(checked) = checked.ok().filter(|_| *entry.source() == ToolSource::BuiltIn) else { return (offered, None) };
        let facts = TaintFacts { secret: secret_in(&checked.value), running: None };
        match plan(&self.inner.workers, entry, checked.value, session, stop).await {
            Ok(prepared) => {
                let decision = decide(&*self.inner.policy, offered, entry, prepared.plan(), facts, session);
                (decision, Some((prepared, facts)))
            }
            Err(error) if is_refusal(&error) => (unplanned(offered, &error), None),
            Err(_) => (offered, None),
        }
    }

    /// A note on each hook that would run before the call.
    fn hook_notes(&self, entry: &ToolEntry, arguments: &Value, plan: Option<&Plan>, session: &Session) -> Vec<String> {
        let call = CallInfo {
            id: String::new(),
            tool: entry.name().to_owned(),
            session: Arc::clone(session.id()),
            agent: Arc::clone(session.agent()),
        };
        let candidate = entry.candidate();
        let effects = plan.map(Plan::effects);
        let call = HookCall { call: &call, arguments, tool: Some(&candidate), effects };
        let note = |hook: &RegisteredHook| match (hook.would_run(&call), hook.needs_effects() && plan.is_none()) {
            (true, _) => Some(format!("'{}' runs before the call; not run here", hook.name())),
            (false, true) => Some(format!("'{}' runs before the call if its effects match; not run here", hook.name())),
            (false, false) => None,
        };
        self.inner.hooks.iter().filter_map(note).collect()
    }

    fn explanation(&self, entry: &ToolEntry, plan: Option<&Plan>, facts: TaintFacts, decision: Decision, session: &Session) -> Explanation {
        let effects = plan.map_or_else(|| Value::Array(Vec::new()), |plan| serde_json::to_value(plan.effects()).unwrap_or_default());
        let advice = AdviceCase { policy: &*self.inner.policy, entry, plan, facts, session }.advise(&decision);
        let message = decision.denial().map(|denial| self.tools_of(session).refusal(denial, entry));
        let trace = every_step(decision.trace, plan.is_some());
        Explanation {
            verdict: decision.verdict,
            tool: entry.name().to_owned(),
            effects,
            trace,
            message,
            to_change: Some(advice.to_string()),
            advice,
        }
    }
}

/// Whether planning refused a call, and did not merely fail.
pub(crate) fn is_refusal(error: &ToolError) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::PathNotAllowed)
}

/// The decision on a call that its tool refused to plan: no setting changes that, another call may.
pub(crate) fn unplanned(mut decision: Decision, error: &ToolError) -> Decision {
    let ways = vec![vec![ConfigEdit::Do("no setting allows it, because the tool refused the call itself: make it in another way".into())]];
    decision.deny(PLANNING, error.message().to_owned(), Denial { kind: error.kind(), message: error.message().to_owned(), ways });
    decision
}

fn with_hooks(mut decision: Decision, hooks: Vec<String>) -> Decision {
    for what in hooks {
        decision.pass(HOOK, what);
    }
    decision
}

/// The whole pipeline, in order: a step without an entry passed. Without a plan, effects are not evaluated yet.
fn every_step(entries: Vec<TraceEntry>, planned: bool) -> Vec<TraceEntry> {
    let mut trace = Vec::with_capacity(entries.len() + STEPS.len());
    for step in STEPS {
        let before = trace.len();
        trace.extend(entries.iter().filter(|entry| entry.step == *step).cloned());
        if trace.len() == before {
            let later = !planned && matches!(*step, "access level" | "rules" | "exec" | "asking");
            let entry = if later { NOT_YET } else { NOTHING_CONFIGURED };
            trace.push(TraceEntry { step, outcome: StepOutcome::Pass, entry: entry.into(), file: None, line: None });
        }
    }
    trace.extend(entries.into_iter().filter(|entry| !STEPS.contains(&entry.step)));
    trace
}
