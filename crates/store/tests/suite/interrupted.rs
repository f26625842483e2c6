//! Calls whose process was killed before they had an outcome.

use std::io::{BufRead, BufReader};
use std::process::Child;

use haft_store::{CallRecord, CallStatus};

use crate::common::record;
use crate::suite::test_store::{TestStore, until};

fn begun(id: &str) -> CallRecord {
    CallRecord { status: CallStatus::Begun, ..record(id) }
}

/// Not a test by itself: the process that is killed in the middle of `r2`.
#[tokio::test]
async fn child_that_runs_calls() {
    let Some(store) = TestStore::of_parent() else { return };
    let log = store.open().log;
    log.append(begun("r1")).unwrap();
    log.append(record("r1")).unwrap();
    log.append(begun("r2")).unwrap();
    log.flush().await.unwrap();
    println!("\nready");
    std::thread::sleep(std::time::Duration::from_mins(1));
}

fn running(store: &TestStore) -> Child {
    let mut child = store.process("suite::interrupted::child_that_runs_calls").spawn().unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap() == "ready");
    assert!(ready);
    child
}

pub(crate) async fn a_call_is_interrupted_when_its_process_is_gone_and_has_one_finder(store: &TestStore) {
    let mut child = running(store);
    let (log, other) = (store.open().log, store.open().log);
    assert_eq!(log.take_interrupted().await.unwrap(), [], "it still runs");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(until(async || log.take_interrupted().await.unwrap(), |calls| !calls.is_empty()).await, [begun("r2")]);
    assert_eq!((log.take_interrupted().await.unwrap(), other.take_interrupted().await.unwrap()), (vec![], vec![]), "it was taken");
    // The process that took it ends without an outcome too.
    drop(log);
    assert_eq!(other.take_interrupted().await.unwrap(), [begun("r2")]);
    other.append(CallRecord { status: CallStatus::Error("interrupted".into()), ..record("r2") }).unwrap();
    other.flush().await.unwrap();
    drop(other);
    assert_eq!(store.open().log.take_interrupted().await.unwrap(), []);
}

pub(crate) async fn a_call_that_was_undone_is_not_interrupted_any_more(store: &TestStore) {
    let log = store.open().log;
    log.append(begun("r1")).unwrap();
    log.append(begun("r2")).unwrap();
    log.mark_undone("r1").await.unwrap();
    drop(log);
    assert_eq!(store.open().log.take_interrupted().await.unwrap(), [begun("r2")]);
}
