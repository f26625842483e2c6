//! Questions wait for each other, and none is asked that was answered by the way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::{
    BoxFuture, ErrorKind, ToolCall,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use haft_engine::{ApprovalBroker, CallLimits, Session};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::asking::{EventRecorder, ScriptedUser, argv, asks_about_changes, runner, unguarded};
use crate::harness::{Harness, failure, setup};

fn harness(approver: Arc<dyn Approver>, told: &Arc<EventRecorder>) -> Harness {
    let sink = Arc::clone(told);
    let seconds = |builder: haft_engine::EngineBuilder| {
        let mut limits = CallLimits::default();
        limits.approval = Duration::from_mins(1);
        builder.limits(limits)
    };
    setup()
        .built_in(runner())
        .engine(move |builder| seconds(asks_about_changes(builder)).events(sink))
        .session(move |builder| unguarded(builder).approver(approver))
        .build()
}

fn calls(lines: &[&str]) -> Vec<ToolCall> {
    lines.iter().enumerate().map(|(n, line)| ToolCall::new(n.to_string(), "exec", argv(line))).collect()
}

async fn verdicts(harness: &Harness) -> Vec<(String, String)> {
    let mut verdicts: Vec<_> = harness
        .history()
        .await
        .into_iter()
        .map(|record| (record.call_id, record.decision["verdict"].as_str().unwrap().to_owned()))
        .collect();
    verdicts.sort();
    verdicts
}

/// Takes this long for this answer, and counts how many questions stand before it at once.
struct Ponderer {
    takes: Duration,
    answer: ApprovalAnswer,
    now: AtomicUsize,
    most: AtomicUsize,
    asked: AtomicUsize,
}

impl Ponderer {
    fn new(takes: Duration, answer: ApprovalAnswer) -> Arc<Self> {
        Arc::new(Self { takes, answer, now: AtomicUsize::new(0), most: AtomicUsize::new(0), asked: AtomicUsize::new(0) })
    }
}

impl Approver for Ponderer {
    fn ask(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.most.fetch_max(self.now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::time::sleep(self.takes).await;
            self.now.fetch_sub(1, Ordering::Relaxed);
            self.answer.clone()
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_session_answers_the_question_behind_it() {
    // The second call waits for its turn while the user thinks about the first.
    let user = Ponderer::new(Duration::from_secs(1), ApprovalAnswer::Session);
    let harness = harness(Arc::clone(&user) as _, &Arc::default());
    let results = harness.engine.run_all(calls(&["git status", "git status src"]), &harness.session).await;
    assert!(results.iter().all(haft_contract::ToolResult::is_success));
    assert_eq!(user.asked.load(Ordering::Relaxed), 1);
    assert_eq!(verdicts(&harness).await, [("0".into(), "ask".into()), ("1".into(), "allow".into())]);
}

#[tokio::test(start_paused = true)]
async fn the_time_runs_from_when_a_question_is_really_asked() {
    let user = Ponderer::new(Duration::from_secs(50), ApprovalAnswer::Once);
    let harness = harness(Arc::clone(&user) as _, &Arc::default());
    let started = tokio::time::Instant::now();
    let results = harness.engine.run_all(calls(&["git push a", "git push b", "git push c"]), &harness.session).await;
    assert!(results.iter().all(haft_contract::ToolResult::is_success), "each has a minute of its own");
    assert_eq!((user.asked.load(Ordering::Relaxed), user.most.load(Ordering::Relaxed)), (3, 1));
    assert_eq!(started.elapsed().as_secs(), 150);
}

#[tokio::test(start_paused = true)]
async fn one_who_says_nothing_holds_the_next_up_for_one_minute() {
    let user = ScriptedUser::saying([]);
    let told = Arc::new(EventRecorder::default());
    let harness = harness(Arc::clone(&user) as _, &told);
    let started = tokio::time::Instant::now();
    let results = harness.engine.run_all(calls(&["git push a", "git push b"]), &harness.session).await;
    let kinds: Vec<ErrorKind> = results.iter().map(|result| failure(result).0).collect();
    assert_eq!(kinds, [ErrorKind::ApprovalTimeout; 2]);
    assert_eq!((started.elapsed().as_secs(), user.asked().len()), (120, 2));
    let questions: Vec<String> = told.lines().into_iter().filter(|line| !line.starts_with("finished")).collect();
    assert_eq!(questions, ["asked about exec of 0", "answered 0: None", "asked about exec of 1", "answered 1: None"]);
}

#[tokio::test(start_paused = true)]
async fn a_sub_agents_questions_wait_for_its_parents() {
    let user = Ponderer::new(Duration::from_secs(1), ApprovalAnswer::Once);
    let harness = harness(Arc::clone(&user) as _, &Arc::default());
    let child = unguarded(Session::builder(Arc::clone(&harness.host) as _))
        .started_by(&harness.session)
        .depth(1)
        .approver(Arc::clone(&user) as _)
        .build();
    let call = || ToolCall::new("1", "exec", argv("git push"));
    tokio::join!(harness.engine.run(call(), &harness.session), harness.engine.run(call(), &child));
    assert_eq!(user.most.load(Ordering::Relaxed), 1);
}

/// Answers when it is told to, and says when it was asked.
#[derive(Default)]
struct Waiter {
    asked: Mutex<Vec<String>>,
    came: Notify,
    go: Notify,
}

impl Approver for Waiter {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.call.id);
            self.came.notify_one();
            self.go.notified().await;
            ApprovalAnswer::Once
        })
    }
}

