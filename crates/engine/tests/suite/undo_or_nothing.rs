//! Undoing what did not happen, what is half gone, and what something else works on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ErrorKind, Plan, ToolCall, ToolContext, ToolError, ToolOutput, WriteMode, ports::Host};
use haft_engine::{UndoError, UndoneCall};
use haft_store::{BlobId, CallLog, PreImageRecord};
use haft_testkit::{FileOperation, ScriptedTool};
use serde_json::json;
use tokio::sync::Notify;

use crate::harness::{Harness, failure, plugin};
use crate::undo::{harness, write};

/// Adds a tool that plans to write these files, whatever it does.
fn add_tool<F>(harness: &Harness, name: &str, paths: &'static [&'static str], body: impl Fn(ToolContext) -> F + Send + Sync + 'static)
where
    F: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let tool = ScriptedTool::new(name)
        .timeout(Duration::from_secs(30))
        .plan(|_, cx| paths.iter().try_fold(Plan::nothing(), |plan, path| Ok(plan.write(cx.locate(path)?))))
        .body(move |_, cx| {
            let work = body(cx);
            async move { work.await.map(|()| ToolOutput::text("ok")) }
        });
    harness.engine.registry().register(tool.shared(), plugin()).unwrap();
}

async fn put(cx: &ToolContext, path: &str, content: &str) -> Result<(), ToolError> {
    cx.fs().write(path, content.into(), WriteMode::Overwrite).await.map(drop)
}

async fn undo(harness: &Harness, id: Option<&str>) -> Result<UndoneCall, UndoError> {
    harness.engine.undo(id, &*harness.host, false).await
}

/// What these files hold.
fn texts<const N: usize>(harness: &Harness, paths: [&str; N]) -> [Option<String>; N] {
    paths.map(|path| harness.host.files.text(path))
}

fn some<const N: usize>(texts: [&str; N]) -> [Option<String>; N] {
    texts.map(|text| Some(text.to_owned()))
}

async fn marks(harness: &Harness) -> Vec<bool> {
    harness.history().await.iter().map(|call| call.undone).collect()
}

#[tokio::test]
async fn a_write_that_failed_is_nothing_to_undo_and_hides_nothing() {
    let harness = harness();
    harness.host.files.put("a", "old");
    write(&harness, "b", "tool").await;
    harness.host.files.fail(FileOperation::Finish, "a", ErrorKind::ExecutionError, "changed while being written");
    let result = harness.call("write", json!({"path": "a", "content": "tool"})).await;
    assert_eq!(failure(&result).1, "changed while being written");
    let failed = harness.history().await[0].id.clone();
    harness.host.files.put("a", "user");

    let undone = undo(&harness, None).await.unwrap();
    assert_eq!(undone.files, [Path::new("/workspace/b")]);
    assert_eq!(texts(&harness, ["a", "b"]), [Some("user".to_owned()), None]);
    let refused = harness.engine.undo(Some(&failed), &*harness.host, true).await;
    assert!(matches!(refused, Err(UndoError::NoFiles(_))), "{refused:?}");
    assert!(matches!(undo(&harness, None).await, Err(UndoError::Nothing)));
}

#[tokio::test]
async fn a_file_that_is_as_before_is_done() {
    let harness = harness();
    harness.host.files.put("a", "old");
    write(&harness, "b", "tool").await;
    write(&harness, "a", "tool").await;
    write(&harness, "new", "tool").await;
    // As if the writes had been cut off after their pre-images were kept.
    harness.host.files.put("a", "old");
    let at = harness.host.files().locate(Path::new("new")).unwrap();
    harness.host.files().delete(&at, &*harness.host.journal).await.unwrap();

    let newest = harness.history().await.remove(0);
    let undone = undo(&harness, Some(&newest.id)).await.unwrap();
    assert_eq!(undone, UndoneCall { call: newest, files: Vec::new(), kept: Vec::new(), uncovered: Vec::new() });
    assert_eq!(marks(&harness).await, [true, false, false]);
    assert_eq!(undo(&harness, None).await.unwrap().files, [Path::new("/workspace/b")]);
    assert_eq!((texts(&harness, ["a", "b"]), marks(&harness).await), ([Some("old".to_owned()), None], vec![true, true, true]));
}

