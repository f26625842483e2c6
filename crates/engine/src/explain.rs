//! Why a call is, or is not, allowed: the same stages as a call, up to the decision, and nothing happens.

use std::sync::Arc;

use haft_contract::{Arguments, CallInfo, Effect, Plan, ToolError};
use haft_policy::{About, Decision, Outcome, STEPS, TraceEntry, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::hooks::{Asked, HookCall};
use crate::stages::arguments::check_as;
use crate::stages::permit::decide;
use crate::stages::plan::plan;
use crate::stages::resolve::{placed, resolve, to_change};
use crate::stages::taint::secret_in;
use crate::stop::Stop;
use crate::{Entry, Session};

/// What the trace says of a step that has no lists, levels or rules about the tool.
pub const NOTHING_CONFIGURED: &str = "nothing configured";
/// What the trace says of a step that judges effects, when there are no arguments.
pub const NOT_YET: &str = "depends on the arguments";

/// The step of a trace that names a hook.
pub const HOOK: &str = "hook";

/// The verdict on a tool or a call, with all its reasons.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// What comes of it.
    pub verdict: Verdict,
    /// The canonical name of the tool.
    pub tool: String,
    /// What the call would do.
    pub effects: Value,
    /// What every step did.
    pub trace: Vec<TraceEntry>,
    /// What the model would be told, if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The smallest change that would give another verdict.
    pub to_change: Option<String>,
}

impl Engine {
    /// The decision on a tool, without a call: is it offered at all?
    pub fn offers(&self, entry: &Entry, session: &Session) -> Decision {
        self.inner.policy.offer(&entry.candidate(), session.caller())
    }

    /// Explains a tool, or a call when arguments are given. Fails only where a call would fail before any decision. Hooks are
    /// named and not run, so the verdict holds unless one of them objects.
    pub async fn explain(&self, tool: &str, arguments: Option<Arguments>, session: &Session) -> Result<Explanation, ToolError> {
        let entry = resolve(&self.inner.registry, tool, session.dialect())?;
        let offered = self.offers(&entry, session);
        if offered.verdict == Verdict::Deny {
            return Ok(self.explanation(&entry, None, offered));
        }
        let Some(mut arguments) = arguments else {
            let decision = self.inner.policy.foresee(offered, &entry.candidate(), session.caller());
            let hooks = self.hooks_about(&entry, &Value::Null, None, session);
            return Ok(self.explanation(&entry, None, noted(decision, hooks)));
        };
        let form = entry.called(tool, session.dialect());
        let checked = check_as(&entry, form, &mut arguments, self.inner.limits.argument_bytes)?;
        let stop = Stop::new(session, None);
        let prepared = plan(&self.inner.workers, &entry, checked.value.clone(), session, &stop).await?;
        let decision = decide(&*self.inner.policy, offered, &entry, prepared.plan(), secret_in(&checked.value), session);
        let hooks = self.hooks_about(&entry, &checked.value, Some(prepared.plan()), session);
        Ok(self.explanation(&entry, Some(prepared.plan()), noted(decision, hooks)))
    }

    /// What is to be said of each hook that would be asked before the call.
    fn hooks_about(&self, entry: &Entry, arguments: &Value, plan: Option<&Plan>, session: &Session) -> Vec<String> {
        let call = CallInfo {
            id: String::new(),
            tool: entry.name().to_owned(),
            session: Arc::clone(session.id()),
            agent: Arc::clone(session.agent()),
        };
        let candidate = entry.candidate();
        let effects = plan.map(Plan::effects);
        let call = HookCall { call: &call, arguments, tool: Some(&candidate), effects };
        let say = |hook: &Asked| match (hook.would_be_asked(&call), hook.needs_effects() && plan.is_none()) {
            (true, _) => Some(format!("'{}' is asked before the call; not run here", hook.name())),
            (false, true) => Some(format!("'{}' is asked before the call if its effects are what it is about; not run here", hook.name())),
            (false, false) => None,
        };
        self.inner.hooks.iter().filter_map(say).collect()
    }

    fn explanation(&self, entry: &Entry, plan: Option<&Plan>, decision: Decision) -> Explanation {
        let effects = plan.map_or_else(|| Value::Array(Vec::new()), |plan| serde_json::to_value(plan.effects()).unwrap_or_default());
        let to_change = self.smallest_change(entry, plan, &decision);
        let message = decision.refusal().map(|refusal| refusal.message.clone());
        let trace = every_step(decision.trace, plan.is_some());
        Explanation { verdict: decision.verdict, tool: entry.name().to_owned(), effects, trace, message, to_change }
    }

    /// What a person would edit to get another verdict.
    fn smallest_change(&self, entry: &Entry, plan: Option<&Plan>, decision: &Decision) -> Option<String> {
        match decision.verdict {
            Verdict::Deny => to_change(decision),
            Verdict::Allow => Some(self.to_refuse(entry, plan)),
            Verdict::Ask => match self.inner.policy.lasting(&entry.candidate(), plan.unwrap_or(&Plan::nothing()), decision) {
                Ok(rules) => Some(format!("to allow it without asking, add {} to rules.allow", quoted(&rules))),
                Err(_) if !decision.to_stop_asking.is_empty() => Some(placed(&decision.to_stop_asking, decision, Outcome::Ask)),
                Err(why) => Some(format!("it is asked each time: {why}")),
            },
        }
    }

    /// A rule on the first effect that one can speak of, and else the whole tool.
    fn to_refuse(&self, entry: &Entry, plan: Option<&Plan>) -> String {
        let effects = plan.map_or(&[][..], Plan::effects);
        let rules = effects.iter().enumerate().filter(|(_, effect)| !matches!(effect, Effect::Unknown { .. })).find_map(|(place, _)| {
            let mut about = Decision::allow();
            about.asks.push(About::Effect(place));
            self.inner.policy.lasting(&entry.candidate(), plan?, &about).ok()
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

fn noted(mut decision: Decision, hooks: Vec<String>) -> Decision {
    for what in hooks {
        decision.pass(HOOK, what);
    }
    decision
}

/// The whole pipeline, in order: a step that had nothing to say passed. Without a plan, effects are not judged yet.
fn every_step(said: Vec<TraceEntry>, planned: bool) -> Vec<TraceEntry> {
    let mut trace = Vec::with_capacity(said.len() + STEPS.len());
    for step in STEPS {
        let before = trace.len();
        trace.extend(said.iter().filter(|entry| entry.step == *step).cloned());
        if trace.len() == before {
            let later = !planned && matches!(*step, "access level" | "rules" | "exec" | "asking");
            let entry = if later { NOT_YET } else { NOTHING_CONFIGURED };
            trace.push(TraceEntry { step, outcome: Outcome::Pass, entry: entry.into(), file: None, line: None });
        }
    }
    trace.extend(said.into_iter().filter(|entry| !STEPS.contains(&entry.step)));
    trace
}
