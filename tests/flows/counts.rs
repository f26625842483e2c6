//! What a call, a read and a round of the loop cost, in allocations and system calls of the caller's thread. Times differ from machine to
//! machine and from minute to minute; these numbers do not, so they are golden: more is a regression, fewer a reason to lower them.

use std::process::Command;
use std::sync::Arc;

use haft::host::{LocalFiles, LocalHost, LocalProcesses, WorkspaceOptions};
use haft::store::{CallLog, FileBlobs, SqliteCallLog};
use haft::{BoxFuture, Engine, Erased, Registry, Session, ToolCall, ToolError, ToolSource};
use haft_agent::{NullLedger, Provider, Runner};
use haft_provider::{Block, Completion, Delta, Message, Model, ModelReply, ModelTurn, Protocol, ProviderError, StopReason, Usage};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// What is measured, this often.
const TIMES: u64 = 100;
/// Set in the process whose system calls are counted.
const COUNTED: &str = "HAFT_TEST_COUNTED";

/// Says one thing of two others.
#[haft::tool]
async fn say(
    /// A word.
    word: String,
    /// A number.
    number: u32,
) -> Result<String, ToolError> {
    Ok(format!("{word} {number}"))
}

/// An engine with history on disk, and the folder that goes with it.
struct Bench {
    runtime: Runtime,
    engine: Engine,
    session: Session,
    log: Arc<SqliteCallLog>,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (state, workspace) = (folder.path().join("state"), folder.path().join("workspace"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(workspace.join("small.txt"), "0123456789abcde\n".repeat(256)).unwrap();
        let log = Arc::new(SqliteCallLog::open(&state).unwrap().log);
        let registry = Registry::new();
        registry.register(Arc::new(Erased::new(Say)), ToolSource::BuiltIn).unwrap();
        for tool in haft::builtin::all() {
            registry.register(tool, ToolSource::BuiltIn).unwrap();
        }
        let blobs = Arc::new(FileBlobs::open(&state).unwrap());
        let engine = Engine::builder(Arc::new(registry), Arc::clone(&log) as Arc<dyn CallLog>, blobs).build();
        let files = LocalFiles::open(WorkspaceOptions { root: workspace, ..WorkspaceOptions::default() }).unwrap();
        let host = LocalHost::new(Arc::new(files), Arc::default(), Arc::<LocalProcesses>::default(), state.join("alerts.log"));
        // The loop guard would, rightly, stop a program that makes the same call a hundred times.
        let session = Session::builder(Arc::new(host)).loop_limits(None).build();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bench = Self { runtime, engine, session, log, _folder: folder };
        // What is made once is made now.
        for kind in KINDS {
            bench.run(kind, 3);
        }
        bench
    }

    /// Does something several times, and nothing else; then waits until history is on disk.
    fn run(&self, kind: &str, times: u64) -> u64 {
        let (name, arguments) =
            if kind == "read" { ("read_file", r#"{"path":"small.txt","again":true}"#) } else { ("say", r#"{"word":"hello","number":42}"#) };
        let calls: Vec<ToolCall> = (0..times).map(|_| ToolCall::new("1", name, arguments)).collect();
        let model = Instantly { model: Model::new("here", Protocol::Anthropic, "m"), rounds: times };
        let mut runner = Runner::new(self.engine.clone(), self.session.clone(), Arc::new(model), Arc::new(NullLedger));
        let work = async {
            if kind == "round" {
                let end = runner.turn(Message::user("go"), &CancellationToken::new()).await;
                assert_eq!((end.error, u64::from(end.rounds)), (None, times + 1));
                return;
            }
            for call in calls {
                let result = self.engine.run(call, &self.session).await;
                assert!(result.is_success(), "{}", result.to_json());
            }
        };
        mark();
        let counted = allocation_counter::measure(|| self.runtime.block_on(work));
        mark();
        self.runtime.block_on(self.log.flush()).unwrap();
        counted.count_total
    }
}

const KINDS: [&str; 3] = ["call", "read", "round"];

/// A model that makes the same call so often, at once, and is done then.
struct Instantly {
    model: Model,
    rounds: u64,
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
            let round = turn.messages.len() as u64 / 2;
            if round >= self.rounds {
                return Ok(Completion::new(ModelReply::new(vec![Block::text("done")], StopReason::EndTurn, Usage::default())));
            }
            let call = Block::Call { id: round.to_string(), name: "noop".into(), arguments: "{}".into(), opaque: None };
            each(Delta::CallReady { index: 0, call: call.clone() });
            Ok(Completion::new(ModelReply::new(vec![call], StopReason::ToolCalls, Usage::default())))
        })
    }
}

#[test]
fn allocations_are_those_of_the_golden_numbers() {
    let bench = Bench::new();
    // Lists that grow now and then are shared by all: what is left is each one's own.
    let each = KINDS.map(|kind| bench.run(kind, TIMES) / TIMES);
    for ((kind, counted), golden) in KINDS.iter().zip(each).zip(GOLDEN_ALLOCATIONS) {
        assert!(counted <= golden, "one {kind} makes {counted} allocations, and made {golden}");
        assert!(counted + 2 + golden / 20 >= golden, "one {kind} makes {counted} allocations: lower its golden number, {golden}");
    }
}

/// Of one call, of one call of `read_file`, and of one round with all that its model makes.
const GOLDEN_ALLOCATIONS: [u64; 3] = [22, 128, 126];
/// Likewise: a call makes none, unless its tool does.
const GOLDEN_SYSTEM_CALLS: [usize; 3] = [0, 7, 0];

/// Leaves a system call that can be found again.
fn mark() {
    std::fs::metadata("/haft-counts-mark").ok();
}

#[test]
fn system_calls_are_those_of_the_golden_numbers() {
    if let Ok(kind) = std::env::var(COUNTED) {
        Bench::new().run(&kind, TIMES);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let counted = KINDS.map(|kind| {
        let traces = folder.path().join(kind);
        let test = "counts::system_calls_are_those_of_the_golden_numbers";
        let ran = Command::new("strace")
            .args(["-ff", "-qq", "-o"])
            .arg(&traces)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--test-threads", "1"])
            .env(COUNTED, kind)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        count(&folder.path().join(kind)) / usize::try_from(TIMES).unwrap()
    });
    assert_eq!(counted, GOLDEN_SYSTEM_CALLS, "of one {KINDS:?}");
}

/// The system calls between the last two marks, in the trace of the thread that left them.
fn count(traces: &std::path::Path) -> usize {
    let name = traces.file_name().unwrap().to_str().unwrap();
    let texts = std::fs::read_dir(traces.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let texts = texts.filter(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name)));
    let text = texts.map(|path| std::fs::read_to_string(path).unwrap()).find(|text| text.contains("haft-counts-mark")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let marks: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("haft-counts-mark")).collect();
    let [.., begin, end] = marks.as_slice() else { panic!("no marks in the trace") };
    // Now and then a call wakes the thread that writes history, looks for events, or the heap grows: that is not each one's own.
    let shared = ["futex(", "epoll_", "sched_", "madvise(", "mmap(", "munmap(", "mprotect(", "brk("];
    lines[begin + 1..*end].iter().filter(|line| !shared.iter().any(|name| line.starts_with(name))).count()
}
