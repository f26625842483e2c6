//! What the user is asked, and what answers in their place.

use haft_contract::AskMode;
use haft_contract::{Access, Plan, ToolSource};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Candidate, Policy, StandardPolicy, Verdict};

use crate::setting::{Setting, at, plan};

#[test]
fn where_nobody_is_asked_a_question_is_a_denial() {
    let mut setting = Setting::new();
    setting.spec.rules.ask = vec![at("write(docs/**)")];
    assert_eq!(setting.decide().verdict, Verdict::Ask);
    setting.spec.ask = AskMode::Never;
    let decision = setting.decide();
    let message = "This call would need approval (the rule 'ask write(docs/**)'), and nobody is asked here. \
                   Do without it, or tell the user what you need.";
    assert_eq!((decision.verdict, decision.denial().map(|refusal| refusal.message.as_str())), (Verdict::Deny, Some(message)));
}

#[test]
fn beyond_the_access_level_only_a_rule_that_says_where_it_holds_can_answer() {
    let mut setting = Setting::new();
    setting.caller.access = Access::ReadOnly;
    for (rules, verdict) in [
        (vec!["cron"], Verdict::Ask),
        (vec!["write"], Verdict::Ask),
        (vec!["write(docs/**)"], Verdict::Ask),
        (vec!["write(**/a)"], Verdict::Ask),
        (vec!["write(/ws/docs/**)"], Verdict::Allow),
        (vec!["write(~/docs/**)"], Verdict::Allow),
        (vec!["write", "write(/ws/docs/**)"], Verdict::Allow),
        (vec![], Verdict::Ask),
    ] {
        setting.spec.home = Some("/ws".into());
        setting.spec.rules.allow = rules.iter().map(|rule| at(rule)).collect();
        setting.spec.ask = AskMode::Rules;
        assert_eq!(setting.decide().verdict, Verdict::Deny, "a rule never lifts the access level: {rules:?}");
        setting.spec.ask = AskMode::Beyond;
        assert_eq!(setting.decide().verdict, verdict, "{rules:?}");
    }
}

/// What the user said for the session holds whatever it says; what would be saved must hold in the next session too.
#[test]
fn an_answer_for_good_is_one_that_will_hold() {
    let mut setting = Setting::new();
    (setting.spec.ask, setting.caller.access) = (AskMode::Beyond, Access::ReadOnly);
    setting.definition.name = "tts".into();
    let policy = StandardPolicy::compile(&setting.spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
    let candidate = Candidate::new(&setting.definition, &ToolSource::BuiltIn);
    let unknown = Plan::nothing().with(haft_contract::Effect::Unknown { why: "x".into() });
    for (plan, expected) in [
        (plan(), Ok(vec!["tts(/ws/docs/a)".to_owned()])),
        (unknown, Err("a rule on 'tts' as a whole does not answer beyond the access level, so only this once".to_owned())),
    ] {
        let decision = policy.decide(&candidate, Some(&plan), &setting.caller);
        assert_eq!((decision.verdict, policy.persistent_rules(&candidate, &plan, &decision)), (Verdict::Ask, expected.clone()));
        let Ok(rules) = expected else { continue };
        let mut spec = setting.spec.clone();
        spec.rules.allow = rules.iter().map(|rule| at(rule)).collect();
        let later = StandardPolicy::compile(&spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        assert_eq!(later.decide(&candidate, Some(&plan), &setting.caller).verdict, Verdict::Allow);
    }
    policy.grant(&setting.caller, &candidate, &["tts".to_owned()]).unwrap();
    assert_eq!(policy.decide(&candidate, Some(&plan()), &setting.caller).verdict, Verdict::Allow, "for this session");
    assert_eq!(policy.decide(&candidate, Some(&Plan::nothing()), &setting.caller).verdict, Verdict::Allow);
}

#[test]
fn what_holds_for_every_call_is_known_before_there_is_one() {
    for (ask, allowed, expected) in [
        (AskMode::Always, None, Some((Verdict::Ask, "asking", "every call is asked about (ask = \"always\"): cron"))),
        (AskMode::Always, Some("cron"), Some((Verdict::Allow, "rules", "allow cron"))),
        (AskMode::Always, Some("write(docs/**)"), Some((Verdict::Ask, "asking", "every call is asked about (ask = \"always\"): cron"))),
        (AskMode::Changes, None, None),
        (AskMode::Rules, None, None),
        (AskMode::Never, None, None),
    ] {
        let mut setting = Setting::new();
        setting.spec.ask = ask;
        setting.spec.rules.allow = allowed.map(at).into_iter().collect();
        let policy = StandardPolicy::compile(&setting.spec, Vocabulary::of_core(haft_builtin::metas())).unwrap();
        let candidate = Candidate::new(&setting.definition, &ToolSource::BuiltIn);
        let offered = policy.offer(&candidate, &setting.caller);
        assert_eq!(offered.verdict, Verdict::Allow, "it is offered all the same");
        let decided = policy.decide_without_arguments(offered.clone(), &candidate, &setting.caller);
        match expected {
            Some((verdict, step, entry)) => {
                let last = decided.trace.last().unwrap();
                assert_eq!((decided.verdict, last.step, last.entry.as_ref()), (verdict, step, entry), "{ask:?} {allowed:?}");
            }
            None => assert_eq!(decided, offered, "{ask:?}"),
        }
    }
}
