//! Advice on a call: which edit of the configuration lets exactly this call pass.

use haft_contract::{Effect, Plan, TaintPolicy};
use haft_policy::{Advice, AskSubject, Caller, ConfigEdit, Decision, EditValue, Policy, StepOutcome, Trial, Verdict, edit_caller};

use crate::explain::HOOK;
use crate::stages::permit::{DecisionCase, decide_case};
use crate::stages::taint::TaintFacts;
use crate::{Session, ToolEntry};

/// A call on which advice is given; without a plan, a tool.
#[derive(Clone, Copy)]
pub(crate) struct AdviceCase<'a> {
    pub(crate) policy: &'a dyn Policy,
    pub(crate) entry: &'a ToolEntry,
    pub(crate) plan: Option<&'a Plan>,
    pub(crate) facts: TaintFacts,
    pub(crate) session: &'a Session,
}

impl AdviceCase<'_> {
    /// The advice on a decision on this call.
    pub(crate) fn advise(self, decision: &Decision) -> Advice {
        if decision.verdict == Verdict::Allow {
            return self.to_refuse();
        }
        let first = self.trial(self.policy, decision.clone());
        Advice::search(first, &|edits| self.retry(decision, edits))
    }

    fn trial(self, policy: &dyn Policy, decision: Decision) -> Trial {
        let nothing = Plan::nothing();
        let rules = policy.persistent_rules(&self.entry.candidate(), self.plan.unwrap_or(&nothing), &decision);
        Trial { decision, rules }
    }

    /// Decides the same call again with edits made. What hooks ask about, they ask about again.
    fn retry(self, before: &Decision, edits: &[ConfigEdit]) -> Option<Trial> {
        let policy = self.policy.edited(edits)?;
        let mut caller: Caller = self.session.caller().clone();
        for edit in edits {
            edit_caller(edit, &mut caller);
        }
        let mut offered = policy.offer(&self.entry.candidate(), &caller);
        for hook in before.trace.iter().filter(|entry| entry.step == HOOK && entry.outcome == StepOutcome::Ask) {
            offered.ask(HOOK, hook.entry.clone());
        }
        let decision = match self.plan {
            None if offered.verdict == Verdict::Deny => offered,
            None => policy.decide_without_arguments(offered, &self.entry.candidate(), &caller),
            Some(plan) => {
                let (entry, facts, session) = (self.entry, self.facts, self.session);
                let taint_policy = taint_policy(edits).unwrap_or(session.taint_policy());
                decide_case(DecisionCase { policy: &*policy, entry, plan, facts, session, caller: &caller, taint_policy }, offered)
            }
        };
        Some(self.trial(&*policy, decision))
    }

    /// A deny rule for the first effect that a rule can name, else for the whole tool.
    fn to_refuse(self) -> Advice {
        let effects = self.plan.map_or(&[][..], Plan::effects);
        let is_named = |effect: &Effect| !matches!(effect, Effect::Unknown { .. } | Effect::Contained { .. });
        let rules = effects.iter().enumerate().filter(|(_, effect)| is_named(effect)).find_map(|(index, _)| {
            let mut about = Decision::allow();
            about.asks.push(AskSubject::Effect(index));
            self.policy.persistent_rules(&self.entry.candidate(), self.plan?, &about).ok()
        });
        Advice::to_refuse(match rules {
            Some(rules) => rules.into_iter().map(|rule| ConfigEdit::add("rules.deny", rule)).collect(),
            None => vec![ConfigEdit::add("tools.deny", self.entry.name())],
        })
    }
}

fn taint_policy(edits: &[ConfigEdit]) -> Option<TaintPolicy> {
    edits.iter().find_map(|edit| match edit {
        ConfigEdit::Set { key, value: EditValue::Text(value), .. } if key == "guards.taint" => value.parse().ok(),
        _ => None,
    })
}