#[tokio::test]
async fn a_question_that_waits_its_turn_can_be_cancelled() {
    let user = Arc::new(Waiter::default());
    let harness = harness(Arc::clone(&user) as _, &Arc::default());
    let cancel = CancellationToken::new();
    let mut batch = calls(&["git push a", "git push b"]);
    let (second, first) = (batch.remove(1), batch.remove(0));
    let first = harness.engine.run(first, &harness.session);
    let second = async {
        user.came.notified().await;
        let waiting = harness.engine.run_until(second, &harness.session, &cancel);
        let cancelling = async { cancel.cancel() };
        let (result, ()) = tokio::join!(waiting, cancelling);
        user.go.notify_one();
        result
    };
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_success());
    assert_eq!(failure(&second).0, ErrorKind::Cancelled);
    assert_eq!(*user.asked.lock().unwrap(), ["0"]);
}

#[tokio::test]
async fn a_question_that_stands_open_can_be_cancelled() {
    let told = Arc::new(EventRecorder::default());
    let broker = ApprovalBroker::new();
    let harness = harness(Arc::new(broker.clone()), &told);
    let cancel = CancellationToken::new();
    let mut notices = broker.subscribe();
    let call = harness.engine.run_until(calls(&["git push"]).remove(0), &harness.session, &cancel);
    let (result, ()) = tokio::join!(call, async {
        notices.recv().await.unwrap();
        cancel.cancel();
    });
    assert_eq!(failure(&result).0, ErrorKind::Cancelled);
    assert_eq!(told.lines(), ["asked about exec of 0", "answered 0: None", "finished 0: Some(Cancelled)"]);
    assert!(broker.pending().is_empty());
}

#[tokio::test]
async fn questions_that_stand_side_by_side_go_when_another_answer_allows_them() {
    let broker = ApprovalBroker::new();
    let told = Arc::new(EventRecorder::default());
    let harness = harness(Arc::new(broker.clone()), &told);
    let mut notices = broker.subscribe();
    let answering = async {
        for _ in 0..3 {
            notices.recv().await.unwrap();
        }
        let pending = broker.pending();
        assert_eq!(pending.len(), 3, "all at once");
        let of = |id: &str| pending.iter().find(|request| request.call.id == id).unwrap();
        broker.answer(&of("1").id, &of("1").fingerprint, ApprovalAnswer::Session).unwrap();
        // The other status is allowed by it; the push is not.
        while broker.pending().len() > 1 {
            notices.recv().await.unwrap();
        }
        assert_eq!(broker.pending()[0].call.id, "2");
        broker.answer(&of("2").id, &of("2").fingerprint, ApprovalAnswer::Deny { comment: None }).unwrap();
    };
    let batch = calls(&["git status", "git status src", "git push"]);
    let (results, ()) = tokio::join!(harness.engine.run_all(batch, &harness.session), answering);
    let worked: Vec<bool> = results.iter().map(haft_contract::ToolResult::is_success).collect();
    assert_eq!(worked, [true, true, false]);
    assert_eq!(verdicts(&harness).await, [("0".into(), "allow".into()), ("1".into(), "ask".into()), ("2".into(), "ask".into())]);
    assert!(told.lines().contains(&"answered 0: None".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_changes_nothing() {
    let broker = ApprovalBroker::new();
    let tool = runner();
    let runs = tool.log();
    let approver = broker.clone();
    let harness =
        setup().built_in(tool).engine(asks_about_changes).session(move |builder| unguarded(builder).approver(Arc::new(approver))).build();
    let mut notices = broker.subscribe();
    let (result, asked) = tokio::join!(harness.call("exec", argv("git status")), async {
        notices.recv().await.unwrap();
        broker.pending().remove(0)
    });
    assert_eq!(failure(&result).0, ErrorKind::ApprovalTimeout);
    let late = broker.answer(&asked.id, &asked.fingerprint, ApprovalAnswer::Always);
    assert_eq!(late, Err(haft_engine::AnswerError::Expired(asked.id)));
    assert_eq!((runs.count(), broker.pending().len()), (0, 0));
    assert!(harness.session.caller().grants.texts().is_empty());
}
