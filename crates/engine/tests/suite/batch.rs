//! Many calls at once: together where they can, in order where they must, one result each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::{ErrorKind, ToolCall, ToolOutput, WriteMode};
use haft_testkit::ScriptedTool;
use serde_json::json;
use tokio::sync::Barrier;

use crate::harness::{failure, setup, text};

#[tokio::test]
async fn independent_calls_run_at_the_same_time() {
    // Each call waits for all the others: run one after another, they would never finish.
    let barrier = Arc::new(Barrier::new(16));
    let tool = ScriptedTool::new("meet").timeout(Duration::from_secs(20)).body(move |arguments, _| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok(ToolOutput::text(arguments["n"].to_string()))
        }
    });
    let harness = setup().tool(tool).build();
    let calls = (0..16).map(|n| ToolCall::new(format!("id{n}"), "meet", json!({"n": n}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    let seen: Vec<_> = results.iter().map(|result| (result.call_id.clone(), text(result))).collect();
    let expected: Vec<_> = (0..16).map(|n| (format!("id{n}"), n.to_string())).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn results_keep_call_order_and_failures_touch_no_sibling() {
    let harness = setup()
        .tool(ScriptedTool::new("late").sleeps(Duration::from_millis(30)))
        .tool(ScriptedTool::new("boom").panics("x"))
        .tool(ScriptedTool::new("fail").fails(ErrorKind::NetworkError, "down"))
        .tool(ScriptedTool::new("fast").returns("quick"))
        .build();
    let names = ["late", "boom", "nope", "fail", "fast"];
    let calls = names.iter().map(|name| ToolCall::new(*name, *name, json!({}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    let seen: Vec<_> =
        results.iter().map(|result| (result.call_id.as_str(), result.outcome.as_ref().err().map(haft_contract::ToolError::kind))).collect();
    assert_eq!(
        seen,
        [
            ("late", None),
            ("boom", Some(ErrorKind::ExecutionError)),
            ("nope", Some(ErrorKind::ToolNotFound)),
            ("fail", Some(ErrorKind::NetworkError)),
            ("fast", None)
        ]
    );
    assert!(results[0].elapsed > results[4].elapsed, "durations are each call's own");
}

/// Appends its text to a file, slowly and not atomically: only the engine's locks keep it right.
fn slow_append() -> ScriptedTool {
    ScriptedTool::new("append").plans_write().timeout(Duration::from_secs(30)).body(|arguments, cx| async move {
        let path = arguments["path"].as_str().unwrap().to_owned();
        tokio::time::sleep(Duration::from_millis(arguments["wait"].as_u64().unwrap())).await;
        cx.fs().write(&path, arguments["text"].as_str().unwrap().as_bytes().to_vec(), WriteMode::Append).await?;
        Ok(ToolOutput::text("ok"))
    })
}

#[tokio::test]
async fn writes_to_one_path_run_in_call_order() {
    let harness = setup().tool(slow_append()).build();
    // The earlier the call, the longer it takes: without order the file would come out backwards.
    let calls =
        (0..6).map(|n| ToolCall::new(n.to_string(), "append", json!({"path": "log", "text": n.to_string(), "wait": 30 - 5 * n}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results.iter().all(haft_contract::ToolResult::is_success));
    assert_eq!(harness.host.files.text("log").unwrap(), "012345");
}

#[tokio::test]
async fn a_read_after_a_write_sees_it_and_other_paths_do_not_wait() {
    let read = ScriptedTool::new("read").plans_read().body(|arguments, cx| async move {
        let reader = cx.fs().open(arguments["path"].as_str().unwrap()).await?;
        let bytes = reader.read_at(0, 100).await?;
        Ok(ToolOutput::text(String::from_utf8_lossy(&bytes).into_owned()))
    });
    let harness = setup().tool(slow_append()).tool(read).build();
    harness.host.files.put("other", "there");
    let started = Instant::now();
    let calls = vec![
        ToolCall::new("w", "append", json!({"path": "new", "text": "fresh", "wait": 50})),
        ToolCall::new("r", "read", json!({"path": "new"})),
        ToolCall::new("o", "read", json!({"path": "other"})),
    ];
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert_eq!((text(&results[1]).as_str(), text(&results[2]).as_str()), ("fresh", "there"));
    assert!(results[2].elapsed < results[0].elapsed, "the unrelated read waited: {:?}", results[2].elapsed);
    assert!(started.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn a_denied_call_gives_its_place_in_the_queue_back() {
    // The first needs more than the session has; the second waits for the same path.
    let greedy = ScriptedTool::new("greedy").plan(|_, cx| {
        Ok(haft_contract::Plan::nothing().write(cx.locate("x")?).with(haft_contract::Effect::Unknown { why: "other".into() }))
    });
    let harness = setup().tool(slow_append()).tool(greedy).build();
    let calls = vec![ToolCall::new("1", "greedy", json!({})), ToolCall::new("2", "append", json!({"path": "x", "text": "y", "wait": 0}))];
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert_eq!(failure(&results[0]).0, ErrorKind::PermissionDenied);
    assert_eq!((text(&results[1]).as_str(), harness.host.files.text("x").as_deref()), ("ok", Some("y")));
}

#[tokio::test]
async fn a_slow_planner_delays_no_call_before_it() {
    let slow = ScriptedTool::new("slow").timeout(Duration::from_secs(10)).plan(|_, _| {
        std::thread::sleep(Duration::from_millis(300));
        Ok(haft_contract::Plan::nothing())
    });
    let harness = setup().tool(ScriptedTool::new("quick").returns("done")).tool(slow).build();
    let calls = vec![ToolCall::new("1", "quick", json!({})), ToolCall::new("2", "slow", json!({}))];
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results[0].elapsed < results[1].elapsed && results[0].elapsed < Duration::from_millis(250), "{:?}", results[0].elapsed);
}

#[tokio::test]
async fn a_program_waits_for_the_file_it_may_read() {
    let exec = ScriptedTool::new("exec").plan(|_, _| {
        let mut exec = haft_contract::Exec::new("/bin/cat", Vec::new(), "/workspace");
        exec.host = haft_contract::ExecHost::Sandbox;
        Ok(haft_contract::Plan::nothing().exec(exec))
    });
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (first, second) = (Arc::clone(&log), Arc::clone(&log));
    let write = slow_append().body(move |_, _| {
        let first = Arc::clone(&first);
        async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            first.lock().unwrap().push("write");
            Ok(ToolOutput::text("ok"))
        }
    });
    let exec = exec.body(move |_, _| {
        second.lock().unwrap().push("exec");
        async { Ok(ToolOutput::text("ok")) }
    });
    let harness = setup().tool(write).tool(exec).session(|builder| builder.access(haft_contract::Access::FullAccess)).build();
    let calls = vec![ToolCall::new("1", "append", json!({"path": "a"})), ToolCall::new("2", "exec", json!({}))];
    assert!(harness.engine.run_all(calls, &harness.session).await.iter().all(haft_contract::ToolResult::is_success));
    assert_eq!(*log.lock().unwrap(), ["write", "exec"]);
}

#[tokio::test]
async fn two_hundred_calls_and_none_get_their_answers() {
    let harness = setup().tool(ScriptedTool::new("echo")).build();
    let calls = (0..200).map(|n| ToolCall::new(n.to_string(), "echo", json!({"n": n}))).collect();
    let results = harness.engine.run_all(calls, &harness.session).await;
    assert!(results.iter().enumerate().all(|(n, result)| result.call_id == n.to_string() && result.is_success()));
    assert_eq!(harness.engine.run_all(Vec::new(), &harness.session).await.len(), 0);
    assert_eq!(harness.history().await.len(), 200);
}

mod property {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        /// Any batch of appends ends as if it had run one by one.
        #[test]
        fn parallel_equals_sequential(batch in proptest::collection::vec((0..3_usize, 0..8_u64), 1..12)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let harness = setup().tool(slow_append()).build();
                let mut expected: BTreeMap<String, String> = BTreeMap::new();
                let mut calls = Vec::new();
                for (number, (file, wait)) in batch.iter().enumerate() {
                    let (path, mark) = (format!("f{file}"), format!("[{number}]"));
                    expected.entry(path.clone()).or_default().push_str(&mark);
                    calls.push(ToolCall::new(number.to_string(), "append", json!({"path": path, "text": mark, "wait": wait})));
                }
                harness.engine.run_all(calls, &harness.session).await;
                for (path, content) in expected {
                    assert_eq!(harness.host.files.text(&path), Some(content));
                }
            });
        }
    }
}

#[tokio::test]
async fn a_call_begins_while_others_are_still_arriving() {
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let tool = ScriptedTool::new("tell").body(move |_, _| {
        let begun = begun.clone();
        async move {
            begun.send(()).unwrap();
            Ok(haft_contract::ToolOutput::text("told"))
        }
    });
    let harness = setup().tool(tool).build();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let never = tokio_util::sync::CancellationToken::new();
    let feeding = async {
        sender.send(ToolCall::new("1", "tell", json!({}))).unwrap();
        has_begun.recv().await.unwrap();
        sender.send(ToolCall::new("2", "missing", json!({}))).unwrap();
        drop(sender);
    };
    let mut seen = Vec::new();
    let each = |result: &haft_contract::ToolResult| seen.push(result.call_id.clone());
    let (results, ()) = tokio::join!(harness.engine.run_arriving(|cx| receiver.poll_recv(cx), &harness.session, &never, each), feeding);
    assert_eq!(
        results.iter().map(|result| (result.call_id.as_str(), result.is_success())).collect::<Vec<_>>(),
        [("1", true), ("2", false)]
    );
    // Each is reported when it is there; which of the two is first is not defined.
    seen.sort();
    assert_eq!(seen, ["1", "2"]);
}
