//! What models cost beside their own time: reading their answers, the loop around them, and keeping what was said. Every row
//! beside a reference measured in the same run, because machines are noisy.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;
#[path = "models/sessions.rs"]
mod sessions;
#[path = "models/streams.rs"]
mod streams;
#[path = "models/sub_agents.rs"]
mod sub_agents;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::store::FileBlobs;
use haft::{BoxFuture, Engine, Registry, Session, ToolCall, ToolSource};
use haft_agent::{Ledger, NullLedger, Provider, Runner, StoredSession};
use haft_provider::{Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, Protocol, ProviderError, StopReason, Usage};
use haft_testkit::FakeHost;
use tokio_util::sync::CancellationToken;

use crate::measure::{ROUNDS, head, middle, row, time};
use crate::sessions::{Bare, Stored, read_rows};

/// `cargo bench --bench models -- loop` runs the parts whose name holds `loop`.
fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let runs = |part: &str| part.contains(&wanted);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    head();
    runtime.block_on(async {
        if runs("streams") {
            reading_streams().await;
        }
        for (part, rounds) in [("short loop", 10), ("loop", 100), ("long loop", 1_000)] {
            if runs(part) {
                Box::pin(one_round(rounds)).await;
            }
        }
        if runs("durable loop") {
            Box::pin(durable_round()).await;
        }
        if runs("open") {
            opening().await;
        }
        if runs("append") {
            appending().await;
        }
        if runs("memory") {
            memory().await;
        }
        if runs("sub-agents") {
            Box::pin(sub_agents::hundred()).await;
            Box::pin(sub_agents::idle()).await;
        }
    });
}

/// Of every stream.
const MEGABYTES: u32 = 10;

/// More is better here, so the ratio is ours to the reference.
fn speed(what: &str, ours: Duration, reference: Duration, beside: &str) {
    let rate = |time: Duration| f64::from(MEGABYTES) / time.as_secs_f64();
    let ratio = rate(ours) / rate(reference);
    println!("{what:<46} {:>7.0} MB/s {:>7.0} MB/s {ratio:>7.2}x  {beside}", rate(ours), rate(reference));
}

async fn reading_streams() {
    for protocol in [Protocol::OpenAi, Protocol::OpenAiResponses, Protocol::Anthropic, Protocol::Gemini] {
        let stream = streams::stream(protocol, MEGABYTES as usize * 1_000_000);
        let (mut ours, mut alone, mut again, mut with_serde) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut said = 0;
            with_serde.push(timed(async { streams::reference(&stream, |data| said += streams::typed(protocol, data)).await }).await);
            let mut decoded = 0;
            ours.push(time(1, || decoded = black_box(streams::decode(protocol, &stream))));
            assert_eq!(decoded, said, "both read the same");
            alone.push(timed(streams::reference(&stream, ignored)).await);
            again.push(timed(streams::reference(&stream, ignored)).await);
        }
        let (ours, alone) = (middle(ours), middle(alone));
        if protocol == Protocol::OpenAi {
            speed("reference against itself (A/A)", middle(again), alone, "the same code");
        }
        speed(&format!("read 10 MB of {protocol}"), ours, alone, "eventsource-stream alone, no JSON");
        speed("  the same", ours, middle(with_serde), "eventsource-stream and serde_json, text only");
    }
}

fn ignored(data: &str) {
    black_box(data.len());
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

/// A model that asks for `noop` so often, at once, and is done then.
struct Instantly {
    model: Model,
    rounds: usize,
}

impl Instantly {
    fn new(rounds: usize) -> Arc<Self> {
        Arc::new(Self { model: Model::new("here", Protocol::Anthropic, "m"), rounds })
    }
}

impl Provider for Instantly {
    fn model(&self) -> &Model {
        &self.model
    }
    fn answer<'a>(
        &'a self,
        turn: ModelTurn<'a>,
        _: &'a CancellationToken,
        each: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(async move {
            let round = turn.messages.len() / 2;
            if round >= self.rounds {
                return Ok(Completion::new(ModelReply::new(vec![Block::text("done")], StopReason::EndTurn, Usage::default())));
            }
            let call = noop(round);
            each(Delta::CallReady { index: 0, call: call.clone() });
            Ok(Completion::new(ModelReply::new(vec![call], StopReason::ToolCalls, Usage::default())))
        })
    }
}

fn noop(round: usize) -> Block {
    Block::Call { id: format!("call_{round}"), name: "noop".into(), arguments: "{}".into(), opaque: None }
}

/// An engine with `noop` alone, and history on disk.
struct World {
    engine: Engine,
    session: Session,
    stored: Stored,
}

