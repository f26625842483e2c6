//! Long conversations: results are cut to the window, old ones become stubs, and the rest is summarized if it is still too long.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use haft_agent::{
    EndReason, Ledger, LedgerEntry, MemorySaving, NullWatcher, Provider, Runner, StoredTodos, TurnEnd, TurnEvent, TurnWatcher,
};
use haft_contract::ports::{Services, Todo, TodoStatus, TodoStore};
use haft_contract::{BoxFuture, ToolOutput, ToolSource};
use haft_engine::{Engine, Registry, Session};
use haft_provider::transcript::{size, validate};
use haft_provider::{
    Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, Protocol, ProviderError, ProviderErrorKind, ResultPart, StopReason,
    Usage,
};
use haft_store::FileBlobs;
use haft_testkit::{FakeHost, ScriptedTool};
use tokio_util::sync::CancellationToken;

use self::stores::{call_log, session_store};

/// An answer of the model, and the input tokens that it reports.
type ScriptedAnswer = Result<(Vec<Block>, u64), ProviderErrorKind>;

struct Scripted {
    model: Model,
    lines: Mutex<VecDeque<ScriptedAnswer>>,
    seen: Mutex<Vec<Vec<Message>>>,
}

impl Provider for Scripted {
    fn model(&self) -> &Model {
        &self.model
    }
    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        _: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        self.seen.lock().unwrap().push(turn.messages.to_vec());
        let line = self.lines.lock().unwrap().pop_front().expect("a line for every request");
        Box::pin(async move {
            let (blocks, input) = line.map_err(|trouble| ProviderError::new(trouble, "no"))?;
            for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.call_id().is_some()) {
                each(Delta::CallReady { index, call: block.clone() });
            }
            let mut usage = Usage::default();
            usage.input = input;
            Ok(Completion::new(ModelReply::new(blocks, StopReason::EndTurn, usage)))
        })
    }
}

#[derive(Default)]
struct Seen {
    entries: Mutex<Vec<LedgerEntry>>,
    notices: Mutex<Vec<String>>,
}

impl Ledger for Seen {
    fn keep<'a>(&'a self, entry: &'a LedgerEntry) -> BoxFuture<'a, Result<(), String>> {
        self.entries.lock().unwrap().push(entry.clone());
        Box::pin(async { Ok(()) })
    }
}

impl TurnWatcher for Seen {
    fn event(&self, event: &TurnEvent<'_>) {
        if let TurnEvent::Notice(text) = event {
            self.notices.lock().unwrap().push((*text).to_owned());
        }
    }
}

struct World {
    runner: Runner,
    model: Arc<Scripted>,
    seen: Arc<Seen>,
    _folder: tempfile::TempDir,
}

/// A model with a window of so many tokens, and a tool that says so many characters.
fn world(window: u64, chars: usize, lines: Vec<ScriptedAnswer>) -> World {
    let registry = Registry::new();
    let talk = ScriptedTool::new("talk").body(move |_, _| async move { Ok(ToolOutput::text("x".repeat(chars))) });
    registry.register(talk.shared(), ToolSource::BuiltIn).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let engine = Engine::builder(Arc::new(registry), call_log(), blobs).build();
    let session = Session::builder(FakeHost::new() as _).loop_limits(None).build();
    let mut model = Model::new("acme", Protocol::OpenAi, "m");
    (model.context_window, model.max_output) = (window, 100);
    let model = Arc::new(Scripted { model, lines: Mutex::new(lines.into()), seen: Mutex::default() });
    let seen = Arc::new(Seen::default());
    let mut runner = Runner::new(engine, session, Arc::clone(&model) as _, Arc::clone(&seen) as _);
    runner.watcher = Arc::clone(&seen) as _;
    World { runner, model, seen, _folder: folder }
}

impl World {
    async fn turn(&mut self) -> TurnEnd {
        self.runner.turn(Message::user("go"), &CancellationToken::new()).await
    }
    fn sent(&self, request: usize) -> Vec<Message> {
        self.model.seen.lock().unwrap()[request].clone()
    }
    fn notices(&self) -> Vec<String> {
        self.seen.notices.lock().unwrap().clone()
    }
}

fn call(id: usize) -> Block {
    Block::Call { id: id.to_string(), name: "talk".into(), arguments: "{}".into(), opaque: None }
}

#[allow(clippy::unnecessary_wraps, reason = "one of the kinds of lines")]
fn says(text: &str) -> ScriptedAnswer {
    Ok((vec![Block::text(text)], 0))
}