#[tokio::test]
async fn a_file_changed_twice_goes_back_to_its_beginning() {
    let harness = harness();
    harness.host.files.put("a", "old");
    add_tool(&harness, "twice", &["a"], |cx| async move {
        put(&cx, "a", "one").await?;
        put(&cx, "a", "two").await
    });
    harness.call("twice", json!({})).await;
    assert_eq!(texts(&harness, ["a"]), some(["two"]));
    let undone = undo(&harness, None).await.unwrap();
    assert_eq!((undone.files.len(), texts(&harness, ["a"])), (1, some(["old"])));
}

#[tokio::test]
async fn a_call_that_fails_leaves_no_half_of_its_changes() {
    let harness = harness();
    harness.host.files.put("a", "old");
    harness.host.files.put("b", "old");
    harness.host.files.fail(FileOperation::Write, "b", ErrorKind::ExecutionError, "full");
    add_tool(&harness, "both", &["new", "a", "b"], |cx| async move {
        put(&cx, "new", "made").await?;
        put(&cx, "a", "one").await?;
        put(&cx, "a", "two").await?;
        put(&cx, "b", "never").await
    });
    let result = harness.call("both", json!({})).await;
    assert_eq!(result.outcome.unwrap_err().message(), "full");
    assert_eq!(texts(&harness, ["a", "b", "new"]), [Some("old".to_owned()), Some("old".to_owned()), None]);
    assert!(matches!(undo(&harness, None).await, Err(UndoError::Nothing)), "there is nothing left to take back");
}

#[tokio::test]
async fn a_second_change_that_was_cut_off_does_not_hide_the_first() {
    let harness = harness();
    harness.host.files.put("a", "old");
    write(&harness, "a", "one").await;
    let call = harness.history().await.remove(0);
    let first = harness.log.pre_images(&call.id).await.unwrap().remove(0);
    harness.log.keep(PreImageRecord { after: Some("never".into()), ..first }).await.unwrap();
    undo(&harness, Some(&call.id)).await.unwrap();
    assert_eq!(texts(&harness, ["a"]), some(["old"]));
}

/// Three files of one call: one that is new between two that were there.
async fn three(harness: &Harness) -> String {
    harness.host.files.put("a", "old a");
    harness.host.files.put("c", "old c");
    add_tool(harness, "three", &["a", "b", "c"], |cx| async move {
        for path in ["a", "b", "c"] {
            put(&cx, path, &format!("new {path}")).await?;
        }
        Ok(())
    });
    assert!(harness.call("three", json!({})).await.is_success());
    harness.history().await.remove(0).id
}

#[tokio::test]
async fn with_anything_kept_missing_nothing_is_touched() {
    let harness = harness();
    let id = three(&harness).await;
    let images = harness.log.pre_images(&id).await.unwrap();
    for missing in ["a", "c"] {
        harness.call("noop", json!({})).await;
        let broken = harness.history().await.remove(0).id;
        for image in &images {
            let gone = image.path.ends_with(missing).then(|| BlobId("019a0000-aaaa-7000-8000-00000000abcd".into()));
            let content = gone.or_else(|| image.content.clone());
            harness.log.keep(PreImageRecord { record: broken.clone(), content, ..image.clone() }).await.unwrap();
        }
        let error = undo(&harness, Some(&broken)).await.unwrap_err();
        assert!(matches!(error, UndoError::Store(_)), "{error}");
        assert_eq!(texts(&harness, ["a", "b", "c"]), some(["new a", "new b", "new c"]), "{missing}");
    }
    undo(&harness, Some(&id)).await.unwrap();
    assert_eq!(texts(&harness, ["a", "b", "c"]), [Some("old a".into()), None, Some("old c".into())]);
}

