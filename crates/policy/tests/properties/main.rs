//! For any policy: adding to it never widens, what is offered is what may be called, and what a refusal advises is enough.
#![allow(
    clippy::unwrap_used,
    clippy::field_reassign_with_default,
    reason = "a test that cannot continue has failed; specs are made by changing the default"
)]

mod changes;
mod strategies;

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_contract::AskMode;
use haft_contract::{Plan, ToolDefinition, ToolSource};
use haft_policy::catalog::Vocabulary;
use haft_policy::{
    Advice, Caller, Candidate, ConfigEdit, Decision, Policy, PolicySpec, StandardPolicy, StepOutcome, TraceEntry, Trial, Verdict,
    edit_caller,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

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
}

/// A tool, the policy on it, and a call of it.
#[derive(Debug)]
struct Case {
    spec: PolicySpec,
    caller: Caller,
    plan: Plan,
    tool: (ToolDefinition, ToolSource),
}

impl Case {
    fn policy(&self) -> StandardPolicy {
        let tools = tools();
        let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with(tools.iter().map(|(definition, source)| (definition, source)));
        StandardPolicy::compile(&self.spec, vocabulary).unwrap()
    }

    /// The decision with every step, also where an earlier one denies.
    fn trial(&self, policy: &dyn Policy, caller: &Caller) -> Trial {
        let tool = Candidate::new(&self.tool.0, &self.tool.1);
        let decision = policy.permit(policy.offer(&tool, caller), &tool, &self.plan, caller);
        Trial { rules: policy.persistent_rules(&tool, &self.plan, &decision), decision }
    }

    fn advice(&self) -> Advice {
        let policy = self.policy();
        let retry = |edits: &[ConfigEdit]| {
            let mut caller = self.caller.clone();
            for edit in edits {
                edit_caller(edit, &mut caller);
            }
            Some(self.trial(&*policy.edited(edits)?, &caller))
        };
        Advice::search(self.trial(&policy, &self.caller), &retry)
    }
}

/// What came of advice that was followed to the letter.
#[derive(Debug, PartialEq, Eq, Hash, Clone, Copy, PartialOrd, Ord)]
enum Followed {
    AsPromised,
    Otherwise,
    ByHand,
}

/// Whether a refusal names something that the model can do.
fn names_a_way(message: &str) -> bool {
    ["Use ", "Do without", "do without", "sk the user", "tell the user", "nly the user", "sk the owner"]
        .iter()
        .any(|way| message.contains(way))
}

fn follow(case: Case) -> Option<(Followed, String)> {
    let before = case.trial(&case.policy(), &case.caller).decision;
    if before.verdict == Verdict::Allow {
        return None;
    }
    for denial in &before.denials {
        assert!(names_a_way(&denial.message), "{}", denial.message);
    }
    let advice = case.advice();
    if advice.edits.is_empty() {
        // Nothing is promised: the question stays, or only the user's hand helps.
        assert_eq!((advice.then, advice.by_hand.is_some()), (before.verdict, true), "{advice:?}");
        return Some((Followed::ByHand, advice.to_string()));
    }
    let mut changed = case;
    assert!(advice.edits.iter().all(|edit| make(edit, &mut changed.spec, &mut changed.caller)), "{advice:?}");
    let after = changed.trial(&changed.policy(), &changed.caller).decision;
    let kept = after.verdict == advice.then && after.verdict < before.verdict;
    let shown = format!("{}: {before:?}\n  after {advice}: {after:?}", changed.tool.0.name);
    Some((if kept { Followed::AsPromised } else { Followed::Otherwise }, shown))
}

#[test]
fn advice_that_is_followed_gives_what_it_promises() {
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = (spec(), caller(), plan(), 0..tools().len());
    let mut counted: BTreeMap<Followed, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    while counted.values().sum::<usize>() < 2_300 {
        let (spec, mut caller, plan, at) = strategy.new_tree(&mut runner).unwrap().current();
        // Only the program that chose the tools of a session can add to them, which is seldom of interest.
        caller.tools = caller.tools.filter(|_| at % 16 == 0);
        let Some((followed, shown)) = follow(Case { spec, caller, plan, tool: tools().swap_remove(at) }) else { continue };
        *counted.entry(followed).or_default() += 1;
        if followed == Followed::Otherwise {
            broken.push(shown);
        }
    }
    let [as_promised, otherwise, by_hand] =
        [Followed::AsPromised, Followed::Otherwise, Followed::ByHand].map(|kind| counted.get(&kind).copied().unwrap_or(0));
    assert!(as_promised >= 2_000, "{counted:?}");
    assert_eq!(otherwise, 0, "{counted:?}\n{}", broken.join("\n"));
    assert!(by_hand * 3 <= as_promised, "{counted:?}");
}