fn world() -> World {
    let registry = Registry::new();
    let tool = haft::builtin::all().into_iter().find(|tool| tool.definition().name == "noop").expect("noop is there");
    registry.register(tool, ToolSource::BuiltIn).expect("it registers");
    let stored = Stored::new();
    let blobs = Arc::new(FileBlobs::open(stored.folder()).expect("a blob folder"));
    let engine = Engine::builder(Arc::new(registry), Arc::clone(&stored.log) as _, blobs).build();
    // The loop guard would, rightly, stop a model that makes the same call a thousand times.
    let session = Session::builder(FakeHost::new() as _).loop_limits(None).build();
    World { engine, session, stored }
}

/// One turn of so many rounds, and the time for each.
async fn turn(world: &World, ledger: Arc<dyn Ledger>, rounds: u32) -> Duration {
    let model = Instantly::new(rounds as usize);
    let mut runner = Runner::new(world.engine.clone(), world.session.clone(), model, ledger);
    let started = Instant::now();
    let end = runner.turn(Message::user("go"), &CancellationToken::new()).await;
    let elapsed = started.elapsed();
    assert_eq!((end.error, end.rounds), (None, rounds + 1));
    world.stored.settle().await;
    elapsed / rounds
}

/// The loop's own time is what a round takes beyond its call.
async fn one_round(rounds: u32) {
    let world = world();
    let (mut ours, mut reference, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let calls = || async {
        for round in 0..1_000 {
            let call = ToolCall::new(format!("call_{round}"), "noop", "{}");
            black_box(world.engine.run(call, &world.session).await.to_json());
        }
    };
    for _ in 0..ROUNDS {
        reference.push(timed(Box::pin(calls())).await / 1_000);
        world.stored.settle().await;
        let turns = 1_000 / rounds;
        let mut total = Duration::ZERO;
        for _ in 0..turns {
            total += turn(&world, Arc::new(NullLedger), rounds).await;
        }
        ours.push(total / turns);
        again.push(timed(Box::pin(calls())).await / 1_000);
        world.stored.settle().await;
    }
    let reference = middle(reference);
    if rounds == 10 {
        row("engine against itself (A/A)", middle(again), reference, "the same code");
    }
    row(&format!("one round of {rounds}, nothing kept"), middle(ours), reference, "its call alone; budget 10 µs");
}

async fn durable_round() {
    let world = world();
    let stored = &world.stored;
    let group = [sessions::message(&haft_agent::LedgerEntry::Begun { call: noop(1) })];
    let mut bare = Bare::new(stored.folder());
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reference.push(time(300, || bare.append(&group)));
        let record = stored.session().await;
        let (ledger, _) = StoredSession::open(Arc::clone(&stored.sessions), &*stored.log, record).await.expect("an open session");
        ours.push(turn(&world, Arc::new(ledger), 100).await);
    }
    row("one round, each of its three entries durable", middle(ours), middle(reference) * 3, "three bare inserts, WAL and FULL");
}

async fn opening() {
    let stored = Stored::new();
    let record = stored.filled(10_000).await;
    let file = stored.file();
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reference.push(time(1, || _ = black_box(read_rows(&file, &record.id))));
        let opened = async {
            let (session, resumed) =
                StoredSession::open(Arc::clone(&stored.sessions), &*stored.log, record.clone()).await.expect("an open session");
            assert_eq!((resumed.messages.len(), resumed.flaws.len()), (10_000, 0));
            black_box(&session);
        };
        ours.push(timed(opened).await);
    }
    row("open a session of 10,000 messages", middle(ours), middle(reference), "its rows from SQLite as text; budget 50 ms");
}

async fn appending() {
    let stored = Stored::new();
    let record = stored.session().await;
    let mut bare = Bare::new(stored.folder());
    let entry = haft_agent::LedgerEntry::User { message: Message::user("Fix the bug in src/main.rs.") };
    for (what, size, times) in [("append one message", 1, 400_u32), ("append 100 messages together", 100, 40)] {
        let group = vec![sessions::message(&entry); size];
        let (mut ours, mut reference, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            reference.push(time(times, || bare.append(&group)));
            // They are given away; copying them is not what is measured.
            let groups = vec![group.clone(); times as usize];
            let appends = async {
                for group in groups {
                    stored.sessions.append(&record.id, None, group).await.expect("they are kept");
                }
            };
            ours.push(timed(appends).await / times);
            again.push(time(times, || bare.append(&group)));
        }
        let reference = middle(reference);
        if size == 1 {
            row("insert against itself (A/A)", middle(again), reference, "the same code");
        }
        row(what, middle(ours), reference, "bare SQLite, WAL and FULL; budget 1.11x");
    }
}

/// What turns of a thousand rounds leave behind once their conversation is gone.
async fn memory() {
    let world = world();
    turn(&world, Arc::new(NullLedger), 1_000).await;
    let before = resident();
    for _ in 0..10 {
        turn(&world, Arc::new(NullLedger), 1_000).await;
    }
    let grown = resident().saturating_sub(before);
    println!("{:<46} {grown:>9} KB {:>12} {:>8}  must stay flat", "memory that ten turns of 1,000 rounds take", "-", "-");
}

/// Kilobytes of memory in use, where the system tells.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
