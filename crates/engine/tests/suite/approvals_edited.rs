//! Arguments that the user edits, and rules that the user saves at a width.

use std::sync::Arc;

use haft_contract::{AskMode, ErrorKind, ports::ApprovalAnswer};
use serde_json::{Value, json};

use crate::asking::{ScriptedRuleStore, ScriptedUser, approval, argv, policy, runner, unguarded};
use crate::harness::{Harness, failure, setup, text};

/// A harness whose user gives these answers; `git push` is asked about, `git tag` denied, everything else allowed.
fn asking(answers: impl IntoIterator<Item = ApprovalAnswer>) -> (Harness, Arc<ScriptedUser>) {
    let user = ScriptedUser::saying(answers);
    let approver = Arc::clone(&user);
    let schema = json!({"type": "object", "properties": {"argv": {"type": "array", "minItems": 1}}, "required": ["argv"]});
    let harness = setup()
        .built_in(runner().schema(schema))
        .engine(|builder| builder.policy(Arc::new(policy(AskMode::Rules, &["exec(git push *)"], &[]))))
        .session(|builder| unguarded(builder).approver(approver))
        .build();
    (harness, user)
}

fn edit(line: &str) -> ApprovalAnswer {
    ApprovalAnswer::Edit(argv(line))
}

#[tokio::test]
async fn edited_arguments_are_decided_on_again_and_the_model_is_told() {
    for (answers, questions, ran) in [
        // Allowed as it is now: not asked again.
        (vec![edit("git status")], vec!["git push --force"], "git status"),
        // Still asked about, as it is now.
        (vec![edit("git push"), ApprovalAnswer::Once], vec!["git push --force", "git push"], "git push"),
        (vec![edit("git push a"), edit("git log")], vec!["git push --force", "git push a"], "git log"),
    ] {
        let (harness, user) = asking(answers);
        let result = harness.call("exec", argv("git push --force")).await;
        assert_eq!(text(&result), format!("ran\n[The user changed the arguments of this call to {}]", argv(ran)));
        let asked: Vec<Value> = user.asked().into_iter().map(|request| request.arguments).collect();
        assert_eq!(asked, questions.into_iter().map(argv).collect::<Vec<_>>());
        let record = harness.history().await.remove(0);
        assert_eq!((record.arguments, record.original_arguments), (argv(ran), Some(argv("git push --force"))));
        let words: Vec<&str> = ran.split(' ').skip(1).collect();
        assert_eq!(record.effects[0]["arguments"], json!(words), "what runs is what was decided on");
    }
}

#[tokio::test]
async fn edit_that_does_not_fit_is_asked_about_again_with_its_fault() {
    let wrong = ApprovalAnswer::Edit(json!({"argv": []}));
    let (harness, user) = asking([wrong, ApprovalAnswer::Once]);
    assert_eq!(text(&harness.call("exec", argv("git push a")).await), "ran", "as it was");
    let asked = user.asked();
    assert_eq!(asked[0].edit_fault, None);
    assert!(asked[1].edit_fault.as_ref().is_some_and(|fault| fault.starts_with("Parameter 'argv'")), "{:?}", asked[1].edit_fault);
    assert_eq!((asked[1].arguments.clone(), asked[0].fingerprint == asked[1].fingerprint), (argv("git push a"), true));
    assert_eq!(approval(&harness).await.as_deref(), Some("once"));
}

