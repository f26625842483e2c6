//! What an answer is worth: this once, for the session, always, or nothing.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    AskMode, BoxFuture, Effect, ErrorKind, TaintPolicy, ToolCall,
    ports::{ApprovalAnswer, ApprovalRequest, RuleStore},
};
use haft_engine::{CallLimits, Session};

use crate::asking::{EventRecorder, ScriptedRuleStore, ScriptedUser, approval, argv, asks_about_changes, policy, runner, unguarded};
use crate::harness::{Harness, failure, setup, text};

const RULE: &str = "exec(git status *)";

fn no(comment: Option<&str>) -> ApprovalAnswer {
    ApprovalAnswer::Deny { comment: comment.map(str::to_owned) }
}

/// A harness whose user gives these answers.
fn asking(
    answers: impl IntoIterator<Item = ApprovalAnswer>,
    store: Option<Arc<dyn RuleStore>>,
) -> (Harness, Arc<ScriptedUser>, Arc<EventRecorder>) {
    let (user, told) = (ScriptedUser::saying(answers), Arc::new(EventRecorder::default()));
    let (approver, sink) = (Arc::clone(&user), Arc::clone(&told));
    let harness = setup()
        .built_in(runner())
        .engine(move |builder| asks_about_changes(builder).events(sink))
        .session(move |builder| {
            let builder = unguarded(builder).approver(approver);
            match store {
                Some(store) => builder.rule_store(store),
                None => builder,
            }
        })
        .build();
    (harness, user, told)
}

#[tokio::test]
async fn every_answer_does_what_it_says() {
    for (answer, outcome, how, kept) in [
        (ApprovalAnswer::Once, Ok("ran"), Some("once".to_owned()), 0),
        (ApprovalAnswer::Session, Ok("ran"), Some(format!("for this session: {RULE}")), 0),
        (ApprovalAnswer::Always, Ok("ran"), Some(format!("always: {RULE}, saved in /home/me/rules")), 1),
        (no(Some("use make")), Err("The user said no: use make"), None, 0),
        (no(None), Err("The user said no. Do not repeat the call; ask what they want instead."), None, 0),
    ] {
        let store = ScriptedRuleStore::saying(Ok("/home/me/rules"));
        let (harness, user, told) = asking([answer.clone()], Some(Arc::clone(&store) as _));
        let result = harness.call("exec", argv("git status src")).await;
        match outcome {
            Ok(said) => assert_eq!(text(&result), said, "{answer:?}"),
            Err(message) => assert_eq!(failure(&result), (ErrorKind::PermissionDenied, message.to_owned()), "{answer:?}"),
        }
        assert_eq!(approval(&harness).await, how, "{answer:?}");
        assert_eq!(*store.kept.lock().unwrap(), vec![vec![RULE.to_owned()]; kept], "{answer:?}");
        assert_eq!(user.asked().len(), 1);
        let mut expected = vec!["asked about exec of call".to_owned(), format!("answered call: {:?}", Some(&answer))];
        match outcome {
            Ok(_) => expected.extend(["started call".to_owned(), "finished call: None".to_owned()]),
            Err(_) => expected.push("finished call: Some(PermissionDenied)".to_owned()),
        }
        assert_eq!(told.lines(), expected, "{answer:?}");
    }
}

#[tokio::test]
async fn once_is_used_once() {
    let (harness, user, _) = asking([ApprovalAnswer::Once, no(None)], None);
    assert_eq!(text(&harness.call("exec", argv("git status")).await), "ran");
    assert_eq!(failure(&harness.call("exec", argv("git status")).await).0, ErrorKind::PermissionDenied);
    assert_eq!(user.asked().len(), 2);
}

