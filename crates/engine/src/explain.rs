//! Explains why a call is, or is not, allowed: the stages of a call up to the decision, without running it.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, Effect, Plan, ToolError};
use haft_policy::{AskSubject, Decision, STEPS, StepOutcome, TraceEntry, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::hooks::{HookCall, RegisteredHook};
use crate::stages::arguments::check_as;
use crate::stages::permit::decide;
use crate::stages::plan::plan;
use crate::stages::resolve::{resolve, to_change, with_spans};
use crate::stages::taint::{TaintFacts, secret_in};
use crate::stop::StopSignal;
use crate::{Session, ToolEntry};

/// Trace entry of a step that has no lists, levels or rules about the tool.
pub const NOTHING_CONFIGURED: &str = "nothing configured";
/// Trace entry of a step that evaluates effects, when there are no arguments.
pub const NOT_YET: &str = "depends on the arguments";

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
    /// The smallest change that would give another verdict.
    pub to_change: Option<String>,
}

impl Engine {
    /// The decision on a tool without a call: whether it is offered at all.
    pub fn offers(&self, entry: &ToolEntry, session: &Session) -> Decision {
        self.inner.policy.offer(&entry.candidate(), session.caller())
    }

    /// Explains a tool, or a call when arguments are given. Fails only where a call would fail before any decision. Hooks are
    /// listed and not run, so the verdict holds unless one of them objects.
    pub async fn explain(&self, tool: &str, arguments: Option<Arguments>, session: &Session) -> Result<Explanation, ToolError> {
        let entry = resolve(&self.inner.registry, tool, session.dialect())?;
        let offered = self.offers(&entry, session);
        if offered.verdict == Verdict::Deny {
            return Ok(self.explanation(&entry, None, offered));
        }
        let Some(mut arguments) = arguments else {
            let decision = self.inner.policy.decide_without_arguments(offered, &entry.candidate(), session.caller());
            let hooks = self.hook_notes(&entry, &Value::Null, None, session);
            return Ok(self.explanation(&entry, None, with_hooks(decision, hooks)));
        };
        let form = entry.called(tool, session.dialect());
        let checked = check_as(&entry, form, &mut arguments, self.inner.limits.argument_bytes)?;
        let stop = StopSignal::new(session, None);
        let prepared = plan(&self.inner.workers, &entry, checked.value.clone(), session, &stop).await?;
        let facts = TaintFacts { secret: secret_in(&checked.value), running: None };
        let decision = decide(&*self.inner.policy, offered, &entry, prepared.plan(), facts, session);
        let hooks = self.hook_notes(&entry, &checked.value, Some(prepared.plan()), session);
        Ok(self.explanation(&entry, Some(prepared.plan()), with_hooks(decision, hooks)))
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

    fn explanation(&self, entry: &ToolEntry, plan: Option<&Plan>, decision: Decision) -> Explanation {
        let effects = plan.map_or_else(|| Value::Array(Vec::new()), |plan| serde_json::to_value(plan.effects()).unwrap_or_default());
        let to_change = self.smallest_change(entry, plan, &decision);
        let message = decision.denial().map(|refusal| refusal.message.clone());
        let trace = every_step(decision.trace, plan.is_some());
        Explanation { verdict: decision.verdict, tool: entry.name().to_owned(), effects, trace, message, to_change }
    }

    /// The smallest edit that gives another verdict.
    fn smallest_change(&self, entry: &ToolEntry, plan: Option<&Plan>, decision: &Decision) -> Option<String> {
        match decision.verdict {
            Verdict::Deny => to_change(decision),
            Verdict::Allow => Some(self.to_refuse(entry, plan)),
            Verdict::Ask => match self.inner.policy.persistent_rules(&entry.candidate(), plan.unwrap_or(&Plan::nothing()), decision) {
                Ok(rules) => Some(format!("to allow it without asking, add {} to rules.allow", quoted(&rules))),
                Err(_) if !decision.to_stop_asking.is_empty() => Some(with_spans(&decision.to_stop_asking, decision, StepOutcome::Ask)),
                Err(why) => Some(format!("it needs approval each time: {why}")),
            },
        }
    }

    /// A deny rule for the first effect that a rule can name, else for the whole tool.
    fn to_refuse(&self, entry: &ToolEntry, plan: Option<&Plan>) -> String {
        let effects = plan.map_or(&[][..], Plan::effects);
        let is_named = |effect: &Effect| !matches!(effect, Effect::Unknown { .. } | Effect::Contained { .. });
        let rules = effects.iter().enumerate().filter(|(_, effect)| is_named(effect)).find_map(|(index, _)| {
            let mut about = Decision::allow();
            about.asks.push(AskSubject::Effect(index));
            self.inner.policy.persistent_rules(&entry.candidate(), plan?, &about).ok()
        });
        match rules {
            Some(rules) => format!("to refuse it, add {} to rules.deny", quoted(&rules)),
            None => format!("to refuse it, add '{}' to tools.deny", entry.name()),
        }
    }
}

/// Rules, as part of a sentence.
pub(crate) fn quoted(rules: &[String]) -> String {
    rules.iter().map(|rule| format!("'{rule}'")).collect::<Vec<_>>().join(" and ")
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
