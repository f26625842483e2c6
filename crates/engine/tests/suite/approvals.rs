//! What an answer is worth: this once, for the session, always, or nothing.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Answer, ApprovalRequest, BoxFuture, Effect, ErrorKind, RuleKeeper, ToolCall};
use haft_engine::{AskMode, Limits, Session, TaintPolicy};

use crate::asking::{Keeper, Person, Told, approval, argv, asks_about_changes, policy, runner, unguarded};
use crate::harness::{Harness, failure, setup, text};

const RULE: &str = "exec(git status *)";

fn no(comment: Option<&str>) -> Answer {
    Answer::Deny { comment: comment.map(str::to_owned) }
}

/// A harness whose person gives these answers.
fn asking(answers: impl IntoIterator<Item = Answer>, keeper: Option<Arc<dyn RuleKeeper>>) -> (Harness, Arc<Person>, Arc<Told>) {
    let (person, told) = (Person::saying(answers), Arc::new(Told::default()));
    let (approver, sink) = (Arc::clone(&person), Arc::clone(&told));
    let harness = setup()
        .built_in(runner())
        .engine(move |builder| asks_about_changes(builder).events(sink))
        .session(move |builder| {
            let builder = unguarded(builder).approver(approver);
            match keeper {
                Some(keeper) => builder.keeper(keeper),
                None => builder,
            }
        })
        .build();
    (harness, person, told)
}

#[tokio::test]
async fn every_answer_does_what_it_says() {
    for (answer, outcome, how, kept) in [
        (Answer::Once, Ok("ran"), Some("once".to_owned()), 0),
        (Answer::Session, Ok("ran"), Some(format!("for this session: {RULE}")), 0),
        (Answer::Always, Ok("ran"), Some(format!("always: {RULE}, saved in /home/me/rules")), 1),
        (no(Some("use make")), Err("The person said no: use make"), None, 0),
        (no(None), Err("The person said no. Do not repeat the call; ask what they want instead."), None, 0),
    ] {
        let keeper = Keeper::saying(Ok("/home/me/rules"));
        let (harness, person, told) = asking([answer.clone()], Some(Arc::clone(&keeper) as _));
        let result = harness.call("exec", argv("git status src")).await;
        match outcome {
            Ok(said) => assert_eq!(text(&result), said, "{answer:?}"),
            Err(message) => assert_eq!(failure(&result), (ErrorKind::PermissionDenied, message.to_owned()), "{answer:?}"),
        }
        assert_eq!(approval(&harness).await, how, "{answer:?}");
        assert_eq!(*keeper.kept.lock().unwrap(), vec![vec![RULE.to_owned()]; kept], "{answer:?}");
        assert_eq!(person.asked().len(), 1);
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
    let (harness, person, _) = asking([Answer::Once, no(None)], None);
    assert_eq!(text(&harness.call("exec", argv("git status")).await), "ran");
    assert_eq!(failure(&harness.call("exec", argv("git status")).await).0, ErrorKind::PermissionDenied);
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test]
async fn for_the_session_means_the_same_and_similar_calls_and_no_others() {
    let (harness, person, _) = asking([Answer::Session, no(None), no(None)], None);
    for (line, runs, asked) in [
        ("git status src", true, 1),
        ("git status src", true, 1),
        ("git status docs", true, 1),
        ("git push", false, 2),
        ("rm -rf status", false, 3),
    ] {
        assert_eq!(harness.call("exec", argv(line)).await.is_success(), runs, "{line}");
        assert_eq!(person.asked().len(), asked, "{line}");
    }
    assert_eq!(harness.session.caller().standing.texts(), [RULE]);
    let other = unguarded(Session::builder(Arc::clone(&harness.host) as _)).build();
    let result = harness.engine.run(ToolCall::new("1", "exec", argv("git status src")), &other).await;
    assert!(failure(&result).1.contains("nobody can be asked here"), "another session is not allowed anything by it");
}

#[tokio::test]
async fn always_keeps_exactly_what_was_shown_and_it_sticks() {
    let keeper = Keeper::saying(Ok("/home/me/rules"));
    let (harness, person, _) = asking([Answer::Always], Some(Arc::clone(&keeper) as _));
    assert!(harness.call("exec", argv("git status src")).await.is_success());
    assert!(harness.call("exec", argv("git status lib")).await.is_success(), "it holds at once");
    let (asked, kept) = (person.asked(), keeper.kept.lock().unwrap().clone());
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].lasting.as_ref().unwrap(), &kept[0]);

    let later = setup()
        .built_in(runner())
        .engine(move |builder| builder.policy(Arc::new(policy(AskMode::Changes, &[], &kept[0]))))
        .session(unguarded)
        .build();
    assert!(later.call("exec", argv("git status src")).await.is_success(), "what was kept is read back and allows the call");
    assert!(!later.call("exec", argv("git push")).await.is_success());
}

struct Slow;