#[tokio::test]
async fn for_the_session_means_the_same_and_similar_calls_and_no_others() {
    let (harness, user, _) = asking([ApprovalAnswer::Session, no(None), no(None)], None);
    for (line, runs, asked) in [
        ("git status src", true, 1),
        ("git status src", true, 1),
        ("git status docs", true, 1),
        ("git push", false, 2),
        ("rm -rf status", false, 3),
    ] {
        assert_eq!(harness.call("exec", argv(line)).await.is_success(), runs, "{line}");
        assert_eq!(user.asked().len(), asked, "{line}");
    }
    assert_eq!(harness.session.caller().grants.texts(), [RULE]);
    let other = unguarded(Session::builder(Arc::clone(&harness.host) as _)).build();
    let result = harness.engine.run(ToolCall::new("1", "exec", argv("git status src")), &other).await;
    assert!(failure(&result).1.contains("no one can approve here"), "another session is not allowed anything by it");
}

#[tokio::test]
async fn always_keeps_exactly_what_was_shown_and_it_sticks() {
    let store = ScriptedRuleStore::saying(Ok("/home/me/rules"));
    let (harness, user, _) = asking([ApprovalAnswer::Always], Some(Arc::clone(&store) as _));
    assert!(harness.call("exec", argv("git status src")).await.is_success());
    assert!(harness.call("exec", argv("git status lib")).await.is_success(), "it holds at once");
    let (asked, kept) = (user.asked(), store.kept.lock().unwrap().clone());
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].rules.as_ref().unwrap(), &kept[0]);

    let later = setup()
        .built_in(runner())
        .engine(move |builder| builder.policy(Arc::new(policy(AskMode::Changes, &[], &kept[0]))))
        .session(unguarded)
        .build();
    assert!(later.call("exec", argv("git status src")).await.is_success(), "what was kept is read back and allows the call");
    assert!(!later.call("exec", argv("git push")).await.is_success());
}

struct Slow;

