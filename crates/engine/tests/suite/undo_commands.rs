//! Undo of commands: their changes are recorded when they have happened, stay when the command fails, and can be partly unknown.

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{
    Access, AskMode, CommandRequest, ExecHost, Job, JobOptions, Plan, ToolError, ToolOutput,
    ports::{FileSystem, PreImage},
};
use haft_engine::UndoError;
use haft_store::CallLog;
use haft_testkit::{KeptImage, Script, ScriptedTool};
use serde_json::json;

use crate::asking::policy;
use crate::harness::{Harness, setup, text};

fn request(host: Option<ExecHost>) -> CommandRequest {
    CommandRequest { command: "make".into(), host, ..CommandRequest::default() }
}

/// A tool that starts a command, and reports a failure if its exit code is one.
fn harness() -> Harness {
    let tool = ScriptedTool::new("run")
        .plan(|arguments, cx| {
            let host = (arguments["host"] == "host").then_some(ExecHost::Host);
            Ok(Plan::nothing().command(cx.command(&request(host))?))
        })
        .body(|_, cx| async move {
            let job = cx.process().start(JobOptions::default()).await?;
            match job.wait().await.code {
                Some(0) => Ok(ToolOutput::text("done")),
                _ => Err(ToolError::execution("failed")),
            }
        });
    let policy = policy(AskMode::Rules, &[], &[]);
    let setup = setup().built_in(tool).engine(move |builder| builder.policy(Arc::new(policy)));
    setup.session(|builder| builder.access(Access::FullAccess)).build()
}

/// A file that a command changed from one text to another.
async fn edited(harness: &Harness, path: &str, old: &str, new: &str) -> KeptImage {
    harness.host.files.put(path, new);
    let after = harness.host.files.fingerprint_of(Box::new(Cursor::new(new.to_owned()))).await.unwrap();
    KeptImage { path: path.into(), content: Some(old.into()), mode: None, after: Some(after), created_directories: Vec::new() }
}

fn unknown(path: &str) -> KeptImage {
    KeptImage { path: path.into(), content: None, mode: Some(PreImage::UNKNOWN), after: None, created_directories: Vec::new() }
}

#[tokio::test]
async fn direct_changes_of_a_failed_command_stay_and_can_be_undone() {
    let harness = harness();
    let images = vec![edited(&harness, "/workspace/a", "old", "new").await];
    harness.host.processes.script(Script::says("").changes(images).exits(2));
    assert!(harness.call("run", json!({})).await.outcome.is_err());
    assert_eq!(harness.host.files.text("a").unwrap(), "new", "the failure reverts nothing");
    let undone = harness.engine.undo(None, &*harness.host, false).await.unwrap();
    assert_eq!((undone.files, undone.uncovered), (vec![PathBuf::from("/workspace/a")], Vec::new()));
    assert_eq!(harness.host.files.text("a").unwrap(), "old");
}

#[tokio::test]
async fn undo_restores_what_was_kept_and_names_the_rest() {
    let harness = harness();
    let images = vec![edited(&harness, "/workspace/a", "old", "new").await, unknown("/workspace/large")];
    harness.host.processes.script(Script::says("").changes(images));
    assert_eq!(text(&harness.call("run", json!({})).await), "done");
    let undone = harness.engine.undo(None, &*harness.host, false).await.unwrap();
    assert_eq!((undone.files, undone.uncovered), (vec![PathBuf::from("/workspace/a")], vec![PathBuf::from("/workspace/large")]));
}

#[tokio::test]
async fn undo_stops_at_a_command_outside_the_sandbox() {
    let harness = harness();
    let images = vec![edited(&harness, "/workspace/a", "old", "new").await];
    harness.host.processes.script(Script::says("").changes(images));
    harness.call("run", json!({})).await;
    harness.host.processes.script(Script::says(""));
    assert_eq!(text(&harness.call("run", json!({"host": "host"})).await), "done");
    let refused = harness.engine.undo(None, &*harness.host, false).await.unwrap_err();
    assert!(matches!(&refused, UndoError::NotKept { paths, .. } if *paths == [PathBuf::from("/workspace")]), "{refused}");
    assert_eq!(harness.host.files.text("a").unwrap(), "new", "the older call is not undone instead");
}

#[tokio::test]
async fn sandboxed_command_that_changed_nothing_has_nothing_to_undo() {
    let harness = harness();
    harness.host.processes.script(Script::says(""));
    harness.call("run", json!({})).await;
    assert!(matches!(harness.engine.undo(None, &*harness.host, false).await, Err(UndoError::Nothing)));
    let call = harness.history().await.remove(0);
    assert_eq!(harness.log.pre_images(&call.id).await.unwrap(), []);
}