/// A conversation of so many rounds, each with a result of so many characters.
fn conversation(rounds: usize, chars: usize) -> Vec<Message> {
    let content = vec![ResultPart::Text { text: "y".repeat(chars) }];
    let result = |id: usize| Block::Result { id: id.to_string(), name: "talk".into(), content: content.clone(), is_error: false };
    let round = |id: usize| [Message::assistant(vec![call(id)]), Message::results(vec![result(id)])];
    let rounds = (1000..1000 + rounds).flat_map(round);
    std::iter::once(Message::user("begin")).chain(rounds).chain([Message::assistant(vec![Block::text("so far")])]).collect()
}

fn text(message: &Message, block: usize) -> String {
    match &message.blocks[block] {
        Block::Text { text, .. } => text.clone(),
        Block::Result { content, .. } => match &content[0] {
            ResultPart::Text { text } => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_result_never_fills_the_window_and_all_of_it_can_be_read() {
    let mut world = world(10_000, 50_000, vec![Ok((vec![call(1)], 0)), says("done")]);
    world.turn().await;
    let result = text(&world.sent(1)[2], 0);
    assert!((8_000..8_600).contains(&result.len()), "a fifth of 40 kB: {}", result.len());
    let path = result.split_once("All of it is in '").unwrap().1.split_once('\'').unwrap().0;
    assert_eq!(std::fs::read_to_string(path).unwrap(), "x".repeat(50_000));
}

#[tokio::test]
async fn many_results_share_half_of_the_window() {
    let calls = (0..20).map(call).collect();
    let mut world = world(10_000, 6_000, vec![Ok((calls, 0)), says("done")]);
    world.turn().await;
    let sent = world.sent(1);
    assert_eq!((sent[2].blocks.len(), validate(&sent)), (20, vec![]));
    let bytes: usize = (0..20).map(|block| text(&sent[2], block).len()).sum();
    assert!((20_000..30_000).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn the_oldest_results_become_stubs_that_name_their_spill() {
    let mut world = world(10_000, 0, vec![says("done")]);
    world.runner.messages = conversation(10, 4_000);
    world.turn().await;
    let sent = world.sent(0);
    assert_eq!(validate(&sent), []);
    let stub = text(&sent[2], 0);
    let path = stub.split_once("It is in '").unwrap().1.split_once('\'').unwrap().0;
    assert_eq!(std::fs::read_to_string(path).unwrap(), "y".repeat(4_000));
    assert_eq!(text(&sent[20], 0).len(), 4_000, "the newest stays");
    assert_eq!(world.notices(), ["6 old results are left out of the request, so that the conversation fits"]);
    assert!(!world.seen.entries.lock().unwrap().iter().any(|entry| matches!(entry, LedgerEntry::Summary { .. })), "no summary is needed");
}

#[tokio::test]
async fn a_conversation_that_is_still_too_long_is_summarized_by_the_model() {
    let mut world = world(2_000, 0, vec![says("they counted to five"), says("done")]);
    let turns =
        (0..40).flat_map(|number| [Message::user(format!("{number} {}", "z".repeat(200))), Message::assistant(vec![Block::text("ok")])]);
    world.runner.messages = turns.collect();
    let before = world.runner.messages.clone();
    assert_eq!(world.turn().await.reason, EndReason::Done);
    let (asked, sent) = (world.sent(0), world.sent(1));
    assert_eq!((validate(&asked), validate(&sent)), (vec![], vec![]));
    assert_eq!(asked[..asked.len() - 1], before[..asked.len() - 1], "the summarized messages are unchanged");
    assert!(text(&sent[0], 0).ends_with("they counted to five"), "{sent:?}");
    assert!(sent.len() < 20, "{}", sent.len());
    assert_eq!(sent.last(), Some(&Message::user("go")), "the new request is not summarized");
    let entries = world.seen.entries.lock().unwrap().clone();
    let Some(LedgerEntry::Summary { message, kept }) = entries.iter().find(|entry| matches!(entry, LedgerEntry::Summary { .. })) else {
        panic!("{entries:?}")
    };
    assert_eq!((message, *kept), (&sent[0], sent.len() - 1), "what is kept is what is sent");
}

#[tokio::test]
async fn the_context_size_follows_the_count_of_the_provider_and_is_no_sum() {
    let lines = (0..12).map(|id| Ok((vec![call(id)], 900))).chain([says("done")]).collect();
    let mut small = world(2_000, 10, lines);
    assert_eq!(
        (small.turn().await.rounds, small.notices()),
        (13, Vec::<String>::new()),
        "12 x 900 is more than the window, but was never sent at once"
    );
    let mut dense = world(1_000, 1_000, vec![Ok((vec![call(1)], 1_200)), says("it was long"), says("done")]);
    dense.runner.messages = conversation(2, 100);
    dense.turn().await;
    assert!(dense.notices().iter().any(|notice| notice.contains("summarized")), "more tokens for each character: {:?}", dense.notices());
}

#[tokio::test]
async fn a_model_that_finds_it_too_long_gets_a_summary_once() {
    let mut patient = world(1_000_000, 0, vec![Err(ProviderErrorKind::TooLong), says("short"), says("done")]);
    patient.runner.messages = conversation(3, 100);
    assert_eq!(patient.turn().await.reason, EndReason::Done);
    assert!(text(&patient.sent(2)[0], 0).ends_with("short"));
    let mut hopeless = world(1_000_000, 0, vec![Err(ProviderErrorKind::TooLong), says("short"), Err(ProviderErrorKind::TooLong)]);
    hopeless.runner.messages = conversation(3, 100);
    assert_eq!(hopeless.turn().await.reason, EndReason::Failed);
}

#[tokio::test]
async fn last_messages_are_shortened_where_a_summary_is_not_enough() {
    let refusals = [Err(ProviderErrorKind::TooLong), says("short"), Err(ProviderErrorKind::TooLong), Err(ProviderErrorKind::TooLong)];
    let mut world = world(1_000_000, 0, refusals.into_iter().chain([says("done")]).collect());
    world.runner.messages = conversation(3, 100);
    let sizes =
        |world: &World| world.model.seen.lock().unwrap().iter().map(|sent| sent.iter().map(size).sum::<usize>()).collect::<Vec<_>>();
    let end = world.runner.turn(Message::user("y".repeat(80_000)), &CancellationToken::new()).await;
    let sizes = sizes(&world);
    assert_eq!((end.reason, sizes.len()), (EndReason::Done, 5), "{:?}", world.notices());
    assert!(sizes[3] * 2 <= sizes[2] + 200 && sizes[4] * 2 <= sizes[3] + 200, "{sizes:?}");
}

/// A conversation with a larger model, continued with this one.
fn long_conversation(turns: usize, chars: usize) -> Vec<Message> {
    let turn = |number: usize| [Message::user(format!("{number} {}", "z".repeat(chars))), Message::assistant(vec![Block::text("ok")])];
    (0..turns).flat_map(turn).collect()
}

#[tokio::test]
async fn session_larger_than_the_window_is_summarized_in_parts() {
    let lines = (0..30).map(|number| says(&format!("summary {number}"))).collect();
    let mut world = world(2_000, 0, lines);
    // About 20,000 tokens: ten windows.
    world.runner.messages = long_conversation(100, 800);
    assert_eq!(world.turn().await.reason, EndReason::Done);
    let requests = world.model.seen.lock().unwrap().clone();
    assert!(requests.len() > 10, "{}", requests.len());
    for request in &requests {
        assert!(request.iter().map(size).sum::<usize>() <= 1_900, "every request fits the window");
        assert_eq!(validate(request), []);
    }
    assert!(text(&requests[1][0], 0).contains("summary 0"), "each part begins with the summary of those before: {:?}", requests[1][0]);
    assert!(text(&requests.last().unwrap()[0], 0).contains(&format!("summary {}", requests.len() - 2)));
    let in_parts = "the conversation is larger than the window of the model: it is summarized in parts";
    assert!(world.notices().iter().any(|notice| notice == in_parts), "{:?}", world.notices());
}

#[tokio::test]
async fn message_larger_than_the_window_is_shortened_and_kept_whole_in_the_ledger() {
    let mut world = world(2_000, 0, vec![says("a summary"), says("done")]);
    world.runner.messages = vec![Message::user("y".repeat(80_000)), Message::assistant(vec![Block::text("ok")])];
    assert_eq!(world.turn().await.reason, EndReason::Done);
    for request in world.model.seen.lock().unwrap().iter() {
        assert!(request.iter().map(size).sum::<usize>() <= 1_900);
    }
    let mut lone = self::world(2_000, 0, vec![says("done")]);
    assert_eq!(lone.runner.turn(Message::user("y".repeat(80_000)), &CancellationToken::new()).await.reason, EndReason::Done);
    assert!(text(&lone.sent(0)[0], 0).ends_with(" bytes were left out to save space]"));
    let entries = lone.seen.entries.lock().unwrap().clone();
    assert!(matches!(&entries[0], LedgerEntry::User { message } if *message == Message::user("y".repeat(80_000))));
    assert_eq!(lone.notices(), ["1 long message is shortened in the request, so that the conversation fits"]);
}

#[tokio::test]
async fn messages_that_no_part_is_small_enough_for_are_dropped_and_named() {
    let lines = std::iter::repeat_with(|| Err(ProviderErrorKind::TooLong)).take(3).chain([says("done")]).collect();
    let mut world = world(2_000, 0, lines);
    world.runner.messages = long_conversation(40, 200);
    assert_eq!(world.turn().await.reason, EndReason::Done);
    let first = text(&world.sent(3)[0], 0);
    assert!(first.contains("messages were dropped without a summary") && first.contains("- 25 zzz"), "{first}");
    assert!(world.notices().iter().any(|notice| notice.ends_with("old messages are dropped: they could not be summarized")));
}

#[tokio::test]
async fn without_a_summary_the_conversation_stays_as_it_is() {
    for line in [Err(ProviderErrorKind::Server), says("  \n")] {
        let mut world = world(1_000_000, 0, vec![Err(ProviderErrorKind::TooLong), line]);
        world.runner.messages = conversation(3, 100);
        let before = world.runner.messages.len();
        assert_eq!(world.turn().await.reason, EndReason::Failed);
        assert_eq!(world.runner.messages.len(), before + 1);
        assert!(world.notices().iter().any(|notice| notice.contains("could not be summarized")), "{:?}", world.notices());
    }
}

#[tokio::test]
async fn a_summary_ends_with_the_todo_list() {
    let (host, mut services) = (FakeHost::new(), Services::default());
    let todos = Arc::new(StoredTodos::new(session_store(), Arc::new(NullWatcher)));
    services.todos = Some(Arc::clone(&todos) as _);
    assert!(host.services.set(services).is_ok());
    let mut world = world(1_000_000, 0, vec![says("they talked"), says("and again")]);
    world.runner.session = Session::builder(host as _).id("s").build();
    let todo = |content: &str, status| Todo { content: content.into(), active_form: None, status, id: None };
    let list = [todo("a", TodoStatus::Completed), todo("b", TodoStatus::InProgress), todo("c", TodoStatus::Pending)];
    todos.replace("s", "c1", &list).await.unwrap();
    world.runner.messages = conversation(3, 100);
    assert_eq!(world.runner.compact(&CancellationToken::new()).await, Ok(true));
    let summary = text(&world.runner.messages[0], 0);
    assert!(summary.ends_with("they talked\n\n[The to-do list at this point]\n[x] a\n[in progress] b\n[ ] c"), "{summary}");
}

#[tokio::test]
async fn compact_summarizes_on_request() {
    let mut world = world(1_000_000, 0, vec![says("they talked")]);
    world.runner.messages = conversation(3, 100);
    assert_eq!(world.runner.compact(&CancellationToken::new()).await, Ok(true));
    assert!(text(&world.runner.messages[0], 0).ends_with("they talked"));
    assert_eq!(validate(&world.runner.messages), []);
    world.runner.messages = vec![Message::user("only this")];
    assert_eq!(world.runner.compact(&CancellationToken::new()).await, Ok(false));
}

#[tokio::test]
async fn a_model_saves_to_memory_before_messages_are_summarized() {
    let other = Block::Call { id: "9".into(), name: "other".into(), arguments: "{}".into(), opaque: None };
    let answers = vec![Ok((vec![call(1), other], 0)), says("nothing more"), says("SUMMARY"), says("done")];
    let mut world = world(2_000, 10, answers);
    world.runner.memory_saving = Some(MemorySaving { instruction: "Save what must last.".into(), tools: vec!["talk".into()] });
    let turns =
        (0..40).flat_map(|number| [Message::user(format!("{number} {}", "z".repeat(200))), Message::assistant(vec![Block::text("ok")])]);
    world.runner.messages = turns.collect();
    assert_eq!(world.turn().await.reason, EndReason::Done);
    let (asked, again, summary, last) = (world.sent(0), world.sent(1), world.sent(2), world.sent(3));
    assert_eq!(asked.last().and_then(|message| message.blocks.last()), Some(&Block::text("Save what must last.")));
    let results: Vec<String> = (0..2).map(|block| text(again.last().unwrap(), block)).collect();
    assert!(
        results[0].contains("success") && results[1].contains("Only these tools can be called while you save to memory"),
        "{results:?}"
    );
    assert_eq!((validate(&again), validate(&summary), validate(&last)), (vec![], vec![], vec![]));
    assert!(!format!("{last:?}").contains("Save what must last"), "the turn is no part of the conversation");
    assert!(world.notices().iter().any(|notice| notice.starts_with("memory: nothing was saved before the conversation is summarized")));
    let kinds: Vec<bool> = world.seen.entries.lock().unwrap().iter().map(|entry| matches!(entry, LedgerEntry::Begun { .. })).collect();
    assert!(!kinds.contains(&true), "its calls are in the history, not in the transcript");
}