#[tokio::test]
async fn rules_that_the_user_wrote_are_saved_once_they_cover_the_call_and_may_be_said() {
    let store = ScriptedRuleStore::saying(Ok("/home/me/rules"));
    let by = |rules: &[&str]| ApprovalAnswer::AlwaysBy(rules.iter().map(|&rule| rule.to_owned()).collect());
    let user = ScriptedUser::saying([
        by(&[]),
        by(&["exec(du"]),
        by(&["exec(git log)"]),
        by(&["exec(du src)", "exec(bash *)"]),
        by(&["exec(du *)", "exec(git log)"]),
    ]);
    let (approver, saving) = (Arc::clone(&user), Arc::clone(&store));
    let harness = setup()
        .built_in(runner())
        .engine(|builder| builder.policy(Arc::new(policy(AskMode::Changes, &[], &[]))))
        .session(|builder| unguarded(builder).approver(approver).rule_store(saving))
        .build();
    for line in ["du src", "du docs", "git log"] {
        assert!(harness.call("exec", argv(line)).await.is_success(), "{line}");
    }
    let asked = user.asked();
    let faults: Vec<&str> = asked.iter().map(|request| request.edit_fault.as_deref().unwrap_or_default()).collect();
    assert_eq!(faults.len(), 5, "{faults:#?}");
    assert_eq!((faults[0], faults[1]), ("", "an answer has 1 to 5 rules, one on each line; these are 0"));
    assert_eq!(faults[2], "the ')' is missing; end the rule with ')'");
    let (start, end) = ("the call would still be asked about: no rule here covers 'exec ", "du src'");
    assert!(faults[3].starts_with(start) && faults[3].ends_with(end), "{}", faults[3]);
    assert!(faults[4].contains("bash"), "{}", faults[4]);
    let ids: std::collections::BTreeSet<&str> = asked.iter().map(|request| request.id.as_str()).collect();
    assert_eq!(ids.len(), 5, "each is a question of its own");
    assert_eq!(*store.kept.lock().unwrap(), [vec!["exec(du *)".to_owned(), "exec(git log)".to_owned()]]);
}

#[tokio::test]
async fn edit_into_something_denied_is_a_denial() {
    let user = ScriptedUser::saying([edit("git tag v1")]);
    let approver = Arc::clone(&user);
    let mut rules = haft_policy::PolicySpec::default();
    rules.rules.ask = vec!["exec(git push *)".into()];
    rules.rules.deny = vec!["exec(git tag *)".into()];
    rules.exec.security = Some(haft_contract::ExecSecurity::Full);
    let vocabulary = haft_policy::catalog::Vocabulary::of_core(haft_builtin::metas());
    let rules = haft_policy::StandardPolicy::compile(&rules, vocabulary).unwrap();
    let harness = setup()
        .built_in(runner())
        .engine(|builder| builder.policy(Arc::new(rules)))
        .session(|builder| unguarded(builder).approver(approver))
        .build();
    let (kind, message) = failure(&harness.call("exec", argv("git push")).await);
    assert_eq!(kind, ErrorKind::PermissionDenied);
    assert!(message.contains("deny exec(git tag *)") && message.contains("The user changed the arguments"), "{message}");
}

#[tokio::test]
async fn widths_show_the_past_calls_that_each_would_have_covered() {
    let store = ScriptedRuleStore::saying(Ok("/home/me/rules"));
    let user = ScriptedUser::saying([ApprovalAnswer::Once, ApprovalAnswer::Once, ApprovalAnswer::Once, ApprovalAnswer::AlwaysAs(1)]);
    let (approver, saving) = (Arc::clone(&user), Arc::clone(&store));
    let harness = setup()
        .built_in(runner())
        .engine(|builder| builder.policy(Arc::new(policy(AskMode::Changes, &[], &[]))))
        .session(|builder| unguarded(builder).approver(approver).rule_store(saving))
        .build();
    for line in ["du src", "du docs", "git log", "du src", "du src x"] {
        assert!(harness.call("exec", argv(line)).await.is_success());
    }
    let asked = user.asked();
    let widths: Vec<(&str, &str, usize)> =
        asked[3].widths.iter().map(|width| (width.name.as_str(), width.rules[0].as_str(), width.past_calls)).collect();
    let expected = [("exactly this", "exec(du src)", 1), ("this subcommand", "exec(du src *)", 1), ("this program", "exec(du *)", 2)];
    assert_eq!(widths, expected);
    assert_eq!(asked[3].widths[2].past, ["exec"], "named once; this tool has neither a command nor a path");
    assert_eq!(*store.kept.lock().unwrap(), [vec!["exec(du src *)".to_owned()]], "what was chosen is saved");
    assert_eq!(asked.len(), 4, "and holds at once");
    assert_eq!(asked[0].time_limit, Some(haft_engine::CallLimits::default().approval));
}
