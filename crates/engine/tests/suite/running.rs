//! The tool itself: timeouts, panics, threads, cancellation. The engine answers whatever it does.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft_contract::{CallInfo, ErrorKind, Progress, ToolCall, ToolOutput};
use haft_engine::{Event, EventSink};
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
