//! What tools of an embedding program cannot do to each other, to the caller and to history.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_contract::ports::ApprovalAnswer;
use haft_contract::{Access, Connect, Effect, ErrorKind, Plan, Progress, ToolCall, ToolContext, ToolOutput, WriteMode};
use haft_engine::{CallbackApprover, ToolSettings};
use haft_store::{CallRecord, CallStatus};
use haft_testkit::{ProgressRecorder, ScriptedTool};
use serde_json::{Value, json};

use crate::harness::{Harness, failure, plugin, setup, text};

const LONG: Duration = Duration::from_secs(30);
const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

/// Resolves when a condition holds; it is looked at until then.
async fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LONG, "it never came");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Resolves with the history, when every call in it has ended.
async fn settled(harness: &Harness, calls: usize) -> Vec<CallRecord> {
    let started = Instant::now();
    loop {
        let history = harness.history().await;
        if history.len() == calls && history.iter().all(|call| call.status != CallStatus::Begun) {
            return history;
        }
        assert!(started.elapsed() < LONG, "{history:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn cancelled() -> CallStatus {
    CallStatus::Error("cancelled".into())
}

#[tokio::test]
async fn blocked_threads_starve_no_other_tool_of_the_same_batch() {
    let release = Arc::new(AtomicBool::new(false));
    let held = Arc::clone(&release);
    let stuck = ScriptedTool::new("stuck").timeout(LONG).body(move |_, _| {
        let held = Arc::clone(&held);
        async move {
            while !held.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(ToolOutput::text("free"))
        }
    });
    let naps = ScriptedTool::new("nap").sleeps(Duration::from_millis(5)).timeout(LONG);
    let quick = ScriptedTool::new("quick").returns("here").timeout(Duration::from_secs(5));
    let harness = setup().tool(stuck).tool(quick).tool(naps).session(|session| session.loop_limits(None)).build();
    let call = |tool: &str, number: usize| ToolCall::new(format!("{tool}{number}"), tool, json!({"n": number}));
    let stuck = (0..20).map(|number| call("stuck", number)).collect();
    let blocked = harness.engine.run_all(stuck, &harness.session);
    let others = async {
        let calls = (0..40).map(|number| call(if number % 2 == 0 { "quick" } else { "nap" }, number)).collect();
        let results = harness.engine.run_all(calls, &harness.session).await;
        release.store(true, Ordering::SeqCst);
        results
    };
    let (blocked, others) = tokio::join!(blocked, others);
    assert!(others.iter().all(|result| ["here", "slept"].contains(&text(result).as_str())));
    assert!(blocked.iter().all(|result| text(result) == "free"));
}

#[tokio::test]
async fn thousands_of_calls_that_wait_share_a_few_threads() {
    let harness = setup().tool(ScriptedTool::new("nap").sleeps(Duration::from_millis(100))).build();
    let started = Instant::now();
    let calls = (0..2000).map(|number| ToolCall::new(number.to_string(), "nap", json!({"n": number}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results.iter().all(|result| text(result) == "slept"));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[tokio::test]
async fn call_that_never_got_a_thread_says_that_it_did_not_run() {
    let release = Arc::new(AtomicBool::new(false));
    let (held, begun) = (Arc::clone(&release), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&begun);
    let stuck = ScriptedTool::new("stuck").timeout(LONG).body(move |_, _| {
        let held = Arc::clone(&held);
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            while !held.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(ToolOutput::text("free"))
        }
    });
    let quick = ScriptedTool::new("quick").timeout(Duration::from_millis(80));
    let log = quick.log();
    let harness = setup().tool(stuck).tool(quick).session(|session| session.loop_limits(None)).build();
    // As many as the pool has threads: nothing is left for the next one.
    let calls = (0..256).map(|number| ToolCall::new(number.to_string(), "stuck", json!({"n": number}))).collect();
    let blocked = harness.engine.run_all(calls, &harness.session);
    let late = async {
        until(|| begun.load(Ordering::SeqCst) == 256).await;
        let result = harness.call("quick", json!({})).await;
        release.store(true, Ordering::SeqCst);
        failure(&result)
    };
    let (_, (kind, message)) = tokio::join!(blocked, late);
    assert_eq!(kind, ErrorKind::Timeout);
    assert_eq!(message, "The tool did not run: no thread for it was free within 0.1s. Nothing was done; try again later.");
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn panic_while_a_tool_is_dropped_does_not_change_its_result() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "in Drop");
        }
    }
    let tool = || {
        ScriptedTool::new("bomb").body(|_, _| {
            let bomb = Bomb;
            std::future::poll_fn(move |_| {
                let _held = &bomb;
                std::task::Poll::Ready(Ok(ToolOutput::text("done")))
            })
        })
    };
    for harness in [setup().tool(tool()).build(), setup().built_in(tool()).build()] {
        for number in 0..3 {
            assert_eq!(text(&harness.call("bomb", json!({"n": number})).await), "done");
        }
    }
}

/// Writes `a`, says so, and waits; then it would write `b`.
fn two_writes() -> ScriptedTool {
    let plan = |_: &Value, cx: &haft_contract::PlanContext<'_>| Ok(Plan::nothing().write(cx.locate("a")?).write(cx.locate("b")?));
    ScriptedTool::new("two").plan(plan).timeout(LONG).body(|_, cx| async move {
        cx.fs().write("a", b"new".to_vec(), WriteMode::Overwrite).await?;
        cx.progress(Progress::message("half"));
        tokio::time::sleep(LONG).await;
        cx.fs().write("b", b"new".to_vec(), WriteMode::Overwrite).await?;
        Ok(ToolOutput::text("both"))
    })
}

#[tokio::test]
async fn dropped_run_leaves_no_half_of_its_changes_and_ends_as_cancelled() {
    for (built_in, batch) in [(false, false), (true, false), (false, true), (true, true)] {
        let recorder = Arc::new(ProgressRecorder::default());
        let sink = Arc::clone(&recorder);
        let setup = if built_in { setup().built_in(two_writes()) } else { setup().tool(two_writes()) };
        let harness = setup.session(move |session| session.progress(sink)).build();
        harness.host.files.put("a", "old");
        let calls = vec![ToolCall::new("1", "two", json!({}))];
        let running = async {
            if batch { drop(harness.engine.run_all(calls, &harness.session).await) } else { drop(harness.call("two", json!({})).await) }
        };
        tokio::select! {
            () = running => panic!("it should be dropped, not answered"),
            () = until(|| !recorder.messages().is_empty()) => {}
        }
        let history = settled(&harness, 1).await;
        assert_eq!(history[0].status, cancelled(), "built in {built_in}, batch {batch}");
        assert_eq!(
            (harness.host.files.text("a").as_deref(), harness.host.files.text("b")),
            (Some("old"), None),
            "built in {built_in}, batch {batch}"
        );
    }
}

#[tokio::test]
async fn dropped_calls_without_changes_are_recorded_too() {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let waits = ScriptedTool::new("wait").timeout(LONG).body(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let slow_plan = ScriptedTool::new("plan").timeout(LONG).plan(|_, _| {
        std::thread::sleep(Duration::from_millis(300));
        Ok(Plan::nothing())
    });
    let harness = setup().tool(waits).tool(slow_plan).build();
    let calls = vec![ToolCall::new("1", "wait", json!({})), ToolCall::new("2", "plan", json!({}))];
    tokio::select! {
        _ = harness.engine.run_all(calls, &harness.session) => panic!("it should be dropped, not answered"),
        () = until(|| begun.load(Ordering::SeqCst) == 1) => {}
    }
    let mut history = settled(&harness, 2).await;
    history.sort_by(|one, other| one.call_id.cmp(&other.call_id));
    let ends: Vec<_> = history.iter().map(|call| (call.tool.as_str(), call.status.clone(), call.summary.as_str())).collect();
    let why = "The program that made the call stopped waiting for it.";
    assert_eq!(ends, [("wait", cancelled(), why), ("plan", cancelled(), why)]);
}

#[tokio::test]
async fn context_that_was_kept_shows_no_progress_after_its_call() {
    let kept: Arc<Mutex<Option<ToolContext>>> = Arc::default();
    let store = Arc::clone(&kept);
    let tool = ScriptedTool::new("keep").body(move |_, cx| {
        cx.progress(Progress::message("in time"));
        *store.lock().unwrap() = Some(cx);
        async { Ok(ToolOutput::text("kept")) }
    });
    let recorder = Arc::new(ProgressRecorder::default());
    let sink = Arc::clone(&recorder);
    let harness = setup().tool(tool).session(move |session| session.progress(sink)).build();
    assert!(harness.call("keep", json!({})).await.is_success());
    let cx = kept.lock().unwrap().take().unwrap();
    cx.progress(Progress::message("too late"));
    assert!(cx.page_cache().is_none() && cx.small_model().is_none());
    assert_eq!(recorder.messages(), ["in time"]);
}

fn unknown(name: &str) -> ScriptedTool {
    ScriptedTool::new(name).plan(|_, _| Ok(Plan::nothing().with(Effect::Unknown { why: "it is new".into() }))).returns("ran")
}

#[tokio::test]
async fn approver_that_cannot_ask_now_is_not_asked() {
    let (open, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (is_open, count) = (Arc::clone(&open), Arc::clone(&asked));
    let approver = CallbackApprover::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { ApprovalAnswer::Once }
    });
    let approver = approver.can_ask(move || is_open.load(Ordering::SeqCst));
    let session = |session: haft_engine::SessionBuilder| session.access(Access::FullAccess).approver(Arc::new(approver));
    let harness = setup().tool(unknown("own")).session(session).build();
    let (kind, message) = failure(&harness.call("own", json!({})).await);
    assert!(kind == ErrorKind::PermissionDenied && message.contains("no one can approve here"), "{message}");
    open.store(true, Ordering::SeqCst);
    assert_eq!(text(&harness.call("own", json!({"n": 1})).await), "ran");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn session_and_always_answers_hold_for_tools_of_the_embedding_program() {
    for answer in [ApprovalAnswer::Session, ApprovalAnswer::Always] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let approver = CallbackApprover::new(move |request| {
            count.fetch_add(1, Ordering::SeqCst);
            assert_eq!(request.rules, Ok(vec!["own(domain:example.org:443 method:POST)".to_owned()]));
            let answer = answer.clone();
            async move { answer }
        });
        let session = |session: haft_engine::SessionBuilder| session.approver(Arc::new(approver));
        // Registered after the policy was made, as an embedding program does.
        let harness = setup().session(session).build();
        let goes_out = |_: &Value, _: &haft_contract::PlanContext<'_>| {
            Ok(Plan::nothing().with(Effect::Connect(Connect::new("https", "example.org", 443, "POST"))))
        };
        let own = ScriptedTool::new("own").plan(goes_out).returns("ran");
        harness.engine.registry().register(own.shared(), plugin()).unwrap();
        for number in 0..3 {
            assert_eq!(text(&harness.call("own", json!({"n": number})).await), "ran");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}

/// The first call taints the session, so the second meets the taint guard as well.
#[tokio::test]
async fn answers_hold_for_what_the_programs_own_tool_does_unseen_and_for_no_other_tool() {
    for answer in [ApprovalAnswer::Session, ApprovalAnswer::Always, ApprovalAnswer::Once] {
        let lasts = answer != ApprovalAnswer::Once;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (asks, said) = (Arc::clone(&asked), answer.clone());
        let approver = CallbackApprover::new(move |request| {
            asks.lock().unwrap().push((request.call.tool.clone(), request.rules));
            let answer = said.clone();
            async move { answer }
        });
        let session = |session: haft_engine::SessionBuilder| session.access(Access::FullAccess).approver(Arc::new(approver));
        let harness = setup().session(session).build();
        let server = haft_contract::ToolSource::Mcp("s".into());
        for (name, source) in [("own", plugin()), ("other", plugin()), ("mcp__s__far", server)] {
            harness.engine.registry().register(unknown(name).shared(), source).unwrap();
        }
        for number in 0..3 {
            assert_eq!(text(&harness.call("own", json!({"n": number})).await), "ran");
        }
        let of_own = ("own".to_owned(), Ok(vec!["own".to_owned()]));
        assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), vec![of_own; if lasts { 1 } else { 3 }], "{answer:?}");
        // A secret in its arguments is another question, which is asked each time; and so are tools of others.
        for arguments in [json!({"note": SECRET}), json!({"note": SECRET, "n": 1})] {
            assert_eq!(text(&harness.call("own", arguments).await), "ran");
        }
        for number in 0..2 {
            assert_eq!(text(&harness.call("mcp__s__far", json!({"n": number})).await), "ran");
        }
        assert_eq!(text(&harness.call("other", json!({})).await), "ran");
        let asked: Vec<(String, bool)> = asked.lock().unwrap().iter().map(|(tool, rules)| (tool.clone(), rules.is_ok())).collect();
        let each_time = |tool: &str| (tool.to_owned(), false);
        let far = each_time("mcp__s__far");
        assert_eq!(asked, [each_time("own"), each_time("own"), far.clone(), far, ("other".to_owned(), true)], "{answer:?}");
    }
}

