//! Whole turns: a scripted model, real calls through the real engine on a machine in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use haft_agent::{EndReason, Ledger, LedgerEntry, Provider, Runner, TurnEnd, TurnEvent, TurnWatcher};
use haft_contract::{BoxFuture, ErrorKind, ExecHost, JobEnd, JobStatus, ToolError, ToolOutput, ToolSource};
use haft_engine::{Engine, Registry, Session};
use haft_provider::{
    Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, Protocol, ProviderError, ProviderErrorKind, ResultPart, Role,
    StopReason, Usage,
};
use haft_store::FileBlobs;
use haft_testkit::{FakeHost, ScriptedTool};
use tokio_util::sync::CancellationToken;

use self::stores::call_log;

/// One round of the scripted model.
enum Line {
    Says(Vec<Block>, StopReason),
    /// These blocks arrive, then the connection breaks.
    Breaks(Vec<Block>, ProviderErrorKind),
    /// These blocks arrive; the answer ends when the notice comes.
    Waits(Vec<Block>, Arc<tokio::sync::Notify>),
}

struct Scripted {
    model: Model,
    lines: Mutex<VecDeque<Line>>,
    seen: Mutex<Vec<Vec<Message>>>,
}

impl Provider for Scripted {
    fn model(&self) -> &Model {
        &self.model
    }
    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        cancel: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        self.seen.lock().unwrap().push(turn.messages.to_vec());
        let line = self.lines.lock().unwrap().pop_front().expect("a line for every round");
        Box::pin(async move {
            let (blocks, stop) = match line {
                Line::Says(blocks, stop) => (blocks, stop),
                Line::Breaks(blocks, trouble) => {
                    arrive(&blocks, each);
                    return Err(ProviderError::new(trouble, "the line is dead").with_partial(!blocks.is_empty()));
                }
                Line::Waits(blocks, notice) => {
                    arrive(&blocks, each);
                    tokio::select! {
                        () = notice.notified() => {}
                        () = cancel.cancelled() => return Err(ProviderError::new(ProviderErrorKind::Cancelled, "stopped")),
                    }
                    return Ok(Completion::new(ModelReply::new(blocks, StopReason::ToolCalls, Usage::default())));
                }
            };
            arrive(&blocks, each);
            Ok(Completion::new(ModelReply::new(blocks, stop, usage(10))))
        })
    }
}

fn usage(tokens: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (tokens, 1);
    usage
}

fn arrive(blocks: &[Block], each: &mut (dyn FnMut(Delta) + Send)) {
    for (index, block) in blocks.iter().enumerate() {
        match block {
            Block::Text { text, .. } => each(Delta::Text(text.clone())),
            call => each(Delta::CallReady { index, call: call.clone() }),
        }
    }
}

#[derive(Default)]
struct Seen {
    entries: Mutex<Vec<LedgerEntry>>,
    lines: Mutex<Vec<String>>,
    fail_on: Mutex<Option<&'static str>>,
}

impl Ledger for Seen {
    fn keep<'a>(&'a self, entry: &'a LedgerEntry) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            if *self.fail_on.lock().unwrap() == Some(entry.kind()) {
                return Err("the disk is full".into());
            }
            self.entries.lock().unwrap().push(entry.clone());
            Ok(())
        })
    }
}

impl TurnWatcher for Seen {
    fn event(&self, event: &TurnEvent<'_>) {
        let mut line = serde_json::to_value(event).unwrap();
        line["duration_ms"] = 0.into();
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let line = format!("{} {}{}{}", text("type"), text("call_id"), text("text"), text("reason"));
        self.lines.lock().unwrap().push(line.trim().to_owned());
    }
}

struct World {
    runner: Runner,
    host: Arc<FakeHost>,
    model: Arc<Scripted>,
    seen: Arc<Seen>,
    ran: Arc<AtomicUsize>,
    begun: Arc<tokio::sync::Notify>,
    _folder: tempfile::TempDir,
}