impl RuleStore for Slow {
    fn keep<'a>(&'a self, _rules: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn rules_that_cannot_be_saved_hold_for_the_session_with_a_notice() {
    let failing = ScriptedRuleStore::saying(Err("the file is read-only"));
    for (store, why) in [
        (Some(failing as Arc<dyn RuleStore>), "the file is read-only"),
        (None, "there is no file for it here"),
        (Some(Arc::new(Slow)), "it took longer than 10 s"),
    ] {
        let (harness, user, told) = asking([ApprovalAnswer::Always], store);
        let started = tokio::time::Instant::now();
        assert_eq!(text(&harness.call("exec", argv("git status")).await), "ran");
        assert!(started.elapsed() <= Duration::from_millis(10_010), "{:?}", started.elapsed());
        assert_eq!(approval(&harness).await, Some(format!("for this session: {RULE} (not saved: {why})")));
        assert_eq!(told.lines()[2], format!("not kept call: {RULE}: nothing was saved: {why}"));
        assert!(harness.call("exec", argv("git status src")).await.is_success());
        assert_eq!(user.asked().len(), 1);
    }
}

#[tokio::test]
async fn an_ask_rule_is_asked_each_time() {
    let store = ScriptedRuleStore::saying(Ok("/home/me/rules"));
    let user = ScriptedUser::saying([ApprovalAnswer::Always, ApprovalAnswer::Session, ApprovalAnswer::Once]);
    let (approver, saving) = (Arc::clone(&user), Arc::clone(&store));
    let harness = setup()
        .built_in(runner())
        .engine(|builder| builder.policy(Arc::new(policy(AskMode::Rules, &["exec(git push *)"], &[]))))
        .session(|builder| unguarded(builder).approver(approver).rule_store(saving))
        .build();
    for asked in 1..=3 {
        assert!(harness.call("exec", argv("git push origin")).await.is_success());
        assert_eq!((user.asked().len(), approval(&harness).await.as_deref()), (asked, Some("once")));
    }
    assert!(harness.call("exec", argv("git status")).await.is_success(), "what no rule speaks of is not asked");
    assert_eq!(user.asked().len(), 3);
    assert!(user.asked().iter().all(|request| request.rules.is_err()));
    assert!(store.kept.lock().unwrap().is_empty() && harness.session.caller().grants.texts().is_empty());
}

#[tokio::test]
async fn a_question_carries_an_id_of_its_own_and_the_fingerprint_of_the_call() {
    let (harness, user, _) = asking(vec![ApprovalAnswer::Once; 4], None);
    let reordered = |first: &str, second: &str| format!(r#"{{"{first}": ["git", "log"], "{second}": ["git", "log"]}}"#);
    for arguments in [reordered("argv", "note"), reordered("note", "argv")] {
        harness.call("exec", arguments.as_str()).await;
    }
    for arguments in [argv("git log -1"), argv("git log -2")] {
        harness.call("exec", arguments).await;
    }
    let asked = user.asked();
    let ids: std::collections::HashSet<&str> = asked.iter().map(|request| request.id.as_str()).collect();
    assert_eq!((ids.len(), ids.contains("")), (4, false));
    let prints: Vec<&str> = asked.iter().map(|request| request.fingerprint.as_str()).collect();
    assert_eq!(prints[0], prints[1], "the same call");
    assert!(prints[1] != prints[2] && prints[2] != prints[3], "other calls");
    assert_eq!(prints[0].len(), 64);
}

/// What the user allowed for longer than one call is not asked about again when the session has seen untrusted content; everything
/// else is.
#[tokio::test]
async fn what_was_allowed_for_good_also_answers_the_taint_guard() {
    let user = ScriptedUser::saying([ApprovalAnswer::Session, ApprovalAnswer::Once]);
    let approver = Arc::clone(&user);
    let harness = setup()
        .built_in(runner())
        .engine(asks_about_changes)
        .session(|builder| unguarded(builder).taint(TaintPolicy::Ask).approver(approver))
        .build();
    for command in ["git status", "git status", "git push origin"] {
        assert!(harness.call("exec", argv(command)).await.is_success());
    }
    let asked: Vec<bool> = user.asked().iter().map(|request| request.reason.contains("untrusted content")).collect();
    assert_eq!(asked, [false, true], "the second command is the first again; the third is another, and tainted");
}

#[tokio::test]
async fn no_answer_is_a_denial() {
    let (user, told) = (ScriptedUser::saying([]), Arc::new(EventRecorder::default()));
    let (approver, sink) = (Arc::clone(&user), Arc::clone(&told));
    let tool = runner();
    let runs = tool.log();
    let harness = setup()
        .built_in(tool)
        .engine(move |builder| {
            let mut limits = CallLimits::default();
            limits.approval = Duration::from_millis(20);
            asks_about_changes(builder).limits(limits).events(sink)
        })
        .session(|builder| unguarded(builder).approver(approver))
        .build();
    let (kind, message) = failure(&harness.call("exec", argv("git status")).await);
    assert_eq!(kind, ErrorKind::ApprovalTimeout);
    assert_eq!(message, "No answer came within 0 s, so the call was not made. Continue without it, or ask the user.");
    assert_eq!((runs.count(), approval(&harness).await), (0, None));
    assert_eq!(told.lines(), ["asked about exec of call", "answered call: None", "finished call: Some(ApprovalTimeout)"]);
}

#[tokio::test]
async fn what_is_asked_is_what_runs() {
    let (harness, user, _) = asking([ApprovalAnswer::Once], None);
    harness.call("exec", argv("git status src")).await;
    let asked: ApprovalRequest = user.asked().remove(0);
    assert_eq!(asked.arguments, argv("git status src"));
    let [Effect::Exec(exec)] = &asked.effects[..] else { panic!("{:?}", asked.effects) };
    assert_eq!((exec.named.as_str(), &exec.arguments[..]), ("git", &["status".to_owned(), "src".to_owned()][..]));
    let record = harness.history().await.remove(0);
    assert_eq!((record.arguments, record.effects), (argv("git status src"), serde_json::to_value(&asked.effects).unwrap()));
}
