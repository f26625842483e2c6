//! What waits to be written is bounded.

use std::time::{Duration, Instant};

use haft_store::{CallLog, CallRecord, SqliteCallLog, SqliteOptions, StoreError};
use serde_json::json;
use tempfile::tempdir;

use super::{SHORT, expected_ids, outsider};
use crate::common::{ids, record};

#[tokio::test]
async fn appends_beyond_the_queue_limit_are_refused() {
    let folder = tempdir().unwrap();
    let patient = SqliteOptions { busy_timeout: Duration::from_mins(1), append_patience: SHORT };
    let log = SqliteCallLog::open_with(folder.path(), &patient).unwrap().log;
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let queued = (0..5000).take_while(|number| log.append(record(&format!("r{number:04}"))).is_ok()).count();
    assert_eq!(queued, 4096);
    let expected = format!(
        "the call was not recorded: too many records wait for the database {}; check that its disk has space and no process locks it",
        folder.path().join("haft.db").display()
    );
    assert_eq!(log.append(record("r5")).unwrap_err().to_string(), expected);
    holder.execute_batch("ROLLBACK").unwrap();
    log.flush().await.unwrap();
    assert_eq!(ids(&log).await, expected_ids(4096));
    log.append(record("r4096")).unwrap();
    assert_eq!(ids(&log).await, expected_ids(4097));
}

#[tokio::test]
async fn appends_do_not_wait_for_a_failing_writer() {
    let folder = tempdir().unwrap();
    let options = SqliteOptions { busy_timeout: SHORT, append_patience: Duration::from_mins(1) };
    let log = SqliteCallLog::open_with(folder.path(), &options).unwrap().log;
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    log.append(record("r0000")).unwrap();
    assert!(matches!(log.flush().await, Err(StoreError::Locked { .. })));
    let started = Instant::now();
    let queued =
        (1..5000).take_while(|number| !matches!(log.append(record(&format!("r{number:04}"))), Err(StoreError::Full { .. }))).count();
    assert_eq!(queued, 4095);
    assert!(started.elapsed() < Duration::from_secs(30), "it waited");
    holder.execute_batch("ROLLBACK").unwrap();
    log.flush().await.unwrap();
    assert_eq!(ids(&log).await, expected_ids(4096));
}

#[tokio::test]
async fn large_records_fill_the_queue_sooner() {
    let folder = tempdir().unwrap();
    let patient = SqliteOptions { busy_timeout: Duration::from_mins(1), append_patience: SHORT };
    let log = SqliteCallLog::open_with(folder.path(), &patient).unwrap().log;
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let large = |id: &str| CallRecord { arguments: json!(["x".repeat(30 << 20)]), ..record(id) };
    // Larger than the whole queue, but alone.
    log.append(large("r1")).unwrap();
    assert!(matches!(log.append(large("r2")), Err(StoreError::Full { .. })));
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ids(&log).await, ["r1"]);
}
