//! How costs grow: with tools, sessions, rules and stored messages. Each row is the cost of one unit beside the same unit of the smallest
//! size in the same run; a flat curve stays within 1.3.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use haft::catalog::Vocabulary;
use haft::{
    Candidate, Connect, Engine, Location, Plan, Policy, PolicySpec, Registry, Session, StandardPolicy, ToolCall, ToolDefinition,
    ToolSource, Zone,
};
use haft_store::{CallLog, FileBlobs, NewMessage, NewSession, SessionStore, SqliteCallLog};
use haft_testkit::{FakeHost, ScriptedTool};

use crate::measure::{ROUNDS, head, median, middle, row, time, time_async};

/// `cargo bench --bench growth -- rules` runs the parts whose name holds `rules`.
fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let runs = |part: &str| part.contains(&wanted);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    head();
    runtime.block_on(async {
        if runs("tools") {
            curve("one call with {} tools registered", &[10, 100, 1_000, 10_000], tools).await;
        }
        if runs("sessions") {
            curve("one call of each of {} sessions at once", &[1, 10, 100, 1_000], sessions).await;
        }
        if runs("rules") {
            curve("a decision with {} rules", &[10, 100, 1_000, 10_000], async |count| rules(count)).await;
        }
        if runs("messages") {
            curve("append to a store of {} messages", &[10_000, 100_000, 1_000_000], messages).await;
        }
    });
}

/// One row for each size, beside the first.
async fn curve(what: &str, sizes: &[usize], cost: impl AsyncFn(usize) -> Duration) {
    let mut smallest = None;
    for size in sizes {
        let ours = cost(*size).await;
        let reference = *smallest.get_or_insert(ours);
        row(&what.replace("{}", &size.to_string()), ours, reference, &format!("the same with {}", sizes[0]));
    }
}

/// An engine with so many tools, and history in a folder that goes with it.
struct World {
    engine: Engine,
    log: Arc<SqliteCallLog>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(tools: usize) -> Self {
        let registry = Registry::new();
        let noop = haft::builtin::all().into_iter().find(|tool| tool.definition().name == "noop").expect("noop is there");
        registry.register(noop, ToolSource::BuiltIn).expect("it registers");
        for number in 1..tools {
            let tool = ScriptedTool::new(format!("mcp__files__tool_{number}")).shared();
            registry.register(tool, ToolSource::Mcp("files".into())).expect("it registers");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let log = Arc::new(SqliteCallLog::open(folder.path()).expect("a database").log);
        let blobs = Arc::new(FileBlobs::open(folder.path()).expect("a blob folder"));
        let engine = Engine::builder(Arc::new(registry), Arc::clone(&log) as Arc<dyn CallLog>, blobs).build();
        Self { engine, log, _folder: folder }
    }

    fn session() -> Session {
        Session::builder(FakeHost::new() as _).loop_limits(None).build()
    }

    async fn call(&self, session: &Session) {
        black_box(self.engine.run(ToolCall::new("1", "noop", "{}"), session).await.to_json());
    }
}

async fn tools(count: usize) -> Duration {
    let (world, session) = (World::new(count), World::session());
    let mut times = Vec::new();
    for _ in 0..ROUNDS * 4 {
        times.push(time_async(500, || world.call(&session)).await);
        world.log.flush().await.expect("history is written");
    }
    middle(times)
}

async fn sessions(count: usize) -> Duration {
    let world = World::new(10);
    let sessions: Vec<Session> = (0..count).map(|_| World::session()).collect();
    let repeat = u32::try_from((1_000 / count).max(1)).expect("small");
    let mut times = Vec::new();
    for _ in 0..ROUNDS * 4 {
        let all = time_async(repeat, || async { drop(join_all(sessions.iter().map(|session| world.call(session))).await) }).await;
        times.push(all / u32::try_from(count).expect("small"));
        world.log.flush().await.expect("history is written");
    }
    middle(times)
}

/// Rules on files, programs and hosts, a third each, of which one speaks of what is decided on.
fn rules(count: usize) -> Duration {
    let mut spec = PolicySpec::default();
    let rule = |number: usize| match number % 3 {
        0 => format!("write(docs/part{number}/**)"),
        1 => format!("exec(program{number} *)"),
        _ => format!("connect(domain:*.host{number}.example)"),
    };
    spec.rules.deny = (0..count / 2).map(|number| rule(number).as_str().into()).collect();
    spec.rules.ask = (count / 2..count).map(|number| rule(number).as_str().into()).collect();
    let definition = ToolDefinition::new("web_fetch", "Does something.", serde_json::json!({"type": "object"}));
    let source = ToolSource::BuiltIn;
    let policy = StandardPolicy::compile(&spec, Vocabulary::default().with([(&definition, &source)])).expect("rules that can be read");
    let candidate = Candidate::new(&definition, &source);
    let name = "docs/part9/page.md";
    let place = Location::new(name.into(), format!("/ws/{name}").into(), name.into(), Zone::Workspace, Arc::new(()));
    let plan = Plan::nothing().write(place).connect(Connect::new("https", "www.elsewhere.example", 443, "GET"));
    let session = World::session();
    median(|| time(5_000, || drop(black_box(policy.decide(black_box(&candidate), Some(&plan), session.caller())))))
}

async fn messages(count: usize) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let log = SqliteCallLog::open(folder.path()).expect("a database").log;
    let store = log.sessions();
    let text = r#"{"kind":"user","message":{"role":"user","blocks":[{"type":"text","text":"Fix the bug in src/main.rs."}]}}"#;
    let message = NewMessage::new("user", text);
    // Sessions of 10,000 messages each, as they come to be.
    for _ in 0..count / 10_000 {
        let session = store.create(NewSession::new("main", folder.path())).await.expect("a session");
        for _ in 0..10 {
            store.append(&session.id, None, vec![message.clone(); 1_000]).await.expect("they are kept");
        }
    }
    let session = store.create(NewSession::new("main", folder.path())).await.expect("a session");
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let append = || async { _ = black_box(store.append(&session.id, None, vec![message.clone(); 100]).await.expect("they are kept")) };
        times.push(time_async(50, append).await / 100);
    }
    middle(times)
}
