//! Taking all calls of a session back.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{ErrorKind, ToolCall, ports::Host};
use haft_engine::{Session, UndoError, UndoneSession};
use haft_store::CallLog;
use haft_testkit::FileOperation;
use serde_json::json;

use crate::harness::Harness;
use crate::undo::{harness, write};

async fn undo(harness: &Harness, force: bool) -> Result<UndoneSession, UndoError> {
    harness.engine.undo_session(harness.session.id(), &*harness.host, force).await
}

fn texts<const N: usize>(harness: &Harness, paths: [&str; N]) -> [Option<String>; N] {
    paths.map(|path| harness.host.files.text(path))
}

async fn marks(harness: &Harness) -> Vec<bool> {
    harness.history().await.iter().rev().map(|call| call.undone).collect()
}

/// Writes a file as another session would.
async fn write_elsewhere(harness: &Harness, path: &str, content: &str) {
    let other = Session::builder(Arc::clone(&harness.host) as Arc<dyn Host>).build();
    let call = ToolCall::new("other", "write", json!({"path": path, "content": content}));
    assert!(harness.engine.run(call, &other).await.is_success());
}

#[tokio::test]
async fn every_file_of_a_session_goes_back_to_where_the_session_began() {
    let harness = harness();
    harness.host.files.put("a", "old");
    for (path, content) in [("a", "one"), ("b", "one"), ("a", "two"), ("c", "one")] {
        write(&harness, path, content).await;
    }
    write_elsewhere(&harness, "d", "other").await;
    harness.call("noop", json!({})).await;
    let mut calls = harness.history().await;
    calls.retain(|call| *call.session == **harness.session.id() && call.tool == "write");

    let undone = undo(&harness, false).await.unwrap();
    let files = ["c", "b", "a"].map(|name| PathBuf::from("/workspace").join(name)).to_vec();
    assert_eq!(undone, UndoneSession { calls, files, kept: Vec::new(), uncovered: Vec::new() });
    assert_eq!(texts(&harness, ["a", "b", "c", "d"]), [Some("old".into()), None, None, Some("other".into())]);
    assert_eq!(marks(&harness).await, [true, true, true, true, false, false]);
    let again = undo(&harness, false).await.unwrap_err();
    assert_eq!(again.to_string(), format!("session {} has no call left to undo", harness.session.id()));
}

#[tokio::test]
async fn what_something_else_changed_stops_it_before_anything_is_touched() {
    let harness = harness();
    harness.host.files.put("between", "old");
    harness.host.files.put("after", "old");
    for path in ["fine", "between", "after"] {
        write(&harness, path, "one").await;
    }
    harness.host.files.put("between", "user");
    write(&harness, "between", "two").await;
    write_elsewhere(&harness, "after", "other").await;
    let before = texts(&harness, ["fine", "between", "after"]);

    let refused = undo(&harness, false).await.unwrap_err();
    let expected = ["between", "after"].map(|name| PathBuf::from("/workspace").join(name));
    assert!(matches!(&refused, UndoError::ChangedElsewhere(files) if *files == expected), "{refused:?}");
    assert_eq!(texts(&harness, ["fine", "between", "after"]), before);
    assert!(!marks(&harness).await.contains(&true));

    let undone = undo(&harness, true).await.unwrap();
    assert_eq!(texts(&harness, ["fine", "between", "after"]), [None, Some("old".into()), Some("old".into())]);
    let kept: Vec<_> = undone.kept.iter().map(|kept| (kept.path.clone(), std::fs::read_to_string(&kept.copy).unwrap())).collect();
    let [between, after] = expected;
    assert_eq!(kept, [(between, "user".to_owned()), (after, "other".to_owned())], "nothing is lost");
}

#[tokio::test]
async fn a_file_that_is_as_before_does_not_stop_an_undo() {
    let harness = harness();
    harness.host.files.put("a", "old");
    write(&harness, "a", "one").await;
    harness.host.files.put("a", "user");
    write(&harness, "a", "two").await;
    harness.host.files.put("a", "old");
    write(&harness, "b", "one").await;
    let undone = undo(&harness, false).await.unwrap();
    assert_eq!((undone.files, texts(&harness, ["a", "b"])), (vec!["/workspace/b".into()], [Some("old".into()), None]));
}

#[tokio::test]
async fn what_is_undone_already_is_left_out() {
    let harness = harness();
    harness.host.files.put("a", "old");
    write(&harness, "a", "one").await;
    write(&harness, "a", "two").await;
    harness.engine.undo(None, &*harness.host, false).await.unwrap();
    write(&harness, "a", "three").await;
    let undone = undo(&harness, false).await.unwrap();
    assert_eq!((undone.calls.len(), texts(&harness, ["a"])), (2, [Some("old".into())]));
}

#[tokio::test]
async fn one_that_was_cut_off_is_repeated() {
    let harness = harness();
    harness.host.files.put("a", "old");
    write(&harness, "a", "one").await;
    write(&harness, "a", "two").await;
    // As if the process had ended after the files, and one of the marks, were written.
    harness.host.files.put("a", "old");
    let newest = harness.history().await.remove(0).id;
    harness.log.mark_undone(&newest).await.unwrap();
    let undone = undo(&harness, false).await.unwrap();
    assert_eq!((undone.files, undone.calls.len(), marks(&harness).await), (Vec::new(), 1, vec![true, true]));
}

#[tokio::test]
async fn one_file_that_cannot_be_put_back_leaves_all_as_they_were() {
    let harness = harness();
    for path in ["a", "b", "c"] {
        harness.host.files.put(path, "old");
        write(&harness, path, "one").await;
        write(&harness, path, "two").await;
    }
    harness.host.files.fail(FileOperation::Finish, "b", ErrorKind::PermissionDenied, "locked");
    let stopped = undo(&harness, false).await.unwrap_err();
    assert_eq!(stopped.to_string(), "/workspace/b could not be put back, so nothing was undone: locked");
    assert_eq!(texts(&harness, ["a", "b", "c"]), [Some("two".into()), Some("two".into()), Some("two".into())]);
    assert!(!marks(&harness).await.contains(&true));
}
