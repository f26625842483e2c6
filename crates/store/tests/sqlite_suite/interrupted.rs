//! Calls whose process was killed before they had an outcome.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use haft_store::{CallLog, CallRecord, CallStatus};
use tempfile::tempdir;

use super::open;
use crate::common::record;

const CHILD: &str = "HAFT_STORE_TEST_RUNNING_CHILD";

fn begun(id: &str) -> CallRecord {
    CallRecord { status: CallStatus::Begun, ..record(id) }
}

/// Not a test by itself: the process that is killed in the middle of `r2`.
#[tokio::test]
async fn child_that_runs_calls() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let log = open(&folder);
    log.append(begun("r1")).unwrap();
    log.append(record("r1")).unwrap();
    log.append(begun("r2")).unwrap();
    log.flush().await.unwrap();
    println!("\nready");
    std::thread::sleep(std::time::Duration::from_mins(1));
}

fn running(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite_suite::interrupted::child_that_runs_calls", "--nocapture"])
        .env(CHILD, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap() == "ready");
    assert!(ready);
    child
}

#[tokio::test]
async fn a_call_is_interrupted_when_its_process_is_gone_and_has_one_finder() {
    let folder = tempdir().unwrap();
    let mut child = running(folder.path());
    let (log, other) = (open(folder.path()), open(folder.path()));
    assert_eq!(log.take_interrupted().await.unwrap(), [], "it still runs");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(log.take_interrupted().await.unwrap(), [begun("r2")]);
    assert_eq!((log.take_interrupted().await.unwrap(), other.take_interrupted().await.unwrap()), (vec![], vec![]), "it was taken");
    // The process that took it ends without an outcome too.
    drop(log);
    assert_eq!(other.take_interrupted().await.unwrap(), [begun("r2")]);
    other.append(CallRecord { status: CallStatus::Error("interrupted".into()), ..record("r2") }).unwrap();
    other.flush().await.unwrap();
    drop(other);
    assert_eq!(open(folder.path()).take_interrupted().await.unwrap(), []);
}

#[tokio::test]
async fn a_call_that_was_undone_is_not_interrupted_any_more() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    log.append(begun("r1")).unwrap();
    log.append(begun("r2")).unwrap();
    log.mark_undone("r1").await.unwrap();
    drop(log);
    assert_eq!(open(folder.path()).take_interrupted().await.unwrap(), [begun("r2")]);
}
