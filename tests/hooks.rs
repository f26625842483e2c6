//! Hooks that are commands, with real ones: each event, whatever the command does, around a built-in tool and an adapted one.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft::compat::claw;
use haft::host::{LocalFiles, LocalHost, LocalProcesses, WorkspaceOptions};
use haft::store::{CallFilter, CallLog, FileBlobs, InMemoryCallLog};
use haft::{CallLimits, Engine, Event, EventSink, Registry, Session, ToolCall, ToolResult, ToolSource};
use haft_contract::{HookEvent, OnFailure};
use haft_engine::{CommandHook, CommandHookSpec};
use haft_policy::catalog::Vocabulary;
use serde_json::{Value, json};
use tempfile::TempDir;

const LARGE: usize = 50 << 20;

/// The two tools of the matrix do the same and say the same.
const TOOLS: [&str; 2] = ["write_file", "keep_note"];

/// Remembers which hooks failed, and why.
#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl EventSink for Watcher {
    fn event(&self, event: &Event<'_>) {
        if let Event::HookFailed { hook, event, why, .. } = event {
            self.0.lock().unwrap().push(format!("{hook} {}: {why}", event.as_str()));
        }
    }
}

/// A workspace, the tools, and one hook around them.
struct World {
    engine: Engine,
    session: Session,
    log: Arc<InMemoryCallLog>,
    watcher: Arc<Watcher>,
    noted: Arc<Mutex<Option<String>>>,
    folder: TempDir,
}

/// Everything that can be seen of one call.
#[derive(Debug, PartialEq)]
struct Seen {
    /// What the model gets.
    result: String,
    /// What the tool was given to write, if it ran.
    written: Option<String>,
    /// What history keeps of the result.
    stored: String,
    /// The arguments of the model, if they are no longer the call's.
    original: Option<Value>,
    /// The notice about the hook that the user sees.
    failures: Vec<String>,
}

/// A hook of this script, which may use `$folder` for what it leaves behind.
struct Script<'a> {
    event: HookEvent,
    text: &'a str,
    timeout: Duration,
    on_failure: OnFailure,
}

fn script(event: HookEvent, text: &str) -> Script<'_> {
    let on_failure = if event == HookEvent::AfterToolCall { OnFailure::Continue } else { OnFailure::Block };
    Script { event, text, timeout: Duration::from_mins(2), on_failure }
}

impl World {
    fn new(script: &Script<'_>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("workspace"), folder.path().join("state"));
        std::fs::create_dir(&workspace).unwrap();
        let watcher = Arc::new(Watcher::default());
        let noted = Arc::default();
        let log = Arc::new(InMemoryCallLog::default());
        let mut limits = CallLimits::default();
        (limits.argument_bytes, limits.output_bytes, limits.summary_bytes) = (64 << 20, 64 << 20, 64 << 20);
        let engine = Engine::builder(registry(&noted), Arc::clone(&log) as Arc<dyn CallLog>, Arc::new(FileBlobs::open(&state).unwrap()))
            .hook(Arc::new(hook(script, folder.path())))
            .events(Arc::clone(&watcher) as _)
            .limits(limits)
            .build();
        let files = LocalFiles::open(WorkspaceOptions::new(&workspace)).unwrap();
        let host = LocalHost::new(Arc::new(files), Arc::default(), Arc::<LocalProcesses>::default(), state.join("alerts.log"));
        let session = Session::builder(Arc::new(host)).workspace(workspace).loop_limits(None).build();
        Self { engine, session, log, watcher, noted, folder }
    }