fn world(lines: Vec<Line>) -> World {
    let (ran, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
    let registry = Registry::new();
    let (counter, notice) = (Arc::clone(&ran), Arc::clone(&begun));
    let count = ScriptedTool::new("count").body(move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        notice.notify_one();
        async { Ok(ToolOutput::text("counted")) }
    });
    let fail = ScriptedTool::new("fail").body(|_, _| async { Err(ToolError::new(ErrorKind::ExecutionError, "it broke")) });
    let wait = ScriptedTool::new("wait").body(|_, _| std::future::pending());
    for tool in [count, fail, wait] {
        registry.register(tool.shared(), ToolSource::BuiltIn).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let engine = Engine::builder(Arc::new(registry), call_log(), blobs).build();
    let host = FakeHost::new();
    let session = Session::builder(Arc::clone(&host) as _).id("s").loop_limits(None).build();
    let model =
        Arc::new(Scripted { model: Model::new("acme", Protocol::OpenAi, "m"), lines: Mutex::new(lines.into()), seen: Mutex::default() });
    let seen = Arc::new(Seen::default());
    let mut runner = Runner::new(engine, session, Arc::clone(&model) as _, Arc::clone(&seen) as _);
    runner.watcher = Arc::clone(&seen) as _;
    World { runner, host, model, seen, ran, begun, _folder: folder }
}

impl World {
    async fn turn(&mut self) -> TurnEnd {
        self.runner.turn(Message::user("go"), &CancellationToken::new()).await
    }
    fn kinds(&self) -> Vec<&'static str> {
        self.seen.entries.lock().unwrap().iter().map(LedgerEntry::kind).collect()
    }
    /// What every call of the conversation was answered with, in order.
    fn results(&self) -> Vec<(String, bool)> {
        let blocks = self.runner.messages.iter().flat_map(|message| &message.blocks);
        blocks
            .filter_map(|block| if let Block::Result { id, is_error, .. } = block { Some((id.clone(), *is_error)) } else { None })
            .collect()
    }
}

fn message(entry: LedgerEntry) -> Option<Message> {
    match entry {
        LedgerEntry::User { message } | LedgerEntry::Assistant { message, .. } | LedgerEntry::Results { message } => Some(message),
        _ => None,
    }
}

fn call(id: &str, tool: &str) -> Block {
    Block::Call { id: id.into(), name: tool.into(), arguments: "{}".into(), opaque: None }
}

fn says(text: &str) -> Line {
    Line::Says(vec![Block::text(text)], StopReason::EndTurn)
}

fn calls(calls: Vec<Block>) -> Line {
    Line::Says(calls, StopReason::ToolCalls)
}

#[tokio::test]
async fn a_turn_without_calls_is_one_round() {
    let mut world = world(vec![says("hello")]);
    let end = world.turn().await;
    assert_eq!((end.reason, end.text.as_str(), end.rounds, end.usage, end.error), (EndReason::Done, "hello", 1, usage(10), None));
    assert_eq!(world.kinds(), ["user", "assistant"]);
    assert_eq!(*world.seen.lines.lock().unwrap(), ["turn_start", "text_delta hello", "usage", "turn_end hellodone"]);
}

#[tokio::test]
async fn a_chain_of_twelve_rounds_comes_to_its_end() {
    let mut lines: Vec<Line> = (0..11).map(|round| calls(vec![call(&round.to_string(), "count")])).collect();
    lines.push(says("done"));
    let mut world = world(lines);
    let end = world.turn().await;
    assert_eq!((end.reason, end.rounds, world.ran.load(Ordering::SeqCst)), (EndReason::Done, 12, 11));
    assert_eq!(world.results(), (0..11).map(|round| (round.to_string(), false)).collect::<Vec<_>>());
    let entries = world.seen.entries.lock().unwrap().clone();
    let kept: Vec<Message> = entries.into_iter().filter_map(message).collect();
    assert_eq!(kept, world.runner.messages, "what was kept is what was said");
}

#[tokio::test]
async fn sixty_four_calls_of_which_half_fail_are_all_answered_in_order() {
    let many = (0..64).map(|place| call(&place.to_string(), if place % 2 == 0 { "count" } else { "fail" })).collect();
    let mut world = world(vec![calls(many), says("done")]);
    world.turn().await;
    assert_eq!(world.results(), (0..64).map(|place| (place.to_string(), place % 2 == 1)).collect::<Vec<_>>());
    let Message { role, blocks } = &world.runner.messages[2];
    assert_eq!((*role, blocks.len()), (Role::User, 64), "one message with all results");
    let Block::Result { content, .. } = &blocks[1] else { panic!("a result") };
    let text = r#"{"status":"error","error_type":"execution_error","message":"it broke"}"#.to_owned();
    assert_eq!(*content, [ResultPart::Text { text }]);
}

