//! What is SQLite's own: files, versions, damage, locks, crashes.
#![allow(clippy::unwrap_used, reason = "helpers are part of the tests")]

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use haft_store::{CallLog, SqliteCallLog, SqliteOptions, StoreError};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use crate::common::{ids, record};

const SHORT: Duration = Duration::from_millis(50);

fn open(folder: &Path) -> SqliteCallLog {
    let opened = SqliteCallLog::open(folder).unwrap();
    assert_eq!(opened.notice, None);
    opened.log
}

fn open_impatient(folder: &Path) -> Result<SqliteCallLog, StoreError> {
    let options = SqliteOptions { busy_timeout: SHORT, append_patience: SHORT };
    SqliteCallLog::open_with(folder, &options).map(|opened| opened.log)
}

/// A connection from outside, as another program would have.
fn outsider(folder: &Path) -> Connection {
    Connection::open(folder.join("haft.db")).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Names, modes and so on of what is in a folder, sorted by name.
fn listing<T>(folder: &Path, fact: impl Fn(&Path) -> T) -> Vec<(String, T)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut facts: Vec<_> = paths.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fact(&path))).collect();
    facts.sort_by(|left, right| left.0.cmp(&right.0));
    facts
}

fn modes(folder: &Path) -> Vec<(String, u32)> {
    listing(folder, mode)
}

/// A folder with a database in which these records are.
async fn filled(records: usize) -> TempDir {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..records {
        log.append(record(&format!("r{number:04}"))).unwrap();
    }
    log.flush().await.unwrap();
    folder
}

fn expected_ids(records: usize) -> Vec<String> {
    (0..records).rev().map(|number| format!("r{number:04}")).collect()
}

#[tokio::test]
async fn everything_is_private() {
    let outer = tempdir().unwrap();
    let folder = outer.path().join("a/b");
    let private: Vec<_> = ["haft.db", "haft.db-shm", "haft.db-wal"].map(|name| (name.to_owned(), 0o600)).into();
    let log = open(&folder);
    log.append(record("r1")).unwrap();
    log.flush().await.unwrap();
    assert_eq!((mode(&outer.path().join("a")), mode(&folder), modes(&folder)), (0o700, 0o700, private.clone()));

    set_mode(&folder, 0o755);
    for (name, _) in &private {
        set_mode(&folder.join(name), 0o664);
    }
    let second = open(&folder);
    assert_eq!((mode(&folder), modes(&folder)), (0o700, private));
    assert_eq!(ids(&second).await, ["r1"]);
}

