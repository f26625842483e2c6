//! What the spine costs: every row beside a reference measured in the same run, because machines are noisy.
//!
//! `cargo bench` prints medians of five rounds and the ratio. Nothing here fails a test run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;

use std::hint::black_box;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use haft::host::{LocalFiles, LocalHost, LocalProcesses, WorkspaceOptions};
use haft::store::{CallLog, FileBlobs, SqliteCallLog};
use haft::{Access, Engine, Erased, Registry, Session, ToolCall, ToolDefinition, ToolError, ToolOutput, ToolResult, ToolSource};
use serde_json::{Value, json};

use crate::measure::{ROUNDS, head, median, middle, row, time, time_async};

/// `cargo bench -- call read` runs the parts whose name holds `call` or `read`.
fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runs = |part: &str| wanted.is_empty() || wanted.iter().any(|word| part.contains(word.as_str()));
    head();
    if runs("registration") {
        registration();
    }
    if runs("serialisation") {
        serialisation();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let bench = Bench::new();
    runtime.block_on(async {
        if runs("one call") {
            message_between_processors();
            one_call(&bench).await;
        }
        if runs("parallel calls") {
            parallel_calls(&bench).await;
        }
        if runs("small read") {
            small_read(&bench).await;
        }
        if runs("huge read") {
            page_in_a_gigabyte(&bench).await;
        }
    });
}

struct Bench {
    engine: Engine,
    session: Session,
    log: Arc<SqliteCallLog>,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let tools = registry();
        tools.register(Arc::new(Erased::new(Ping)), ToolSource::BuiltIn).expect("it registers");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (state, workspace) = (folder.path().join("state"), folder.path().join("workspace"));
        std::fs::create_dir_all(&workspace).expect("a workspace");
        let log = Arc::new(SqliteCallLog::open(&state).expect("a database").log);
        let blobs = FileBlobs::open(&state).expect("a blob folder");
        let engine = Engine::builder(Arc::new(tools), Arc::clone(&log) as Arc<dyn CallLog>, Arc::new(blobs)).build();
        let files = LocalFiles::open(WorkspaceOptions { root: workspace, ..WorkspaceOptions::default() }).expect("an open workspace");
        let host = LocalHost::new(Arc::new(files), Arc::default(), Arc::<LocalProcesses>::default(), state.join("alerts.log"));
        // The loop guard would, rightly, stop a program that makes the same call a million times.
        let session = Session::builder(Arc::new(host)).access(Access::FullAccess).loop_limits(None).build();
        Self { engine, session, log, folder }
    }
    /// Waits until history is on disk, outside of what is measured.
    async fn settle(&self) {
        self.log.flush().await.expect("history is written");
    }
    fn workspace(&self) -> std::path::PathBuf {
        self.folder.path().join("workspace")
    }
}

fn registry() -> Registry {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).expect("every tool registers");
    }
    registry
}

fn registration() {
    let ours = median(|| time(20, || drop(black_box(registry()))));
    let schemas: Vec<Value> = haft::builtin::all().iter().map(|tool| Value::clone(&tool.definition().parameters)).collect();
    let reference = median(|| {
        time(20, || {
            for schema in &schemas {
                black_box(jsonschema::validator_for(schema).expect("a valid schema"));
            }
        })
    });
    row(&format!("register all {} tools", schemas.len()), ours, reference, "compiling their schemas");
}

