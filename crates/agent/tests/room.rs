//! Long conversations: results are cut to the window, old ones give way, and what is still too long is summed up.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use haft_agent::{Answer, EndReason, Entry, Ledger, Provider, Runner, TurnEnd, TurnEvent, Watcher};
use haft_contract::{BoxFuture, Source, ToolOutput};
use haft_engine::{Engine, Registry, Session};
use haft_provider::transcript::validate;
use haft_provider::{Block, Delta, Message, Model, Piece, Protocol, ProviderError, Reply, StopReason, Trouble, Turn, Usage};
use haft_store::{FileBlobs, InMemoryCallLog};
use haft_testkit::{FakeHost, ScriptedTool};
use tokio_util::sync::CancellationToken;

/// What the model answers, and how many tokens it says that it read.
type Line = Result<(Vec<Block>, u64), Trouble>;

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
        turn: Turn<'a>,
        _: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Answer, ProviderError>> {
        self.seen.lock().unwrap().push(turn.messages.to_vec());
        let line = self.lines.lock().unwrap().pop_front().expect("a line for every request");
        Box::pin(async move {
            let (blocks, input) = line.map_err(|trouble| ProviderError::new(trouble, "no"))?;
            for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.call_id().is_some()) {
                each(Delta::CallReady { index, call: block.clone() });
            }
            let mut usage = Usage::default();
            usage.input = input;
            Ok(Answer::new(Reply::new(blocks, StopReason::EndTurn, usage)))
        })
    }
}

#[derive(Default)]
struct Seen {
    entries: Mutex<Vec<Entry>>,
    notices: Mutex<Vec<String>>,
}

impl Ledger for Seen {
    fn keep<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), String>> {
        self.entries.lock().unwrap().push(entry.clone());
        Box::pin(async { Ok(()) })
    }
}

impl Watcher for Seen {
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

/// A model with a window of so many tokens, and a tool that says so many letters.
fn world(window: u64, letters: usize, lines: Vec<Line>) -> World {
    let registry = Registry::new();
    let talk = ScriptedTool::new("talk").body(move |_, _| async move { Ok(ToolOutput::text("x".repeat(letters))) });
    registry.register(talk.shared(), Source::BuiltIn).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
    let engine = Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), blobs).build();
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
fn says(text: &str) -> Line {
    Ok((vec![Block::text(text)], 0))
}

/// A conversation of so many rounds, each with a result of so many letters.
fn conversation(rounds: usize, letters: usize) -> Vec<Message> {
    let content = vec![Piece::Text { text: "y".repeat(letters) }];
    let result = |id: usize| Block::Result { id: id.to_string(), name: "talk".into(), content: content.clone(), is_error: false };
    let round = |id: usize| [Message::assistant(vec![call(id)]), Message::results(vec![result(id)])];
    let rounds = (1000..1000 + rounds).flat_map(round);
    std::iter::once(Message::user("begin")).chain(rounds).chain([Message::assistant(vec![Block::text("so far")])]).collect()
}

