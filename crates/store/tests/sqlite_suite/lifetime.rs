//! The end of a log, of its process, and life without a runtime.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::Duration;

use haft_store::CallLog;
use tempfile::tempdir;

use super::{expected_ids, listing, open};
use crate::common::{ids, record};

#[tokio::test]
async fn what_was_queued_is_there_after_reopening_without_a_flush() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..1000 {
        log.append(record(&format!("r{number:04}"))).unwrap();
    }
    drop(log);
    assert_eq!(ids(&open(folder.path())).await, expected_ids(1000));
    let log_bytes = listing(folder.path(), |path| path.metadata().unwrap().len()).into_iter().find(|(name, _)| name == "haft.db-wal");
    assert_eq!(log_bytes, Some(("haft.db-wal".to_owned(), 0)), "closing empties a long log");
}

#[test]
fn it_works_without_a_runtime() {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    log.append(record("r1")).unwrap();
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut list = Box::pin(ids(&log));
    let found = loop {
        match list.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(found) => break found,
            Poll::Pending => thread::park(),
        }
    };
    assert_eq!(found, ["r1"]);
}

const CHILD: &str = "HAFT_STORE_TEST_CHILD";

/// Not a test by itself: the process that `a_killed_process_loses_nothing_it_flushed` starts and kills.
#[tokio::test]
async fn child_that_is_killed() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let log = open(&folder);
    for number in 0..100 {
        log.append(record(&format!("r{number:04}"))).unwrap();
    }
    log.flush().await.unwrap();
    println!("flushed");
    // Until it is killed; bounded in case it is not.
    for number in 100..10_000 {
        log.append(record(&format!("r{number:04}"))).unwrap();
        thread::sleep(Duration::from_micros(100));
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_it_flushed() {
    let folder = tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite_suite::lifetime::child_that_is_killed", "--nocapture"])
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let flushed = BufReader::new(child.stdout.take().unwrap()).lines().any(|line| line.unwrap().ends_with("flushed"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(flushed);
    let found = ids(&open(folder.path())).await;
    assert!(found.len() >= 100, "only {} records", found.len());
    assert_eq!(found, expected_ids(found.len()), "in the order they were queued, with none missing between");
}