#[tokio::test]
async fn folders_and_files_that_may_be_someone_elses_are_refused() {
    let outer = tempdir().unwrap();
    let folder = |name: &str| {
        let folder = outer.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let real = folder("real");
    let link = outer.path().join("link");
    symlink(&real, &link).unwrap();
    let shared = folder("shared");
    set_mode(&shared, 0o1777);
    let linked_file = folder("linked-file");
    symlink(outer.path().join("target"), linked_file.join("haft.db")).unwrap();

    let is_link = "it is a symbolic link or a file: move it away, or set HAFT_HOME to a real folder";
    let cases = [
        (link.clone(), link.clone(), is_link),
        (link.join(""), link, is_link),
        (shared.clone(), shared.clone(), "it is a folder that users share: set HAFT_HOME to a folder of your own"),
        (linked_file.clone(), linked_file.join("haft.db"), "it is not an ordinary file: move it away"),
    ];
    for (folder, culprit, problem) in cases {
        let error = SqliteCallLog::open(&folder).unwrap_err().to_string();
        assert_eq!(error, format!("{} cannot hold private data: {problem}", culprit.display()));
    }
    assert_eq!((mode(&shared), modes(&real).len(), outer.path().join("target").exists()), (0o1777, 0, false));
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let folder = tempdir().unwrap();
    let me = rustix::process::geteuid().as_raw();
    // Root can give a folder away; for everyone else the root folder is someone else's.
    let (path, owner) = if me == 0 { (folder.path(), 1) } else { (Path::new("/"), 0) };
    if me == 0 {
        std::os::unix::fs::chown(path, Some(owner), None).unwrap();
    }
    let problem = format!("it belongs to user {owner}, this is user {me}: set HAFT_HOME to a folder of your own");
    let error = SqliteCallLog::open(path).unwrap_err().to_string();
    assert_eq!(error, format!("{} cannot hold private data: {problem}", path.display()));
}

#[tokio::test]
async fn what_was_queued_is_there_after_reopening_without_a_flush() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..1000 {
        log.append(record(&format!("r{number:04}"))).unwrap();
    }
    drop(log);
    assert_eq!(ids(&open(folder.path())).await, expected_ids(1000));
    assert_eq!(listing(folder.path(), |_| ()), [("haft.db".to_owned(), ())], "closing leaves one file");
}

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
            "the database {} has schema version 999, this haft knows up to 1: use a newer haft, or another HAFT_HOME",
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
    let mut content = fs::read(&path).unwrap();
    content[4096..].fill(0xA5);
    fs::write(&path, content).unwrap();
    let error = open(folder.path()).get("r0001").await.unwrap_err();
    let expected = format!(
        "the database {} is damaged (database disk image is malformed): stop every haft, move the file away, and a new one is started",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

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
    locked(log.list(haft_store::CallFilter::default()).await.map(|_| ()));
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
async fn no_more_waits_than_there_is_room_for() {
    let folder = tempdir().unwrap();
    let patient = SqliteOptions { busy_timeout: Duration::from_mins(1), append_patience: SHORT };
    let log = SqliteCallLog::open_with(folder.path(), &patient).unwrap().log;
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let queued = (0..5000).take_while(|number| log.append(record(&format!("r{number:04}"))).is_ok()).count();
    assert_eq!(queued, 4096);
    let expected = format!(
        "the call was not recorded: too many records wait for the database {}; see that its disk has room and nobody locks it",
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
async fn nobody_waits_for_room_that_a_failing_writer_cannot_make() {
    let folder = tempdir().unwrap();
    let options = SqliteOptions { busy_timeout: SHORT, append_patience: Duration::from_mins(1) };
    let log = SqliteCallLog::open_with(folder.path(), &options).unwrap().log;
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    log.append(record("r0000")).unwrap();
    assert!(matches!(log.flush().await, Err(StoreError::Locked { .. })));
    let started = std::time::Instant::now();
    let queued =
        (1..5000).take_while(|number| !matches!(log.append(record(&format!("r{number:04}"))), Err(StoreError::Full { .. }))).count();
    assert_eq!(queued, 4095);
    assert!(started.elapsed() < Duration::from_secs(30), "it waited");
    holder.execute_batch("ROLLBACK").unwrap();
    log.flush().await.unwrap();
    assert_eq!(ids(&log).await, expected_ids(4096));
}

#[tokio::test]
async fn large_records_take_more_room() {
    let folder = tempdir().unwrap();
    let patient = SqliteOptions { busy_timeout: Duration::from_mins(1), append_patience: SHORT };
    let log = SqliteCallLog::open_with(folder.path(), &patient).unwrap().log;
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let large = |id: &str| haft_store::CallRecord { arguments: serde_json::json!(["x".repeat(30 << 20)]), ..record(id) };
    // Larger than all the room, but alone.
    log.append(large("r1")).unwrap();
    assert!(matches!(log.append(large("r2")), Err(StoreError::Full { .. })));
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ids(&log).await, ["r1"]);
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

#[test]
fn it_works_without_a_runtime() {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    log.append(record("r1")).unwrap();
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut list = Box::pin(ids(&log));
    let found = loop {
        match list.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(found) => break found,
            std::task::Poll::Pending => std::thread::park(),
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
    // Until it is killed; bounded in case nobody does.
    for number in 100..10_000 {
        log.append(record(&format!("r{number:04}"))).unwrap();
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_it_flushed() {
    let folder = tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_is_killed", "--nocapture"])
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