#[tokio::test]
async fn a_call_runs_while_the_answer_still_arrives() {
    let mut world = world(Vec::new());
    let notice = Arc::clone(&world.begun);
    world.model.lines.lock().unwrap().extend([Line::Waits(vec![call("1", "count")], notice), says("done")]);
    assert_eq!((world.turn().await.reason, world.ran.load(Ordering::SeqCst)), (EndReason::Done, 1));
    assert_eq!(world.kinds(), ["user", "begun", "assistant", "results", "assistant"]);
}

#[tokio::test]
async fn an_answer_that_breaks_off_after_a_call_is_not_run_twice() {
    let mut world = world(vec![
        Line::Breaks(vec![Block::text("I look"), call("1", "count"), Block::text("and")], ProviderErrorKind::Network),
        says("done"),
    ]);
    let end = world.turn().await;
    assert_eq!((end.reason, end.rounds, world.ran.load(Ordering::SeqCst)), (EndReason::Done, 2, 1));
    let second = &world.model.seen.lock().unwrap()[1];
    assert_eq!(second[1], Message::assistant(vec![Block::text("I look"), call("1", "count")]));
    assert_eq!(world.results(), [("1".to_owned(), false)]);
}

#[tokio::test]
async fn an_answer_that_breaks_off_before_a_call_is_asked_for_again_but_not_for_ever() {
    let broken = || Line::Breaks(vec![Block::text("half a sen")], ProviderErrorKind::Network);
    let mut patient = world(vec![broken(), broken(), says("whole")]);
    let end = patient.turn().await;
    assert_eq!((end.reason, end.text.as_str(), end.rounds), (EndReason::Done, "whole", 3));
    assert_eq!(patient.runner.messages, [Message::user("go"), Message::assistant(vec![Block::text("whole")])]);
    let mut hopeless = world((0..4).map(|_| broken()).collect());
    let end = hopeless.turn().await;
    assert_eq!((end.reason, end.rounds, end.error.as_deref()), (EndReason::Failed, 4, Some("the line is dead")));
    let mut refused = world(vec![Line::Breaks(Vec::new(), ProviderErrorKind::Key)]);
    assert_eq!((refused.turn().await.rounds, refused.kinds()), (1, vec!["user"]), "a wrong key is not tried again");
}