#[tokio::test]
async fn offered_tools_are_those_that_the_session_may_call() {
    let harness = setup().tool(ScriptedTool::new("one")).tool(ScriptedTool::new("two")).session(|session| session.tools(["two"])).build();
    let names: Vec<String> = harness.engine.offered(&harness.session).iter().map(|entry| entry.name().to_owned()).collect();
    assert_eq!(names, ["two"]);
}

#[tokio::test]
async fn settings_of_a_tool_override_what_it_says_itself() {
    let slow = ScriptedTool::new("slow").sleeps(LONG).timeout(LONG).define(|definition| definition.aliases = vec!["lazy".into()]);
    let long = ScriptedTool::new("long").returns_bytes(10_000);
    let reads = ScriptedTool::new("reads").plan(|_, cx| Ok(Plan::nothing().read(cx.locate("a")?))).returns("ran");
    let harness = setup().tool(slow).tool(reads).build();
    let registry = harness.engine.registry();
    // One by an alias, one before its tool is there.
    registry.set_settings("Lazy", ToolSettings::new().timeout(Duration::from_millis(30)));
    registry.set_settings("long", ToolSettings::new().output_bytes(100));
    registry.register(long.shared(), plugin()).unwrap();
    assert_eq!(failure(&harness.call("slow", json!({})).await).0, ErrorKind::Timeout);
    let shown = text(&harness.call("long", json!({})).await);
    assert!(shown.contains("Showing the first 100 of 10000 bytes"), "{shown}");
    assert_eq!(text(&harness.call("reads", json!({})).await), "ran");
    registry.set_settings("reads", ToolSettings::new().access(Access::FullAccess));
    let (kind, message) = failure(&harness.call("reads", json!({"n": 1})).await);
    assert!(kind == ErrorKind::PermissionDenied && message.contains("full-access"), "{message}");
}
