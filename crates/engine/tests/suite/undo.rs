//! Taking calls back.

use std::path::PathBuf;

use haft_contract::{ToolOutput, WriteMode};
use haft_engine::{UndoError, UndoneCall};
use haft_store::CallStatus;
use haft_testkit::ScriptedTool;
use serde_json::json;

use crate::harness::{Harness, setup};

pub(crate) fn harness() -> Harness {
    let write = ScriptedTool::new("write").plans_write().body(|arguments, cx| async move {
        let content = arguments["content"].as_str().unwrap().as_bytes().to_vec();
        cx.fs().write(arguments["path"].as_str().unwrap(), content, WriteMode::Overwrite).await?;
        Ok(ToolOutput::text("ok"))
    });
    setup().tool(write).tool(ScriptedTool::new("noop")).build()
}

pub(crate) async fn write(harness: &Harness, path: &str, content: &str) {
    assert!(harness.call("write", json!({"path": path, "content": content})).await.is_success());
}

#[tokio::test]
async fn the_newest_change_goes_first_then_the_one_before() {
    let harness = harness();
    write(&harness, "a", "one").await;
    write(&harness, "a", "two").await;
    harness.call("noop", json!({})).await;
    harness.engine.undo(None, &*harness.host, false).await.unwrap();
    assert_eq!(harness.host.files.text("a").unwrap(), "one");
    let undone = harness.engine.undo(None, &*harness.host, false).await.unwrap();
    assert_eq!((harness.host.files.text("a"), undone.files.len()), (None, 1));
    assert!(matches!(harness.engine.undo(None, &*harness.host, false).await, Err(UndoError::Nothing)));
}

#[tokio::test]
async fn a_later_change_is_not_lost_unless_forced() {
    let harness = harness();
    harness.host.files.put("a", "original");
    write(&harness, "a", "tool").await;
    harness.host.files.put("a", "user");
    let refused = harness.engine.undo(None, &*harness.host, false).await.unwrap_err();
    assert!(matches!(refused, UndoError::Changed(_)), "{refused}");
    assert_eq!(harness.host.files.text("a").unwrap(), "user");
    let undone = harness.engine.undo(None, &*harness.host, true).await.unwrap();
    assert_eq!(harness.host.files.text("a").unwrap(), "original");
    let copies: Vec<_> = undone.kept.iter().map(|kept| (kept.path.clone(), std::fs::read_to_string(&kept.copy).unwrap())).collect();
    assert_eq!(copies, [(PathBuf::from("/workspace/a"), "user".to_owned())], "what was forced over is not lost");
}

#[tokio::test]
async fn what_the_call_wrote_needs_no_copy() {
    let harness = harness();
    harness.host.files.put("a", "original");
    write(&harness, "a", "tool").await;
    let call = harness.history().await.remove(0);
    let undone = harness.engine.undo(None, &*harness.host, true).await.unwrap();
    assert_eq!(undone, UndoneCall { call, files: vec!["/workspace/a".into()], kept: Vec::new(), uncovered: Vec::new() });
}

#[tokio::test]
async fn a_call_is_undone_by_its_id_and_only_once() {
    let harness = harness();
    write(&harness, "a", "one").await;
    write(&harness, "b", "two").await;
    let id = harness.history().await[1].id.clone();
    harness.engine.undo(Some(&id), &*harness.host, false).await.unwrap();
    assert_eq!((harness.host.files.text("a"), harness.host.files.text("b").as_deref()), (None, Some("two")));
    assert!(matches!(harness.engine.undo(Some(&id), &*harness.host, false).await, Err(UndoError::Already(_))));
    harness.call("noop", json!({})).await;
    let noop = harness.history().await[0].id.clone();
    assert!(matches!(harness.engine.undo(Some(&noop), &*harness.host, false).await, Err(UndoError::NoFiles(_))));
}

#[tokio::test]
async fn a_call_that_changes_something_is_recorded_before_it_runs() {
    let harness = setup().build();
    // The in-memory log keeps the last state; that the intent came first is visible in a tool that looks.
    let log = std::sync::Arc::clone(&harness.log);
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&seen);
    let tool = ScriptedTool::new("look").plans_write().body(move |_, _| {
        let (log, sink) = (std::sync::Arc::clone(&log), std::sync::Arc::clone(&sink));
        async move {
            use haft_store::CallLog;
            let calls = log.list(haft_store::CallFilter::default()).await.unwrap();
            sink.lock().unwrap().push((calls[0].tool.clone(), calls[0].status.clone()));
            Ok(ToolOutput::text("looked"))
        }
    });
    harness.engine.registry().register(tool.shared(), crate::harness::plugin()).unwrap();
    assert!(harness.call("look", json!({"path": "b"})).await.is_success());
    assert_eq!(*seen.lock().unwrap(), [("look".to_owned(), CallStatus::Begun)]);
    assert_eq!(harness.history().await[0].status, CallStatus::Success);
}