#[tokio::test]
async fn one_file_that_cannot_be_put_back_leaves_all_as_they_were() {
    for stuck in ["a", "b", "c"] {
        let harness = harness();
        let id = three(&harness).await;
        harness.host.files.fail(FileOperation::Finish, stuck, ErrorKind::PermissionDenied, "locked");
        let error = undo(&harness, Some(&id)).await.unwrap_err();
        let expected = format!("/workspace/{stuck} could not be put back, so nothing was undone: locked");
        assert_eq!(error.to_string(), expected);
        assert_eq!(texts(&harness, ["a", "b", "c"]), some(["new a", "new b", "new c"]), "{stuck}");
        assert_eq!(marks(&harness).await, [false]);
    }
}

#[tokio::test]
async fn an_undo_waits_for_a_call_that_works_on_the_file() {
    let harness = harness();
    write(&harness, "a", "one").await;
    let first = harness.history().await.remove(0).id;
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (starting, going) = (Arc::clone(&started), Arc::clone(&go));
    add_tool(&harness, "slow", &["a"], move |cx| {
        let (starting, going) = (Arc::clone(&starting), Arc::clone(&going));
        async move {
            starting.notify_one();
            going.notified().await;
            put(&cx, "a", "two").await
        }
    });
    let (engine, session) = (harness.engine.clone(), harness.session.clone());
    let running = tokio::spawn(async move { engine.run(ToolCall::new("slow", "slow", json!({})), &session).await });
    started.notified().await;
    let mut undoing = std::pin::pin!(undo(&harness, Some(&first)));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut undoing).await.is_err(), "it did not wait");
    assert_eq!(texts(&harness, ["a"]), some(["one"]));
    go.notify_one();
    assert!(running.await.unwrap().is_success());
    let refused = undoing.await;
    assert!(matches!(&refused, Err(UndoError::Changed(paths)) if *paths == [Path::new("/workspace/a")]), "{refused:?}");
    assert_eq!(texts(&harness, ["a"]), some(["two"]), "the call's work is not lost");
}

#[tokio::test]
async fn a_call_that_still_runs_is_taken_back_whole() {
    let harness = harness();
    let (half, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (at_half, going) = (Arc::clone(&half), Arc::clone(&go));
    add_tool(&harness, "slow", &["a", "b"], move |cx| {
        let (at_half, going) = (Arc::clone(&at_half), Arc::clone(&going));
        async move {
            put(&cx, "a", "one").await?;
            at_half.notify_one();
            going.notified().await;
            put(&cx, "b", "two").await
        }
    });
    let (engine, session) = (harness.engine.clone(), harness.session.clone());
    let running = tokio::spawn(async move { engine.run(ToolCall::new("slow", "slow", json!({})), &session).await });
    half.notified().await;
    let id = harness.history().await.remove(0).id;
    let mut undoing = std::pin::pin!(undo(&harness, Some(&id)));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut undoing).await.is_err(), "it did not wait");
    go.notify_one();
    assert!(running.await.unwrap().is_success());
    assert_eq!(undoing.await.unwrap().files, [Path::new("/workspace/b"), Path::new("/workspace/a")]);
    assert_eq!(texts(&harness, ["a", "b"]), [None, None]);
}

#[tokio::test]
async fn two_undos_at_once_take_a_call_back_once() {
    let harness = harness();
    write(&harness, "a", "one").await;
    let id = harness.history().await.remove(0).id;
    let (one, other) = tokio::join!(undo(&harness, Some(&id)), undo(&harness, Some(&id)));
    assert_eq!((one.unwrap().files.len(), texts(&harness, ["a"])), (1, [None]));
    assert!(matches!(other, Err(UndoError::Already(_))), "{other:?}");

    write(&harness, "a", "one").await;
    write(&harness, "a", "two").await;
    let (one, other) = tokio::join!(undo(&harness, None), undo(&harness, None));
    assert_eq!((one.unwrap().files.len(), other.unwrap().files.len(), texts(&harness, ["a"])), (1, 1, [None]));
}
