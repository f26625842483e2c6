//! Others who use the database, and writes that fail.

use std::fs;
use std::time::Duration;

use haft_store::{CallFilter, CallLog, StoreError};
use tempfile::tempdir;

use super::{expected_ids, open, open_impatient, outsider};
use crate::common::{ids, record};

#[tokio::test]
async fn a_database_that_stays_locked_is_not_opened() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("haft.db");
    let expected = format!("the database {} is locked by another process: wait for it to finish, or stop it", path.display());
    let holder = outsider(folder.path());
    holder.execute_batch("CREATE TABLE other (x); BEGIN EXCLUSIVE").unwrap();
    assert_eq!(open_impatient(folder.path()).unwrap_err().to_string(), expected);
    drop(holder);

    let opening = fs::File::open(folder.path()).unwrap();
    rustix::fs::flock(&opening, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert_eq!(open_impatient(folder.path()).unwrap_err().to_string(), expected);
    drop(opening);
    assert_eq!(ids(&open_impatient(folder.path()).unwrap()).await, [""; 0]);
}

#[tokio::test]
async fn what_cannot_be_written_is_reported_and_written_later() {
    let folder = tempdir().unwrap();
    let log = open_impatient(folder.path()).unwrap();
    let locked = |outcome: Result<(), StoreError>| assert!(matches!(outcome, Err(StoreError::Locked { .. })), "{outcome:?}");
    log.append(record("r1")).unwrap();
    log.flush().await.unwrap();
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    log.append(record("r2")).unwrap();
    locked(log.flush().await);
    locked(log.append(record("r3")));
    locked(log.mark_undone("r1").await);
    locked(log.list(CallFilter::default()).await.map(|_| ()));
    holder.execute_batch("ROLLBACK").unwrap();
    log.flush().await.unwrap();
    log.append(record("r4")).unwrap();
    assert_eq!(ids(&log).await, ["r4", "r3", "r2", "r1"]);
    assert_eq!(log.get("r1").await.unwrap(), record("r1"), "what failed for its caller is not done later");
}

#[tokio::test]
async fn a_failed_group_is_tried_again_without_being_asked() {
    let folder = tempdir().unwrap();
    let log = open_impatient(folder.path()).unwrap();
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    log.append(record("r1")).unwrap();
    assert!(log.flush().await.is_err());
    holder.execute_batch("ROLLBACK").unwrap();
    let written = || holder.query_row("SELECT count(*) FROM calls", [], |row| row.get::<_, i64>(0)).unwrap();
    let arrives = async {
        while written() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), arrives).await.unwrap();
}

#[tokio::test]
async fn a_record_that_cannot_be_written_is_given_up_alone_and_reported_once() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON calls WHEN NEW.id LIKE 'poison%' BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    outsider(folder.path()).execute_batch(poison).unwrap();
    let told = "the database could not be used: not this one";
    for id in ["r1", "poison1", "r2"] {
        log.append(record(id)).unwrap();
    }
    assert_eq!(log.flush().await.unwrap_err().to_string(), told);
    log.flush().await.unwrap();

    log.append(record("poison2")).unwrap();
    // Its outcome is not the poisoned record's, which waits for the next append or flush.
    log.mark_undone("r1").await.unwrap();
    assert_eq!(log.append(record("r3")).unwrap_err().to_string(), told);
    log.flush().await.unwrap();
    assert_eq!(ids(&log).await, ["r3", "r2", "r1"]);
}

#[tokio::test]
async fn two_logs_share_one_folder() {
    let folder = tempdir().unwrap();
    let logs = [open(folder.path()), open(folder.path())];
    std::thread::scope(|scope| {
        for (half, log) in logs.iter().enumerate() {
            scope.spawn(move || (0..500).for_each(|number| log.append(record(&format!("r{:04}", 2 * number + half))).unwrap()));
        }
    });
    logs[0].flush().await.unwrap();
    logs[1].flush().await.unwrap();
    for log in &logs {
        assert_eq!(ids(log).await, expected_ids(1000));
    }
}
