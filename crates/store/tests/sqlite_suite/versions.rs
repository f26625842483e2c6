//! Databases that are newer, damaged or empty.

use std::fs;
use std::path::Path;

use haft_store::{CallLog, SqliteCallLog};
use tempfile::tempdir;

use super::{damage, filled, listing, open, outsider};
use crate::common::{ids, record};

#[tokio::test]
async fn a_newer_database_is_refused_and_not_touched() {
    let folder = filled(3).await;
    let newer = outsider(folder.path());
    newer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    newer.pragma_update(None, "user_version", 999).unwrap();
    // As a crash of the newer program leaves it: the version is in the log only.
    let crashed = tempdir().unwrap();
    for name in ["haft.db", "haft.db-wal"] {
        fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    drop(newer);
    for folder in [folder.path(), crashed.path()] {
        let contents = |path: &Path| fs::read(path).unwrap();
        let before = listing(folder, contents);
        let path = folder.join("haft.db");
        let error = SqliteCallLog::open(folder).unwrap_err();
        let expected = format!(
            "the database {} has schema version 999, this haft knows up to 13: use a newer haft, or another HAFT_HOME",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
        let after = listing(folder, contents);
        assert!(before.iter().all(|file| after.contains(file)), "a file changed");
    }
}

#[tokio::test]
async fn a_damaged_database_is_set_aside_and_a_new_one_started() {
    let whole = fs::read(filled(200).await.path().join("haft.db")).unwrap();
    let mut half_overwritten = whole.clone();
    half_overwritten[100..4096].fill(0xA5);
    let cases: [(&str, &[u8], &str); 5] = [
        ("garbage", b"this is not a database, whatever its name says", "file is not a database"),
        ("a long piece of garbage", &[0xA5; 10_000], "file is not a database"),
        ("cut in the middle", &whole[..whole.len() / 2], "database disk image is malformed"),
        ("cut after the header", &whole[..100], "database disk image is malformed"),
        ("schema overwritten", &half_overwritten, "database disk image is malformed"),
    ];
    for (name, damaged, problem) in cases {
        let folder = tempdir().unwrap();
        let path = folder.path().join("haft.db");
        for aside in ["haft.db.damaged-1", "haft.db.damaged-2"] {
            // A log that is left would repair what it has.
            fs::remove_file(path.with_extension("db-wal")).ok();
            fs::write(&path, damaged).unwrap();
            let opened = SqliteCallLog::open(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let expected =
                format!("the database {} was damaged ({problem}); it was set aside as {aside} and a new one started", path.display());
            assert_eq!(opened.notice, Some(expected), "{name}");
            assert_eq!(fs::read(folder.path().join(aside)).unwrap(), damaged, "{name}");
            opened.log.append(record("r1")).unwrap();
            assert_eq!(ids(&opened.log).await, ["r1"], "{name}");
        }
        assert_eq!(ids(&open(folder.path())).await, ["r1"], "{name}");
    }
}

#[tokio::test]
async fn the_log_of_a_damaged_database_goes_with_it() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("haft.db"), "garbage").unwrap();
    fs::write(folder.path().join("haft.db-wal"), "its log").unwrap();
    let opened = SqliteCallLog::open(folder.path()).unwrap();
    assert!(opened.notice.is_some());
    assert_eq!(fs::read(folder.path().join("haft.db.damaged-1-wal")).unwrap(), b"its log");
    assert_eq!(ids(&opened.log).await, [""; 0]);
}

#[tokio::test]
async fn an_empty_file_is_a_new_database() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("haft.db"), "").unwrap();
    let log = open(folder.path());
    log.append(record("r1")).unwrap();
    assert_eq!(ids(&log).await, ["r1"]);
}

#[tokio::test]
async fn damage_that_shows_later_says_what_to_do() {
    let folder = filled(200).await;
    let path = folder.path().join("haft.db");
    damage(folder.path(), "calls");
    let error = open(folder.path()).get("r0001").await.unwrap_err();
    let expected = format!(
        "the database {} is damaged (database disk image is malformed): the next start of haft sets it aside and recovers what can be \
         read; stop every other haft first",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
    // And so it does, once.
    let opened = SqliteCallLog::open(folder.path()).unwrap();
    assert!(opened.notice.unwrap().contains("it was set aside as haft.db.damaged-1 and a new one started"));
    opened.log.append(record("r1")).unwrap();
    assert_eq!(ids(&opened.log).await, ["r1"]);
    drop(opened.log);
    assert_eq!(SqliteCallLog::open(folder.path()).unwrap().notice, None);
}

#[tokio::test]
async fn a_suspicion_that_proves_wrong_costs_nothing() {
    let folder = filled(3).await;
    fs::write(folder.path().join("haft.db.suspect"), "").unwrap();
    let opened = SqliteCallLog::open(folder.path()).unwrap();
    assert_eq!((opened.notice, ids(&opened.log).await.len()), (None, 3));
    assert!(!folder.path().join("haft.db.suspect").exists());
}
