//! The tool itself: timeouts, panics, threads, cancellation. The engine answers whatever it does.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_contract::{Access, BoxFuture, CallInfo, ErrorKind, Plan, Progress, ToolCall, ToolContext, ToolOutput, WriteMode};
use haft_engine::{Event, EventSink, Hook, HookCall};
use haft_testkit::{ProgressRecorder, ScriptedTool};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::harness::{failure, setup, text};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(60);

#[tokio::test]
async fn a_tool_that_sleeps_past_its_timeout_is_answered() {
    for built_in in [false, true] {
        let tool = ScriptedTool::new("slow").sleeps(LONG).timeout(SHORT);
        let harness = if built_in { setup().built_in(tool) } else { setup().tool(tool) }.build();
        let started = Instant::now();
        let result = harness.call("slow", json!({})).await;
        assert_eq!(failure(&result), (ErrorKind::Timeout, "Tool execution timed out after 0.1s".into()));
        assert!(started.elapsed() < LONG / 2 && result.elapsed >= SHORT);
    }
}

#[tokio::test]
async fn whole_seconds_are_said_as_the_seed_says_them() {
    let harness = setup().tool(ScriptedTool::new("slow").sleeps(LONG).timeout(Duration::from_secs(1))).build();
    assert_eq!(failure(&harness.call("slow", json!({})).await).1, "Tool execution timed out after 1s");
}