    /// Has one of the tools write this to `a.txt`. The arguments come as text, as from a model.
    async fn call(&self, tool: &str, content: &str) -> ToolResult {
        // Written as text at once where that is possible: a large value takes its time.
        let text = match content.len() {
            LARGE.. => format!(r#"{{"path":"a.txt","content":"{content}","mode":"overwrite"}}"#),
            _ => arguments(content).to_string(),
        };
        self.engine.run(ToolCall::new("1", tool, text), &self.session).await
    }

    async fn see(&self, tool: &str, content: &str) -> Seen {
        let result = self.call(tool, content).await.to_json();
        let record = self.log.list(CallFilter::default()).await.unwrap().remove(0);
        let file = std::fs::read_to_string(self.folder.path().join("workspace/a.txt")).ok();
        Seen {
            result,
            written: file.or_else(|| self.noted.lock().unwrap().take()),
            stored: record.summary,
            original: record.original_arguments,
            failures: std::mem::take(&mut self.watcher.0.lock().unwrap()),
        }
    }

    /// What the script left in a file.
    fn left(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

/// The built-in tools, and one that was written for another trait.
fn registry(noted: &Arc<Mutex<Option<String>>>) -> Arc<Registry> {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).unwrap();
    }
    let noted = Arc::clone(noted);
    let executor = claw::StaticToolExecutor::new().register("KeepNote", move |input| {
        let input: Value = serde_json::from_str(input).unwrap();
        let content = input["content"].as_str().unwrap();
        *noted.lock().unwrap() = Some(content.to_owned());
        Ok(wrote(content))
    });
    let spec = claw::ToolSpec {
        name: "KeepNote",
        description: "Keeps a note.",
        input_schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}, "mode": {"type": "string"}},
            "required": ["path", "content"]
        }),
        required_permission: claw::PermissionMode::ReadOnly,
    };
    for tool in claw::adapt_trusted(executor, vec![spec]) {
        registry.register(tool, ToolSource::Plugin("claw".into())).unwrap();
    }
    Arc::new(registry)
}

fn hook(script: &Script<'_>, folder: &Path) -> CommandHook {
    let file = folder.join("hook.sh");
    std::fs::write(&file, format!("folder='{}'\n{}\n", folder.display(), script.text)).unwrap();
    let spec = CommandHookSpec {
        name: "h".into(),
        event: script.event,
        matches: vec!["Write".into(), "keep-*".into()],
        command: format!("exec sh '{}'", file.display()),
        timeout: script.timeout,
        on_failure: script.on_failure,
        priority: 0,
        directory: folder.join("workspace"),
    };
    CommandHook::new(spec, Arc::new(LocalProcesses::default()), &Vocabulary::of_core(haft_builtin::metas()), &[]).unwrap()
}

fn wrote(content: &str) -> String {
    format!("Successfully wrote {} bytes to a.txt (mode: overwrite)", content.len())
}

/// A call that wrote this, as if there were no hook.
fn done(content: &str) -> Seen {
    let (stored, written) = (wrote(content), Some(content.to_owned()));
    Seen { result: json!({"status": "success", "result": stored}).to_string(), written, stored, original: None, failures: vec![] }
}

/// A call that was not made.
fn refused(message: &str, failures: Vec<String>) -> Seen {
    let result = json!({"status": "error", "error_type": "blocked", "message": message}).to_string();
    Seen { result, written: None, stored: message.to_owned(), original: None, failures }
}

fn arguments(content: &str) -> Value {
    json!({"path": "a.txt", "content": content, "mode": "overwrite"})
}

/// What a command may do, in the order of the columns below.
const REWRITE: &str = r#"cat > "$folder/input"; echo '{"arguments": {"path": "a.txt", "content": "rewritten"}, "stored": "rewritten"}'"#;
const BLOCK: &str = "echo 'not today' >&2; exit 2";
const ANSWER: &str = r#"echo '{"answer": "answered"}'"#;
const CRASH: &str = "kill -9 $$";
const GARBAGE: &str = "echo oops";
const CRASHED: &str = "signal 9 ended it";
const UNREADABLE: &str =
    "its output is not one JSON object: expected value at line 1 column 1. It begins with 'oops'; print messages to standard error";
const TOO_LATE: &str = "it blocked a call that was made already (not today); a hook that blocks needs event = \"before_tool_call\"";

/// What is said of a wish that only a hook before the call could have had.
fn too_late(name: &str) -> String {
    format!("it gave '{name}' too late: the call was made already; a hook that gives it needs event = \"before_tool_call\"")
}

/// What is seen of a call when a hook of this event fails, and whether that closes.
fn failed(event: HookEvent, on_failure: OnFailure, why: &str) -> Seen {
    let failures = vec![format!("h {}: {why}", event.as_str())];
    match (event, on_failure) {
        (HookEvent::BeforeToolCall, OnFailure::Block) => {
            refused(&format!("The hook 'h' could not run, so the call was not made: {why}. Tell the user."), failures)
        }
        (HookEvent::ToolResultPersist, OnFailure::Block) => {
            Seen { stored: format!("[withheld: the hook 'h' could not run: {why}]"), failures, ..done("original") }
        }
        _ => Seen { failures, ..done("original") },
    }
}