fn text(message: &Message, block: usize) -> String {
    match &message.blocks[block] {
        Block::Text { text, .. } => text.clone(),
        Block::Result { content, .. } => match &content[0] {
            Piece::Text { text } => text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_result_never_fills_the_window_and_all_of_it_can_be_read() {
    let mut world = world(10_000, 50_000, vec![Ok((vec![call(1)], 0)), says("done")]);
    world.turn().await;
    let told = text(&world.sent(1)[2], 0);
    assert!((8_000..8_600).contains(&told.len()), "a fifth of 40 kB: {}", told.len());
    let path = told.split_once("All of it is in '").unwrap().1.split_once('\'').unwrap().0;
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
async fn the_oldest_results_give_way_to_a_line_that_says_where_they_are() {
    let mut world = world(10_000, 0, vec![says("done")]);
    world.runner.messages = conversation(10, 4_000);
    world.turn().await;
    let sent = world.sent(0);
    assert_eq!(validate(&sent), []);
    let stub = text(&sent[2], 0);
    let path = stub.split_once("It is in '").unwrap().1.split_once('\'').unwrap().0;
    assert_eq!(std::fs::read_to_string(path).unwrap(), "y".repeat(4_000));
    assert_eq!(text(&sent[20], 0).len(), 4_000, "the newest stays");
    assert_eq!(world.notices(), ["6 old results are left out of what the model is sent, so that the conversation fits"]);
    assert!(!world.seen.entries.lock().unwrap().iter().any(|entry| matches!(entry, Entry::Summary { .. })), "no summary is needed");
}

#[tokio::test]
async fn what_is_still_too_long_is_summed_up_by_the_model() {
    let mut world = world(2_000, 0, vec![says("they counted to five"), says("done")]);
    let turns =
        (0..40).flat_map(|number| [Message::user(format!("{number} {}", "z".repeat(200))), Message::assistant(vec![Block::text("ok")])]);
    world.runner.messages = turns.collect();
    let before = world.runner.messages.clone();
    assert_eq!(world.turn().await.reason, EndReason::Done);
    let (asked, sent) = (world.sent(0), world.sent(1));
    assert_eq!((validate(&asked), validate(&sent)), (vec![], vec![]));
    assert_eq!(asked[..asked.len() - 1], before[..asked.len() - 1], "the model sums up what it saw, as it saw it");
    assert!(text(&sent[0], 0).ends_with("they counted to five"), "{sent:?}");
    assert!(sent.len() < 20, "{}", sent.len());
    assert_eq!(sent.last(), Some(&Message::user("go")), "what the person wants now is not summed up");
    let entries = world.seen.entries.lock().unwrap().clone();
    let Some(Entry::Summary { message, kept }) = entries.iter().find(|entry| matches!(entry, Entry::Summary { .. })) else {
        panic!("{entries:?}")
    };
    assert_eq!((message, *kept), (&sent[0], sent.len() - 1), "what is kept is what is sent");
}

#[tokio::test]
async fn the_size_that_counts_is_what_the_provider_counts_now_and_not_a_sum() {
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
    assert!(dense.notices().iter().any(|notice| notice.contains("summed up")), "letters that weigh more: {:?}", dense.notices());
}

#[tokio::test]
async fn a_model_that_finds_it_too_long_gets_a_summary_once() {
    let mut patient = world(1_000_000, 0, vec![Err(Trouble::TooLong), says("short"), says("done")]);
    patient.runner.messages = conversation(3, 100);
    assert_eq!(patient.turn().await.reason, EndReason::Done);
    assert!(text(&patient.sent(2)[0], 0).ends_with("short"));
    let mut hopeless = world(1_000_000, 0, vec![Err(Trouble::TooLong), says("short"), Err(Trouble::TooLong)]);
    hopeless.runner.messages = conversation(3, 100);
    assert_eq!(hopeless.turn().await.reason, EndReason::Failed);
}

#[tokio::test]
async fn without_a_summary_the_conversation_goes_on_as_it_is() {
    for line in [Err(Trouble::Server), says("  \n")] {
        let mut world = world(1_000_000, 0, vec![Err(Trouble::TooLong), line]);
        world.runner.messages = conversation(3, 100);
        let before = world.runner.messages.len();
        assert_eq!(world.turn().await.reason, EndReason::Failed);
        assert_eq!(world.runner.messages.len(), before + 1);
        assert!(world.notices().iter().any(|notice| notice.contains("could not be summed up")), "{:?}", world.notices());
    }
}

#[tokio::test]
async fn a_person_can_ask_for_a_summary() {
    let mut world = world(1_000_000, 0, vec![says("they talked")]);
    world.runner.messages = conversation(3, 100);
    assert_eq!(world.runner.compact(&CancellationToken::new()).await, Ok(true));
    assert!(text(&world.runner.messages[0], 0).ends_with("they talked"));
    assert_eq!(validate(&world.runner.messages), []);
    world.runner.messages = vec![Message::user("only this")];
    assert_eq!(world.runner.compact(&CancellationToken::new()).await, Ok(false));
}
