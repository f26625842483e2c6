//! For any policy: adding to it never widens, what is offered is what may be called, and what a refusal advises is enough.
#![allow(
    clippy::unwrap_used,
    clippy::field_reassign_with_default,
    reason = "a test that cannot continue has failed; specs are made by changing the default"
)]

mod changes;
mod strategies;

use std::sync::Arc;

use haft_contract::AskMode;
use haft_contract::{Plan, ToolDefinition, ToolSource};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Caller, Candidate, ConfigEdit, Decision, Policy, PolicySpec, StandardPolicy, StepOutcome, TraceEntry, Verdict};
use proptest::prelude::*;

use crate::changes::{added, make};
use crate::strategies::{caller, entries, plan, rules, spec, tools};

fn decide(spec: &PolicySpec, tools: &[(ToolDefinition, ToolSource)], plan: Option<&Plan>, caller: &Caller) -> Vec<Decision> {
    let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with(tools.iter().map(|(definition, source)| (definition, source)));
    let policy = StandardPolicy::compile(spec, vocabulary).unwrap();
    tools.iter().map(|(definition, source)| policy.decide(&Candidate::new(definition, source), plan, caller)).collect()
}

fn verdicts(decisions: &[Decision]) -> Vec<Verdict> {
    decisions.iter().map(|decision| decision.verdict).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn adding_to_a_policy_never_widens(
        spec in spec(), caller in caller(), plan in plan(), what in 0_usize..30, entries in entries(), rules in rules(),
    ) {
        let tools = tools();
        let more = added(&spec, what, &entries, &rules);
        for plan in [None, Some(&plan)] {
            let (before, after) = (decide(&spec, &tools, plan, &caller), decide(&more, &tools, plan, &caller));
            for ((before, after), (tool, _)) in before.iter().zip(&after).zip(&tools) {
                prop_assert!(after.verdict >= before.verdict, "{}: {:?} became {:?}", tool.name, before, after);
            }
        }
    }

    #[test]
    fn an_allow_rule_lifts_questions_alone(spec in spec(), caller in caller(), plan in plan()) {
        let tools = tools();
        let mut without = spec.clone();
        without.rules.allow.clear();
        let pairs = decide(&without, &tools, Some(&plan), &caller).into_iter().zip(decide(&spec, &tools, Some(&plan), &caller));
        for (before, after) in pairs {
            let has = |outcome, step: &str| before.trace.iter().any(|entry| entry.step == step && entry.outcome == outcome);
            let asked_by_rule = has(StepOutcome::Ask, "rules") && !has(StepOutcome::Deny, "exec");
            // Where nobody is asked, what would be asked is denied, and that is what a rule answers.
            let answerable = |entry: &TraceEntry| entry.step == "exec" || entry.step == "asking" && spec.ask == AskMode::Never;
            let only_asked = before.trace.iter().filter(|entry| entry.outcome == StepOutcome::Deny).all(answerable);
            if asked_by_rule || (before.verdict == Verdict::Deny && !only_asked) {
                prop_assert_eq!(before.verdict, after.verdict);
            }
            prop_assert!(after.verdict <= before.verdict);
        }
    }

    #[test]
    fn what_is_not_offered_is_never_permitted(spec in spec(), caller in caller(), plan in plan()) {
        let tools = tools();
        let offered = verdicts(&decide(&spec, &tools, None, &caller));
        let permitted = decide(&spec, &tools, Some(&plan), &caller);
        for (offered, permitted) in offered.into_iter().zip(permitted) {
            prop_assert!(permitted.verdict >= offered);
            prop_assert_eq!(permitted.verdict == Verdict::Deny, permitted.denial().is_some(), "a denial says why: {:?}", permitted);
        }
    }

    #[test]
    fn a_narrower_caller_gets_no_more(spec in spec(), caller in caller(), plan in plan()) {
        let tools = tools();
        let mut child = caller.clone();
        child.parent = Some(Arc::new(caller.clone()));
        child.inherit();
        let pairs = decide(&spec, &tools, Some(&plan), &caller).into_iter().zip(decide(&spec, &tools, Some(&plan), &child));
        for (parents, childs) in pairs {
            prop_assert!(childs.verdict >= parents.verdict, "{:?} became {:?}", parents, childs);
        }
    }

    #[test]
    fn what_a_refusal_advises_is_enough(spec in spec(), caller in caller(), plan in plan(), which in any::<prop::sample::Index>()) {
        let tools = tools();
        let at = which.index(tools.len());
        // What is not offered is advised on before there are effects.
        let is_offered = decide(&spec, &tools, None, &caller)[at].verdict != Verdict::Deny;
        let plan = is_offered.then_some(&plan);
        let before = &decide(&spec, &tools, plan, &caller)[at];
        let advised: Vec<&ConfigEdit> = before.denials.iter().filter_map(|denial| denial.to_change.as_ref()).collect();
        let (mut changed, mut changed_caller) = (spec, caller);
        let made = advised.iter().all(|change| make(change, &mut changed, &mut changed_caller));
        if made && advised.len() == before.denials.len() {
            let after = &decide(&changed, &tools, plan, &changed_caller)[at];
            prop_assert!(after.verdict != Verdict::Deny, "{}: {before:?}, after {advised:?}: {after:?}", tools[at].0.name);
        }
    }
}