/// How long a line of the cache takes from one processor to the other. A virtual machine may be moved between cores that share a cache and
/// cores that do not: the record of each call goes to the thread that writes history, so calls cost more then.
fn message_between_processors() {
    const MESSAGES: u32 = 20_000;
    let line = AtomicU32::new(0);
    let pass = |mine: u32| {
        for message in (mine..MESSAGES).step_by(2) {
            let mut looks = 0_u32;
            while line.load(Ordering::Acquire) != message {
                looks += 1;
                // Both may have been given one processor.
                if looks.is_multiple_of(100_000) { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
            line.store(message + 1, Ordering::Release);
        }
    };
    let mut times: Vec<Duration> = (0..ROUNDS * 4)
        .map(|_| {
            line.store(0, Ordering::Release);
            std::thread::scope(|scope| {
                let started = Instant::now();
                scope.spawn(|| pass(1));
                pass(0);
                started.elapsed() / MESSAGES
            })
        })
        .collect();
    times.sort();
    row("a message between two processors", middle(times.clone()), times[0], "the fastest of them");
}

/// What any tool system must do: parse, validate, run typed code in a task under a timeout, write the envelope.
async fn floor(validator: &jsonschema::Validator, text: &str) -> String {
    let arguments: Value = serde_json::from_str(text).expect("JSON");
    assert!(validator.is_valid(&arguments));
    let task = tokio::spawn(async move {
        let params: PingParams = serde_json::from_value(arguments).expect("typed parameters");
        Ok(ToolOutput::text(ping(params.word, params.number).await.expect("an answer")))
    });
    let outcome = tokio::time::timeout(Duration::from_secs(5), task).await.expect("in time").expect("no panic");
    ToolResult { call_id: "call".into(), tool: "ping".into(), outcome, elapsed: Duration::ZERO, stored: None }.to_json()
}

/// Does next to nothing, with typed parameters: what is left is the engine.
#[haft::tool]
async fn ping(
    /// A word.
    word: String,
    /// A number.
    number: u32,
) -> Result<String, ToolError> {
    Ok(format!("{word} {number} and a few more words"))
}

const ARGUMENTS: &str = r#"{"word":"hello","number":42}"#;

fn ping_call(id: u32) -> ToolCall {
    ToolCall::new(id.to_string(), "ping", ARGUMENTS)
}

fn compiled() -> jsonschema::Validator {
    jsonschema::validator_for(&ToolDefinition::for_tool::<Ping>().parameters).expect("a valid schema")
}

/// History is written behind the calls: bursts that fit its queue (1.5 MB, a kilobyte for each call) show what a call waits for, and the
/// sustained row shows what the disk allows.
const BURST: u32 = 1000;

async fn one_call(bench: &Bench) {
    let validator = compiled();
    let (mut ours, mut reference, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS * 4 {
        reference.push(time_async(BURST, || async { drop(black_box(floor(&validator, ARGUMENTS).await)) }).await);
        ours.push(time_async(BURST, || async { drop(black_box(bench.engine.run(ping_call(1), &bench.session).await.to_json())) }).await);
        bench.settle().await;
        again.push(time_async(BURST, || async { drop(black_box(floor(&validator, ARGUMENTS).await)) }).await);
    }
    let floor = middle(reference);
    row("floor against itself (A/A)", middle(again), floor, "the same code");
    row("one call through all stages", middle(ours), floor, "parse, validate, spawn, timeout, envelope");
    let sustained =
        time_async(BURST * 40, || async { drop(black_box(bench.engine.run(ping_call(1), &bench.session).await.to_json())) }).await;
    row("  the same, 40,000 without a pause", sustained, floor, "as above; bound by history on disk");
    bench.settle().await;
}

async fn parallel_calls(bench: &Bench) {
    let validator = Arc::new(compiled());
    for count in [1_u32, 8, 64, 1000] {
        let (mut ours, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS * 4 {
            reference.push(
                time_async(BURST / count, || async {
                    let tasks: Vec<_> = (0..count)
                        .map(|_| {
                            let validator = Arc::clone(&validator);
                            tokio::spawn(async move { floor(&validator, ARGUMENTS).await })
                        })
                        .collect();
                    for task in tasks {
                        black_box(task.await.expect("no panic"));
                    }
                })
                .await
                    / count,
            );
            ours.push(
                time_async(BURST / count, || async {
                    let results = bench.engine.run_all((0..count).map(ping_call).collect(), &bench.session).await;
                    black_box(results.iter().map(ToolResult::to_json).collect::<Vec<_>>());
                })
                .await
                    / count,
            );
            bench.settle().await;
        }
        row(&format!("{count} calls at once, per call"), middle(ours), middle(reference), "the floor, as many tasks");
    }
}

fn serialisation() {
    let text: String =
        (0..100 * 1024).map(|n| if n % 80 == 79 { '\n' } else { char::from(b'a' + u8::try_from(n % 26).expect("small")) }).collect();
    let value = json!({"status": "success", "result": text});
    let result =
        ToolResult { call_id: "1".into(), tool: "t".into(), outcome: Ok(ToolOutput::text(text)), elapsed: Duration::ZERO, stored: None };
    let reference = median(|| time(2000, || drop(black_box(serde_json::to_string(&value).expect("JSON")))));
    let ours = median(|| time(2000, || drop(black_box(result.to_json()))));
    row("result of 100 KB to JSON", ours, reference, "serde_json of the same value");
}

async fn small_read(bench: &Bench) {
    let path = bench.workspace().join("small.txt");
    std::fs::write(&path, "0123456789abcde\n".repeat(256)).expect("a file of 4 KB");
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reference.push(time_async(2000, || async { drop(black_box(tokio::fs::read_to_string(&path).await.expect("readable"))) }).await);
        ours.push(
            time_async(2000, || async {
                let result = bench.engine.run(ToolCall::new("r", "read_file", r#"{"path":"small.txt"}"#), &bench.session).await;
                assert!(result.is_success());
                black_box(result.to_json());
            })
            .await,
        );
    }
    row("read_file of 4 KB", middle(ours), middle(reference), "tokio::fs::read_to_string");
}

/// A page in the middle of 1 GB: time beside a plain line reader, and memory that must not grow with the file.
async fn page_in_a_gigabyte(bench: &Bench) {
    const LINES: usize = 16 << 20;
    let path = bench.workspace().join("huge.txt");
    let mut file = std::fs::File::create(&path).expect("a file");
    let block = format!("{:063}\n", 7).repeat(16 << 10);
    for _ in 0..LINES / (16 << 10) {
        file.write_all(block.as_bytes()).expect("disk space for 1 GB");
    }
    drop(file);
    let offset = LINES / 2;
    let before = resident();
    let started = Instant::now();
    let call = ToolCall::new("p", "read_file", json!({"path": "huge.txt", "offset": offset, "limit": 100}).to_string());
    let result = bench.engine.run(call, &bench.session).await;
    let ours = started.elapsed();
    assert!(result.is_success(), "{}", result.to_json());
    let grown = resident().saturating_sub(before);
    let reference = line_reader(&path, offset);
    row("page in the middle of a 1 GB file", ours, reference, "BufReader, line by line");
    println!("{:<46} {:>9} KB {:>12} {:>8}  must stay flat", "  memory it took", grown, "-", "-");
}

fn line_reader(path: &Path, offset: usize) -> Duration {
    let started = Instant::now();
    let mut reader = BufReader::with_capacity(256 << 10, std::fs::File::open(path).expect("the file"));
    reader.seek(SeekFrom::Start(0)).expect("seekable");
    let mut line = Vec::new();
    for _ in 0..offset + 100 {
        line.clear();
        reader.read_until(b'\n', &mut line).expect("readable");
    }
    black_box(line);
    started.elapsed()
}

/// Kilobytes of memory in use, where the system tells.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