impl RuleKeeper for Slow {
    fn keep<'a>(&'a self, _rules: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_saved_holds_for_the_session_and_the_person_is_told() {
    let failing = Keeper::saying(Err("the file is read-only"));
    for (keeper, why) in [
        (Some(failing as Arc<dyn RuleKeeper>), "the file is read-only"),
        (None, "there is no file for it here"),
        (Some(Arc::new(Slow)), "it took longer than 10 s"),
    ] {
        let (harness, person, told) = asking([Answer::Always], keeper);
        let started = tokio::time::Instant::now();
        assert_eq!(text(&harness.call("exec", argv("git status")).await), "ran");
        assert!(started.elapsed() <= Duration::from_millis(10_010), "{:?}", started.elapsed());
        assert_eq!(approval(&harness).await, Some(format!("for this session: {RULE} (not saved: {why})")));
        assert_eq!(told.lines()[2], format!("not kept call: {RULE}: nothing was saved: {why}"));
        assert!(harness.call("exec", argv("git status src")).await.is_success());
        assert_eq!(person.asked().len(), 1);
    }
}

#[tokio::test]
async fn an_ask_rule_is_asked_each_time() {
    let keeper = Keeper::saying(Ok("/home/me/rules"));
    let person = Person::saying([Answer::Always, Answer::Session, Answer::Once]);
    let (approver, saving) = (Arc::clone(&person), Arc::clone(&keeper));
    let harness = setup()
        .built_in(runner())
        .engine(|builder| builder.policy(Arc::new(policy(AskMode::Rules, &["exec(git push *)"], &[]))))
        .session(|builder| unguarded(builder).approver(approver).keeper(saving))
        .build();
    for asked in 1..=3 {
        assert!(harness.call("exec", argv("git push origin")).await.is_success());
        assert_eq!((person.asked().len(), approval(&harness).await.as_deref()), (asked, Some("once")));
    }
    assert!(harness.call("exec", argv("git status")).await.is_success(), "what no rule speaks of is not asked");
    assert_eq!(person.asked().len(), 3);
    assert!(person.asked().iter().all(|request| request.lasting.is_err()));
    assert!(keeper.kept.lock().unwrap().is_empty() && harness.session.caller().standing.texts().is_empty());
}

#[tokio::test]
async fn a_question_carries_an_id_of_its_own_and_the_fingerprint_of_the_call() {
    let (harness, person, _) = asking(vec![Answer::Once; 4], None);
    let reordered = |first: &str, second: &str| format!(r#"{{"{first}": ["git", "log"], "{second}": ["git", "log"]}}"#);
    for arguments in [reordered("argv", "note"), reordered("note", "argv")] {
        harness.call("exec", arguments.as_str()).await;
    }
    for arguments in [argv("git log -1"), argv("git log -2")] {
        harness.call("exec", arguments).await;
    }
    let asked = person.asked();
    let ids: std::collections::HashSet<&str> = asked.iter().map(|request| request.id.as_str()).collect();
    assert_eq!((ids.len(), ids.contains("")), (4, false));
    let prints: Vec<&str> = asked.iter().map(|request| request.fingerprint.as_str()).collect();
    assert_eq!(prints[0], prints[1], "the same call");
    assert!(prints[1] != prints[2] && prints[2] != prints[3], "other calls");
    assert_eq!(prints[0].len(), 64);
}

#[tokio::test]
async fn the_taint_guard_is_not_answered_for_good() {
    let person = Person::saying([Answer::Session, Answer::Session]);
    let approver = Arc::clone(&person);
    let harness = setup()
        .built_in(runner())
        .engine(asks_about_changes)
        .session(|builder| unguarded(builder).taint(TaintPolicy::Ask).approver(approver))
        .build();
    for _ in 0..2 {
        assert!(harness.call("exec", argv("git status")).await.is_success());
    }
    let lasting: Vec<bool> = person.asked().iter().map(|request| request.lasting.is_ok()).collect();
    assert_eq!(lasting, [true, false]);
}

#[tokio::test]
async fn a_person_who_says_nothing_has_said_no() {
    let (person, told) = (Person::saying([]), Arc::new(Told::default()));
    let (approver, sink) = (Arc::clone(&person), Arc::clone(&told));
    let tool = runner();
    let runs = tool.log();
    let harness = setup()
        .built_in(tool)
        .engine(move |builder| {
            let mut limits = Limits::default();
            limits.approval = Duration::from_millis(20);
            asks_about_changes(builder).limits(limits).events(sink)
        })
        .session(|builder| unguarded(builder).approver(approver))
        .build();
    let (kind, message) = failure(&harness.call("exec", argv("git status")).await);
    assert_eq!(kind, ErrorKind::ApprovalTimeout);
    assert_eq!(message, "Nobody answered within 0 s, so the call was not made. Go on without it, or ask the person.");
    assert_eq!((runs.count(), approval(&harness).await), (0, None));
    assert_eq!(told.lines(), ["asked about exec of call", "answered call: None", "finished call: Some(ApprovalTimeout)"]);
}

#[tokio::test]
async fn what_is_asked_is_what_runs() {
    let (harness, person, _) = asking([Answer::Once], None);
    harness.call("exec", argv("git status src")).await;
    let asked: ApprovalRequest = person.asked().remove(0);
    assert_eq!(asked.arguments, argv("git status src"));
    let [Effect::Exec(exec)] = &asked.effects[..] else { panic!("{:?}", asked.effects) };
    assert_eq!((exec.named.as_str(), &exec.arguments[..]), ("git", &["status".to_owned(), "src".to_owned()][..]));
    let record = harness.history().await.remove(0);
    assert_eq!((record.arguments, record.effects), (argv("git status src"), serde_json::to_value(&asked.effects).unwrap()));
}