async fn check(event: HookEvent, cells: Vec<(&str, Seen)>) {
    for (text, expected) in cells {
        for tool in TOOLS {
            let world = World::new(&script(event, text));
            assert_eq!(world.see(tool, "original").await, expected, "{tool}: {text}");
        }
    }
}

#[tokio::test]
async fn before_a_call_a_command_may_rewrite_block_and_answer_and_closes_when_it_fails() {
    let event = HookEvent::BeforeToolCall;
    let answered =
        Seen { result: r#"{"status":"success","result":"answered"}"#.into(), written: None, stored: "answered".into(), ..done("") };
    let cells = vec![
        (REWRITE, Seen { original: Some(arguments("original")), ..done("rewritten") }),
        (BLOCK, refused("Blocked by the hook 'h': not today", vec![])),
        (ANSWER, answered),
        (CRASH, failed(event, OnFailure::Block, CRASHED)),
        (GARBAGE, failed(event, OnFailure::Block, UNREADABLE)),
    ];
    check(event, cells).await;
}

#[tokio::test]
async fn after_a_call_a_command_changes_nothing_and_its_failure_is_told() {
    let event = HookEvent::AfterToolCall;
    let cells = vec![
        (REWRITE, failed(event, OnFailure::Continue, &too_late("arguments"))),
        (BLOCK, failed(event, OnFailure::Continue, TOO_LATE)),
        (ANSWER, failed(event, OnFailure::Continue, &too_late("answer"))),
        (CRASH, failed(event, OnFailure::Continue, CRASHED)),
        (GARBAGE, failed(event, OnFailure::Continue, UNREADABLE)),
    ];
    check(event, cells).await;
}

#[tokio::test]
async fn before_a_result_is_stored_a_command_may_rewrite_or_withhold_it_and_closes_when_it_fails() {
    let event = HookEvent::ToolResultPersist;
    let cells = vec![
        (REWRITE, Seen { stored: "rewritten".into(), ..done("original") }),
        (BLOCK, Seen { stored: "[withheld by the hook 'h': not today]".into(), ..done("original") }),
        (ANSWER, done("original")),
        (CRASH, failed(event, OnFailure::Block, CRASHED)),
        (GARBAGE, failed(event, OnFailure::Block, UNREADABLE)),
    ];
    check(event, cells).await;
}

#[tokio::test]
async fn slow_hook_is_ended_with_its_descendants_and_the_call_continues() {
    for event in HookEvent::ALL {
        for tool in TOOLS {
            let slow = Script { timeout: Duration::from_secs(1), ..script(event, "sleep 30 & echo $$ $! > \"$folder/ids\"; wait") };
            let world = World::new(&slow);
            let started = Instant::now();
            assert_eq!(world.see(tool, "original").await, failed(event, slow.on_failure, "it took longer than 1 s"), "{tool}");
            assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
            assert_all_end(&world.left("ids")).await;
        }
    }
}

/// Fifty megabytes to the command and back, through a program that prints while it reads.
async fn check_large(event: HookEvent, sent: &str, expected: Seen) {
    for tool in TOOLS {
        let world = World::new(&script(event, "tee \"$folder/input\" | tr QS Zs"));
        let seen = world.see(tool, sent).await;
        // Not assert_eq: nobody wants to read a hundred megabytes of difference.
        assert!(seen == expected, "{tool}: {} {} {:?}", shown(&seen.result), shown(&seen.stored), seen.failures);
        assert!(std::fs::metadata(world.folder.path().join("input")).unwrap().len() > LARGE as u64, "{tool}");
    }
}

#[tokio::test]
async fn fifty_megabytes_go_to_a_command_before_a_call_and_back() {
    let original = arguments(&format!("{}… ({LARGE} bytes)", "Q".repeat(1024)));
    let expected = Seen { original: Some(original), ..done(&"Z".repeat(LARGE)) };
    check_large(HookEvent::BeforeToolCall, &"Q".repeat(LARGE), expected).await;
}

#[tokio::test]
async fn fifty_megabytes_go_to_a_command_after_a_call_and_back() {
    let sent = "Q".repeat(LARGE);
    let failures = vec![format!("h after_tool_call: {}", too_late("arguments"))];
    check_large(HookEvent::AfterToolCall, &sent, Seen { failures, ..done(&sent) }).await;
}

#[tokio::test]
async fn fifty_megabytes_go_to_a_command_before_a_result_is_stored_and_back() {
    let sent = "Q".repeat(LARGE);
    let expected = Seen { stored: wrote(&sent).replace('S', "s"), ..done(&sent) };
    check_large(HookEvent::ToolResultPersist, &sent, expected).await;
}

fn shown(text: &str) -> &str {
    &text[..text.floor_char_boundary(300)]
}

#[tokio::test]
async fn neither_a_command_that_never_reads_nor_one_that_prints_before_it_reads_gets_stuck() {
    let sent = "Q".repeat(LARGE);
    let unread = World::new(&script(HookEvent::BeforeToolCall, "exit 0"));
    assert!(unread.see("keep_note", &sent).await == done(&sent));
    let prints_first = format!("printf '{{\"stored\": \"'; head -c {LARGE} /dev/zero | tr '\\0' Z; printf '\"}}'; cat > /dev/null");
    let world = World::new(&script(HookEvent::ToolResultPersist, &prints_first));
    let seen = world.see("keep_note", &sent).await;
    assert!(seen == Seen { stored: "Z".repeat(LARGE), ..done(&sent) }, "{:?} {:?}", shown(&seen.stored), seen.failures);
}

#[tokio::test]
async fn hook_that_may_fail_open_does_so_and_the_user_is_warned() {
    for event in HookEvent::ALL {
        for (text, why) in [(CRASH, CRASHED), (GARBAGE, UNREADABLE), ("echo gone >&2; exit 3", "it ended with exit code 3: gone")] {
            let world = World::new(&Script { on_failure: OnFailure::Continue, ..script(event, text) });
            assert_eq!(world.see("write_file", "original").await, failed(event, OnFailure::Continue, why), "{event:?} {text}");
        }
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_no_refusal() {
    let event = HookEvent::BeforeToolCall;
    let world = World::new(&script(event, ANSWER));
    let workspace = world.folder.path().join("workspace");
    std::fs::remove_dir(&workspace).unwrap();
    let why = format!("Cannot run '/bin/sh' in '{}': there is no such folder", workspace.display());
    assert_eq!(world.see("keep_note", "original").await, failed(event, OnFailure::Block, &why));
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_the_call_is_on_its_input_alone() {
    let marked = "MARK$(touch planted)`touch planted`';touch planted;'\"";
    let text = "{ pwd; env; cat /proc/$$/cmdline; } > \"$folder/around\"; cat > \"$folder/input\"";
    let world = World::new(&script(HookEvent::BeforeToolCall, text));
    assert_eq!(world.see("write_file", marked).await, done(marked));
    let around = world.left("around");
    let workspace = world.folder.path().canonicalize().unwrap().join("workspace");
    assert_eq!(around.lines().next().unwrap(), workspace.to_str().unwrap());
    assert!(!around.contains("MARK") && !workspace.join("planted").exists(), "{around}");
    let input: Value = serde_json::from_str(&world.left("input")).unwrap();
    let session = world.session.id().to_string();
    let arguments = arguments(marked);
    assert_eq!(
        input,
        json!({"event": "before_tool_call", "call_id": "1", "tool": "write_file", "session": session, "agent": "main", "arguments": arguments})
    );
}

#[tokio::test]
async fn nothing_that_a_command_starts_outlives_the_call() {
    let leaves = World::new(&script(HookEvent::BeforeToolCall, "sleep 30 & echo $$ $! > \"$folder/ids\""));
    assert_eq!(leaves.see("write_file", "original").await, done("original"));
    assert_all_end(&leaves.left("ids")).await;

    let world = World::new(&script(HookEvent::BeforeToolCall, "sleep 30 & echo $$ $! > \"$folder/ids\"; wait"));
    let ids = world.folder.path().join("ids");
    let stop = world.session.cancellation().clone();
    let stopping = async move {
        while !std::fs::read_to_string(&ids).is_ok_and(|text| text.ends_with('\n')) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
    };
    let (result, ()) = tokio::join!(world.call("write_file", "original"), stopping);
    assert!(result.to_json().contains(r#""error_type":"cancelled""#), "{}", result.to_json());
    assert_all_end(&world.left("ids")).await;
}

/// A killed process may take a moment to leave; a living one never does, and the test fails.
async fn assert_all_end(ids: &str) {
    let start = Instant::now();
    while let Some(alive) = ids.split_whitespace().find(|id| is_alive(id)) {
        assert!(start.elapsed() < Duration::from_secs(10), "{alive} is still alive");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process runs; one that ended but was not reaped by its parent does not.
fn is_alive(id: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).ok();
    state.is_some_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}
