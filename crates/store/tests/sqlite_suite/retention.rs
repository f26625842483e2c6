//! Old data goes, what is in use stays.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_contract::{PruneSummary, RetentionLimit};
use haft_store::{
    Blobs, CallFilter, CallLog, CallRecord, CallStatus, FileBlobs, NewSession, PreImageRecord, SessionFilter, SessionOwner, SessionStore,
    StorePruner,
};
use tempfile::tempdir;

use super::open;
use crate::common::{ids, message, new_session, record};

const MONTH: RetentionLimit = RetentionLimit::days(30);

fn days_ago(days: u64) -> SystemTime {
    SystemTime::now() - Duration::from_hours(24 * days)
}

fn call(id: &str, session: &str, days: u64) -> CallRecord {
    CallRecord { started: days_ago(days), session: session.into(), ..record(id) }
}

fn make_older(path: &Path, days: u64) {
    File::open(path).unwrap().set_modified(days_ago(days)).unwrap();
}

fn counts(summary: &PruneSummary) -> (u64, u64, u64) {
    (summary.removed, summary.kept, summary.in_use)
}

#[tokio::test]
async fn old_calls_and_sessions_go_and_those_in_use_stay() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let sessions = log.sessions();
    for (id, days) in [("old", 40), ("claimed", 40), ("new", 2)] {
        sessions.create(NewSession { created: days_ago(days), ..new_session(id) }).await.unwrap();
        log.append(call(&format!("of-{id}"), id, days)).unwrap();
    }
    sessions.append("old", None, vec![message(1, "x")]).await.unwrap();
    log.append(CallRecord { status: CallStatus::Begun, ..call("running", "calls", 40) }).unwrap();
    log.flush().await.unwrap();
    let claim = sessions.claim("claimed", SessionOwner::this_process()).await.unwrap();
    let now = SystemTime::now();
    let pruner = StorePruner::open(folder.path()).unwrap();
    for _ in 0..2 {
        assert_eq!(counts(&MONTH.survey(&pruner.history(), now).unwrap()), (1, 3, 2));
        assert_eq!(counts(&MONTH.survey(&pruner.sessions(), now).unwrap()), (1, 2, 1));
    }
    assert_eq!(counts(&MONTH.prune(&pruner.history(), now, None).unwrap()), (1, 3, 2));
    assert_eq!(counts(&MONTH.prune(&pruner.sessions(), now, None).unwrap()), (1, 2, 1));
    assert_eq!(ids(&log).await, ["running", "of-new", "of-claimed"]);
    let mut left: Vec<_> = sessions.list(SessionFilter::default()).await.unwrap().into_iter().map(|session| session.id).collect();
    left.sort_unstable();
    assert_eq!(left, ["claimed", "new"]);
    // What was in use is old like the rest once its process is gone.
    drop((claim, sessions, log));
    assert_eq!(counts(&MONTH.prune(&pruner.history(), now, None).unwrap()), (2, 1, 0));
    assert_eq!(counts(&MONTH.prune(&pruner.sessions(), now, None).unwrap()), (1, 1, 0));
}

#[tokio::test]
async fn a_limit_on_size_removes_the_oldest_calls_first_and_the_file_shrinks() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..40 {
        log.append(CallRecord { summary: "x".repeat(100_000), ..call(&format!("r{number:02}"), "s", 40 - number) }).unwrap();
    }
    log.flush().await.unwrap();
    drop(log);
    let size = |name: &str| folder.path().join(name).metadata().map_or(0, |metadata| metadata.len());
    let before = size("haft.db");
    let limit = RetentionLimit { age: None, bytes: Some(1_005_000) };
    let pruner = StorePruner::open(folder.path()).unwrap();
    let summary = limit.prune(&pruner.history(), SystemTime::now(), None).unwrap();
    assert_eq!(counts(&summary), (30, 10, 0));
    let freed = pruner.compact().unwrap();
    assert!(freed > 2_900_000 && size("haft.db") < before - 2_900_000, "{freed}, {before} -> {}", size("haft.db"));
    drop(pruner);
    let left: Vec<String> = (30..40).rev().map(|number| format!("r{number}")).collect();
    assert_eq!(ids(&open(folder.path())).await, left);
}

#[tokio::test]
async fn old_pre_images_go_and_an_undo_of_them_says_so() {
    let folder = tempdir().unwrap();
    let (log, blobs) = (open(folder.path()), FileBlobs::open(folder.path()).unwrap());
    let mut kept = Vec::new();
    for (id, days) in [("old", 40), ("new", 2)] {
        log.append(call(id, "s", days)).unwrap();
        let content = blobs.keep(Box::new(Cursor::new(b"before"))).await.unwrap();
        make_older(&blobs.path(&content), days);
        let image = PreImageRecord {
            record: id.into(),
            path: "/w/a".into(),
            content: Some(content.clone()),
            mode: Some(0o644),
            after: None,
            created_directories: vec![],
            modified: None,
        };
        log.keep(image).await.unwrap();
        kept.push(content);
    }
    let pruner = StorePruner::open(folder.path()).unwrap();
    let summary = MONTH.prune(&pruner.pre_images().unwrap(), SystemTime::now(), None).unwrap();
    assert_eq!((counts(&summary), summary.removed_bytes), ((1, 1, 0), 6));
    let missing = blobs.open(&kept[0]).await.err().unwrap().to_string();
    assert!(missing.ends_with("it is no longer in the store, so this change cannot be taken back"), "{missing}");
    blobs.open(&kept[1]).await.map(drop).unwrap();
    assert_eq!(log.list(CallFilter::default()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn spills_of_a_session_in_use_and_half_written_ones_stay() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    log.sessions().create(new_session("busy")).await.unwrap();
    let _claim = log.sessions().claim("busy", SessionOwner::this_process()).await.unwrap();
    let mut spills = Vec::new();
    for session in ["busy", "idle"] {
        let blobs = FileBlobs::open(folder.path()).unwrap().of_session(session).unwrap();
        let mut spill = blobs.spill("txt").await.unwrap();
        spill.write(b"12345").await.unwrap();
        spills.push(spill.finish().await.unwrap());
    }
    for spill in &spills {
        make_older(spill, 40);
    }
    let idle = spills[1].parent().unwrap().to_owned();
    std::fs::write(folder.path().join("spills/half.part"), "half").unwrap();
    let pruner = StorePruner::open(folder.path()).unwrap();
    let nothing_old = RetentionLimit { age: Some(Duration::ZERO), bytes: None };
    let summary = nothing_old.prune(&pruner.spills().unwrap(), SystemTime::now() + Duration::from_mins(1), None).unwrap();
    assert_eq!((counts(&summary), summary.removed_bytes), ((1, 2, 2), 5));
    assert_eq!((spills[0].exists(), spills[1].exists(), idle.exists()), (true, false, false));
}