#[tokio::test]
async fn every_call_is_answered_when_the_user_stops_the_turn() {
    let mut world = world(vec![Line::Waits(vec![call("1", "wait"), call("2", "count")], Arc::default())]);
    let cancel = CancellationToken::new();
    let (notice, stop) = (Arc::clone(&world.begun), cancel.clone());
    let stopping = async move {
        notice.notified().await;
        stop.cancel();
    };
    let (end, ()) = tokio::join!(world.runner.turn(Message::user("go"), &cancel), stopping);
    assert_eq!((end.reason, end.error), (EndReason::Cancelled, None));
    assert_eq!(world.results(), [("1".to_owned(), true), ("2".to_owned(), false)]);
    assert_eq!(world.kinds(), ["user", "begun", "begun", "assistant", "results"]);
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_is_not_made() {
    let mut world = world(vec![calls(vec![call("1", "count")])]);
    *world.seen.fail_on.lock().unwrap() = Some("begun");
    let end = world.turn().await;
    assert_eq!((end.reason, world.ran.load(Ordering::SeqCst)), (EndReason::Failed, 0));
    assert_eq!(end.error.as_deref(), Some("The turn stops, because the conversation could not be stored: the disk is full"));
}

#[tokio::test]
async fn user_messages_during_a_turn_are_delivered_with_the_results() {
    let mut world = world(vec![calls(vec![call("1", "count")]), says("done")]);
    world.runner.steering.say("hurry");
    world.turn().await;
    let second = &world.model.seen.lock().unwrap()[1];
    assert_eq!(second[2].blocks.last(), Some(&Block::text("hurry")));
    assert!(second[2].blocks[0].result_id().is_some(), "results come first");
}

/// A job of a session that has ended.
fn ended(session: &str, id: &str, code: i32) -> JobStatus {
    let end = JobEnd { code: Some(code), ..JobEnd::unknown(UNIX_EPOCH) };
    JobStatus {
        id: id.into(),
        session: session.into(),
        command: "make\nall".into(),
        directory: "/w".into(),
        host: ExecHost::Sandbox,
        sandbox: "bubblewrap".into(),
        pid: None,
        started: UNIX_EPOCH,
        end: Some(end),
        bytes: 0,
        kept_from: 0,
    }
}

#[tokio::test]
async fn the_model_is_told_once_of_each_background_job_that_ended() {
    let mut world = world(vec![calls(vec![call("c1", "count")]), says("done"), says("yes")]);
    world.host.processes.notice(ended("s", "job-1", 0));
    world.host.processes.notice(ended("other", "job-2", 0));
    assert_eq!(world.turn().await.rounds, 2);
    world.host.processes.notice(ended("s", "job-3", 2));
    assert_eq!(world.turn().await.rounds, 1);
    let texts = |message: &Message| -> Vec<String> {
        message.blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.clone()) } else { None }).collect()
    };
    let notice =
        |id: &str, code: i32| format!("[job '{id}' (make\\nall) has ended: exit code {code}; process with action=poll shows its output]");
    let said: Vec<Vec<String>> = world.runner.messages.iter().filter(|message| message.role == Role::User).map(texts).collect();
    assert_eq!(said, [vec!["go".to_owned(), notice("job-1", 0)], vec![], vec!["go".to_owned(), notice("job-3", 2)]]);
}

#[tokio::test]
async fn user_messages_during_the_last_answer_are_answered_too() {
    let mut world = world(vec![says("done"), says("done again")]);
    world.runner.steering.say("and then?");
    let end = world.turn().await;
    assert_eq!((end.reason, end.rounds, end.text.as_str()), (EndReason::Done, 2, "done again"));
    assert_eq!(world.model.seen.lock().unwrap()[1].last(), Some(&Message::user("and then?")));
}

#[tokio::test]
async fn a_message_that_is_taken_back_in_time_is_not_sent() {
    let mut world = world(vec![says("done")]);
    world.runner.steering.say("one");
    world.runner.steering.say("two");
    assert_eq!([world.runner.steering.take_back(), world.runner.steering.take_back()], [Some("two".into()), Some("one".into())]);
    assert_eq!((world.turn().await.rounds, world.runner.steering.take_back()), (1, None));
}

#[tokio::test]
async fn other_ends_have_their_names() {
    for (line, reason) in [
        (Line::Says(vec![Block::text("cut")], StopReason::MaxTokens), EndReason::MaxTokens),
        (Line::Says(Vec::new(), StopReason::Refused), EndReason::Refused),
        (Line::Says(Vec::new(), StopReason::EndTurn), EndReason::Done),
    ] {
        assert_eq!(world(vec![line]).turn().await.reason, reason);
    }
    let mut rounds = world(vec![calls(vec![call("1", "count")]), calls(vec![call("2", "count")])]);
    rounds.runner.max_rounds = Some(2);
    assert_eq!(rounds.turn().await.reason, EndReason::MaxRounds);
    let mut paused = world(vec![Line::Says(vec![Block::text("wait")], StopReason::Paused), says("done")]);
    assert_eq!((paused.turn().await.rounds, paused.ran.load(Ordering::SeqCst)), (2, 0));
}

#[tokio::test]
async fn after_a_turn_that_failed_the_next_request_is_well_formed() {
    let mut world = world(vec![Line::Breaks(Vec::new(), ProviderErrorKind::Key), says("hello")]);
    assert_eq!(world.turn().await.reason, EndReason::Failed);
    assert_eq!(world.turn().await.reason, EndReason::Done);
    let sent = world.model.seen.lock().unwrap()[1].clone();
    assert_eq!(haft_provider::transcript::validate(&sent), []);
    assert_eq!(sent.len(), 1, "both messages of the user are one: {sent:?}");
}