#[tokio::test]
async fn a_tool_that_blocks_its_thread_is_answered_at_its_timeout() {
    let harness = setup().tool(ScriptedTool::new("stuck").blocks(Duration::from_secs(2)).timeout(SHORT)).build();
    let started = Instant::now();
    assert_eq!(failure(&harness.call("stuck", json!({})).await).0, ErrorKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn many_blocked_threads_do_not_starve_the_next_tool() {
    let stuck = ScriptedTool::new("stuck").blocks(Duration::from_secs(3)).timeout(SHORT);
    let harness = setup().tool(stuck).tool(ScriptedTool::new("quick").returns("here")).build();
    let started = Instant::now();
    let calls = (0..20).map(|number| ToolCall::new(number.to_string(), "stuck", json!({"n": number}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results.iter().all(|result| failure(result).0 == ErrorKind::Timeout));
    assert_eq!(text(&harness.call("quick", json!({})).await), "here");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_panic_is_an_execution_error_and_the_next_call_works() {
    for built_in in [false, true] {
        let (boom, fine) = (ScriptedTool::new("boom").panics("kaboom"), ScriptedTool::new("fine").returns("ok"));
        let harness = if built_in { setup().built_in(boom).built_in(fine) } else { setup().tool(boom).tool(fine) }.build();
        let result = harness.call("boom", json!({})).await;
        assert_eq!(failure(&result), (ErrorKind::ExecutionError, "Tool execution failed: kaboom".into()));
        assert_eq!(text(&harness.call("fine", json!({})).await), "ok");
    }
}

#[tokio::test]
async fn a_panic_while_planning_is_an_execution_error_too() {
    let plan = || ScriptedTool::new("boom").plan(|_, _| panic!("bad plan"));
    for harness in [setup().tool(plan()).build(), setup().built_in(plan()).build()] {
        assert_eq!(failure(&harness.call("boom", json!({})).await), (ErrorKind::ExecutionError, "Tool execution failed: bad plan".into()));
    }
}

#[tokio::test]
async fn a_plan_that_blocks_is_answered_at_the_timeout() {
    let tool = ScriptedTool::new("stuck").timeout(SHORT).plan(|_, _| {
        std::thread::sleep(Duration::from_secs(2));
        Ok(haft_contract::Plan::nothing())
    });
    let harness = setup().tool(tool).build();
    let started = Instant::now();
    assert_eq!(failure(&harness.call("stuck", json!({})).await).0, ErrorKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn cancelled_call_says_that_it_may_have_had_effects_if_it_had_any_to_have() {
    for told in [false, true] {
        let plan = move || if told { Plan::nothing().spawn("helper") } else { Plan::nothing() };
        let tool = ScriptedTool::new("wait").plan(move |_, _| Ok(plan())).body(|_, cx| async move {
            cx.progress(Progress::message("begun"));
            std::future::pending::<()>().await;
            Ok(ToolOutput::text("never"))
        });
        let recorder = Arc::new(ProgressRecorder::default());
        let sink = Arc::clone(&recorder);
        let harness = setup().tool(tool).session(move |builder| builder.access(Access::FullAccess).progress(sink)).build();
        let token = CancellationToken::new();
        let call = harness.engine.run_until(ToolCall::new("1", "wait", json!({})), &harness.session, &token);
        let stop = async {
            while recorder.messages().is_empty() {
                tokio::task::yield_now().await;
            }
            token.cancel();
        };
        let (result, ()) = tokio::join!(call, stop);
        let (kind, message) = failure(&result);
        assert_eq!((kind, message.contains("It may have had effects")), (ErrorKind::Cancelled, told), "{message}");
    }
}

#[tokio::test]
async fn cancelling_the_session_a_batch_or_a_call_answers_cancelled() {
    let harness = setup().tool(ScriptedTool::new("wait").body(|_, cx| async move {
        cx.progress(Progress::message("begun"));
        std::future::pending::<()>().await;
        Ok(ToolOutput::text("never"))
    }));
    let recorder = Arc::new(ProgressRecorder::default());
    let sink = Arc::clone(&recorder);
    let harness = harness.session(move |builder| builder.progress(sink)).build();
    let token = CancellationToken::new();
    let call = harness.engine.run_until(ToolCall::new("1", "wait", json!({})), &harness.session, &token);
    let stop = async {
        while recorder.messages().is_empty() {
            tokio::task::yield_now().await;
        }
        token.cancel();
    };
    let (result, ()) = tokio::join!(call, stop);
    assert_eq!(failure(&result).0, ErrorKind::Cancelled);

    harness.session.cancellation().cancel();
    assert_eq!(failure(&harness.call("wait", json!({})).await).0, ErrorKind::Cancelled);
    let both = vec![ToolCall::new("a", "wait", json!({"n": 1})), ToolCall::new("b", "wait", json!({"n": 2}))];
    let results = harness.engine.run_all(both, &harness.session).await;
    assert!(results.iter().all(|result| failure(result).0 == ErrorKind::Cancelled));
    assert_eq!(harness.history().await.len(), 4, "cancelled calls are recorded");
}

#[tokio::test]
async fn time_is_measured_and_progress_passed_on() {
    let tool = ScriptedTool::new("work").body(|_, cx| async move {
        cx.progress(Progress::message("half"));
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(ToolOutput::text("done"))
    });
    let recorder = Arc::new(ProgressRecorder::default());
    let sink = Arc::clone(&recorder);
    let harness = setup().tool(tool).session(move |builder| builder.progress(sink)).build();
    let result = harness.call("work", json!({})).await;
    assert_eq!(text(&result), "done");
    assert!(result.elapsed >= Duration::from_millis(20));
    assert_eq!(recorder.messages(), ["half"]);
    assert_eq!(harness.history().await[0].elapsed.as_millis() / 20, result.elapsed.as_millis() / 20);
}

/// Seed 004, section 1.1: `execute(toolCallId, params, signal, onUpdate)`.
#[tokio::test]
async fn tool_gets_call_id_arguments_cancellation_and_progress() {
    let tool = ScriptedTool::new("work").body(|arguments, cx| async move {
        cx.progress(Progress::message(format!("{} {arguments}", cx.call().id)));
        cx.cancellation().cancelled().await;
        Ok(ToolOutput::text("cancelled"))
    });
    let recorder = Arc::new(ProgressRecorder::default());
    let sink = Arc::clone(&recorder);
    let harness = setup().tool(tool).session(move |builder| builder.progress(sink)).build();
    let call = harness.engine.run(ToolCall::new("call-7", "work", json!({"n": 1})), &harness.session);
    let stop = async {
        while recorder.messages().is_empty() {
            tokio::task::yield_now().await;
        }
        harness.session.cancellation().cancel();
    };
    let (result, ()) = tokio::join!(call, stop);
    assert_eq!(result.call_id, "call-7");
    assert_eq!(recorder.messages(), [r#"call-7 {"n":1}"#]);
}

#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl EventSink for Recorder {
    fn event(&self, event: &Event<'_>) {
        let line = match event {
            Event::Started { call: CallInfo { tool, .. } } => format!("start {tool}"),
            Event::Finished { call, error, .. } => format!("end {} {error:?}", call.tool),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test]
async fn watchers_see_one_end_for_every_call() {
    let recorder = Arc::new(Recorder::default());
    let sink = Arc::clone(&recorder);
    let harness = setup().tool(ScriptedTool::new("fine")).engine(move |builder| builder.events(sink)).build();
    harness.call("fine", json!({})).await;
    harness.call("missing", json!({})).await;
    assert_eq!(*recorder.0.lock().unwrap(), ["start fine", "end fine None", "end missing Some(ToolNotFound)"]);
}

#[tokio::test]
async fn tools_do_not_run_on_the_thread_that_asked() {
    let tool = ScriptedTool::new("where_am_i")
        .body(|_, _| async { Ok(ToolOutput::text(std::thread::current().name().unwrap_or("?").to_owned())) });
    let harness = setup().tool(tool).build();
    assert_eq!(text(&harness.call("where_am_i", json!({})).await), "haft-tool");
}

/// Writes `late` after a while, unless it is stopped before.
fn late_writer() -> ScriptedTool {
    ScriptedTool::new("late").plans_write().timeout(LONG).body(|_, cx| async move {
        cx.progress(Progress::message("begun"));
        tokio::time::sleep(Duration::from_millis(150)).await;
        cx.fs().write("late", b"too late".to_vec(), WriteMode::Overwrite).await?;
        Ok(ToolOutput::text("wrote"))
    })
}

#[tokio::test]
async fn a_run_that_is_dropped_takes_its_tool_along() {
    for built_in in [false, true] {
        let recorder = Arc::new(ProgressRecorder::default());
        let sink = Arc::clone(&recorder);
        let setup = if built_in { setup().built_in(late_writer()) } else { setup().tool(late_writer()) };
        let harness = setup.session(move |builder| builder.progress(sink)).build();
        let begun = async {
            while recorder.messages().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            result = harness.call("late", json!({"path": "late"})) => panic!("it should be dropped, not answered: {result:?}"),
            () = begun => {}
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(harness.host.files.text("late"), None, "built-in: {built_in}");
    }
}

#[tokio::test]
async fn a_slow_call_does_not_cancel_its_callers_token() {
    let harness =
        setup().tool(ScriptedTool::new("slow").sleeps(LONG).timeout(SHORT)).tool(ScriptedTool::new("next").returns("fine")).build();
    let turn = CancellationToken::new();
    let slow = harness.engine.run_until(ToolCall::new("1", "slow", json!({})), &harness.session, &turn).await;
    assert_eq!((failure(&slow).0, turn.is_cancelled()), (ErrorKind::Timeout, false));
    let both = vec![ToolCall::new("2", "slow", json!({"n": 1})), ToolCall::new("3", "next", json!({}))];
    let results = harness.engine.run_all_until(both, &harness.session, &turn).await;
    assert_eq!((failure(&results[0]).0, text(&results[1]).as_str()), (ErrorKind::Timeout, "fine"));
}

#[tokio::test]
async fn cancelling_the_session_ends_a_call_that_has_a_token_of_its_own() {
    let recorder = Arc::new(ProgressRecorder::default());
    let sink = Arc::clone(&recorder);
    let harness = setup().tool(late_writer()).session(move |builder| builder.progress(sink)).build();
    let turn = CancellationToken::new();
    let stop = async {
        while recorder.messages().is_empty() {
            tokio::task::yield_now().await;
        }
        harness.session.cancellation().cancel();
    };
    let call = harness.engine.run_until(ToolCall::new("1", "late", json!({"path": "late"})), &harness.session, &turn);
    let (result, ()) = tokio::join!(call, stop);
    assert_eq!(failure(&result).0, ErrorKind::Cancelled);
}

#[tokio::test]
async fn plans_that_block_do_not_use_up_the_threads() {
    let stuck = ScriptedTool::new("stuck").timeout(SHORT).plan(|_, _| {
        std::thread::sleep(Duration::from_secs(3));
        Ok(haft_contract::Plan::nothing())
    });
    let harness = setup().tool(stuck).tool(ScriptedTool::new("quick").returns("here")).build();
    let calls = (0..20).map(|n| ToolCall::new(n.to_string(), "stuck", json!({"n": n}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results.iter().all(|result| failure(result).0 == ErrorKind::Timeout));
    assert_eq!(text(&harness.call("quick", json!({})).await), "here");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn threads_of_tools_that_came_back_are_given_back() {
    let threads = || {
        std::fs::read_dir("/proc/self/task")
            .unwrap()
            .filter(|task| {
                let name = task.as_ref().map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
                name.is_ok_and(|name| name.starts_with("haft-tool"))
            })
            .count()
    };
    let slow = ScriptedTool::new("slow").blocks(Duration::from_millis(120)).timeout(Duration::from_millis(20));
    let harness = setup().tool(slow).session(|builder| builder.loop_limits(None)).build();
    let mut most = 0;
    for _ in 0..12 {
        let calls = (0..4).map(|n| ToolCall::new(n.to_string(), "slow", json!({"n": n}))).collect();
        harness.engine.run_all(calls, &harness.session).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        most = most.max(threads());
    }
    drop(harness);
    // Other tests of this process have threads of that name too; twelve leaked sets would be 96 more.
    assert!(most < 90, "{most} threads");
}

#[tokio::test]
async fn a_context_that_was_kept_reaches_nothing_after_its_call() {
    let kept: Arc<Mutex<Option<ToolContext>>> = Arc::default();
    let store = Arc::clone(&kept);
    let tool = ScriptedTool::new("keep").plans_write().body(move |_, cx| {
        *store.lock().unwrap() = Some(cx);
        async { Ok(ToolOutput::text("kept")) }
    });
    let harness = setup().tool(tool).build();
    assert!(harness.call("keep", json!({"path": "a"})).await.is_success());
    let cx = kept.lock().unwrap().take().unwrap();
    let error = cx.fs().write("a", b"x".to_vec(), WriteMode::Overwrite).await.unwrap_err();
    assert_eq!((error.kind(), harness.host.files.text("a")), (ErrorKind::Cancelled, None));
}

#[tokio::test]
async fn a_hook_that_hangs_does_not_hang_the_call() {
    struct Hangs(&'static str);
    impl Hook for Hangs {
        fn name(&self) -> &str {
            self.0
        }
        fn before<'a>(&'a self, _call: HookCall<'a>) -> BoxFuture<'a, Result<haft_engine::HookDecision, String>> {
            Box::pin(async { if self.0 == "before" { std::future::pending().await } else { Ok(haft_engine::HookDecision::Continue) } })
        }
        fn after<'a>(&'a self, _call: HookCall<'a>, _result: &'a haft_contract::ToolResult) -> BoxFuture<'a, Result<(), String>> {
            Box::pin(async { if self.0 == "after" { std::future::pending().await } else { Ok(()) } })
        }
    }
    let with = |which| {
        let limits = |builder: haft_engine::EngineBuilder| {
            let mut limits = haft_engine::CallLimits::default();
            limits.hook = SHORT;
            builder.limits(limits)
        };
        setup().tool(ScriptedTool::new("fine").returns("ok")).engine(move |builder| limits(builder).hook(Arc::new(Hangs(which)))).build()
    };
    assert_eq!(text(&with("after").call("fine", json!({})).await), "ok");
    let (kind, message) = failure(&with("before").call("fine", json!({})).await);
    assert_eq!(kind, ErrorKind::Blocked);
    assert!(message.contains("it took longer than"), "{message}");
}

#[tokio::test]
async fn a_panic_around_a_call_is_its_error() {
    struct Bad;
    impl EventSink for Bad {
        fn event(&self, _event: &Event<'_>) {
            panic!("bad sink");
        }
    }
    impl haft_contract::ports::Approver for Bad {
        fn ask(&self, _request: haft_contract::ports::ApprovalRequest) -> BoxFuture<'_, haft_contract::ports::ApprovalAnswer> {
            panic!("bad approver");
        }
    }
    let unknown =
        ScriptedTool::new("ask").plan(|_, _| Ok(haft_contract::Plan::nothing().with(haft_contract::Effect::Unknown { why: "x".into() })));
    let harness = setup()
        .tool(unknown)
        .tool(ScriptedTool::new("fine").returns("ok"))
        .engine(|builder| builder.events(Arc::new(Bad)))
        .session(|builder| builder.access(haft_contract::Access::FullAccess).approver(Arc::new(Bad)))
        .build();
    let calls = vec![ToolCall::new("a", "ask", json!({})), ToolCall::new("b", "fine", json!({}))];
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert_eq!(failure(&results[0]), (ErrorKind::ExecutionError, "Tool execution failed: bad approver".into()));
    assert_eq!(text(&results[1]), "ok");
}
