//! Databases of earlier versions.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_contract::ExecHost;
use haft_contract::ports::{JobRegistry, JobScope};
use haft_store::{CallLog, SessionStore, SqliteCallLog};
use rusqlite::Connection;
use tempfile::{TempDir, tempdir};

use super::{open, outsider};
use crate::common::{ids, message, messages, new_session, record};

const MIGRATIONS: [&str; 9] = [
    include_str!("../../src/backend/migrations/0001_calls.sql"),
    include_str!("../../src/backend/migrations/0002_sessions.sql"),
    include_str!("../../src/backend/migrations/0003_jobs.sql"),
    include_str!("../../src/backend/migrations/0004_job_names.sql"),
    include_str!("../../src/backend/migrations/0005_running.sql"),
    include_str!("../../src/backend/migrations/0006_sub_agents.sql"),
    include_str!("../../src/backend/migrations/0007_todos.sql"),
    include_str!("../../src/backend/migrations/0008_open_sub_agents.sql"),
    include_str!("../../src/backend/migrations/0009_modification_times.sql"),
];
/// The version that this program migrates to.
const NEWEST: i64 = 13;

/// A database of an earlier version, without rows.
fn of_version(version: usize) -> (TempDir, Connection) {
    let folder = tempdir().unwrap();
    let old = outsider(folder.path());
    MIGRATIONS[..version].iter().for_each(|sql| old.execute_batch(sql).unwrap());
    old.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
    (folder, old)
}

/// A database of version 1, with a call in it.
fn version_1() -> TempDir {
    let (folder, old) = of_version(1);
    let call = "INSERT INTO calls VALUES ('r1', 'toolu_r1', 's1', 'coder', 'write_file', 'success', NULL, 0, 1763000000123456789, 1234567, \
         x'2f686f6d652ffffe2f77', 'wrote 3 bytes', '{\"verdict\":\"allow\",\"trace\":[]}', '[{\"write\":\"/w/a.txt\"}]', \
         '{\"path\":\"a.txt\",\"z\":1,\"a\":[null,true,1.5,\"\u{fc}\\u0000\"]}', '{\"path\":\"b.txt\"}')";
    old.execute_batch(call).unwrap();
    old.execute_batch("INSERT INTO pre_images VALUES (1, 'r1', '/w/a.txt', 'blob', 420, 'ab12', x'')").unwrap_err();
    old.execute_batch("INSERT INTO pre_images VALUES (1, 'r1', x'2f77', 'blob', 420, 'ab12', x'')").unwrap();
    folder
}

fn version(connection: &Connection) -> i64 {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_database_of_version_1_keeps_its_calls_and_gets_the_rest() {
    let folder = version_1();
    for _ in 0..2 {
        let log = open(folder.path());
        assert_eq!((log.get("r1").await.unwrap(), log.pre_images("r1").await.unwrap().len()), (record("r1"), 1));
        assert_eq!(version(&outsider(folder.path())), NEWEST);
    }
    let log = open(folder.path());
    let sessions = log.sessions();
    sessions.create(new_session("s1")).await.unwrap();
    assert_eq!(sessions.append("s1", None, vec![message(1, "a")]).await.unwrap(), 1);
    drop((log, sessions));
    let log = open(folder.path());
    assert_eq!((messages(&log.sessions(), "s1").await.len(), ids(&log).await), (1, vec!["r1".to_owned()]));
}

#[tokio::test]
async fn a_database_of_version_3_keeps_its_jobs_under_the_new_column_names() {
    let (folder, old) = of_version(3);
    let jobs = "INSERT INTO jobs VALUES \
         (1, 's1', x'2f77ff', 'make ü', x'2f642f', 'sandbox', 'bubblewrap', 42, 7, 1763000000000000001, x'2f6bfe', NULL, NULL, NULL, 0), \
         (2, 's1', x'2f77ff', 'ls', x'2f64', 'container', 'podman', NULL, NULL, 1763000000000000002, x'2f6b', 1763000009000000000, \
         '{\"code\":3,\"signal\":null,\"timed_out\":false,\"killed\":false,\"lost\":false,\"at\":{\"secs_since_epoch\":1763000009,\
         \"nanos_since_epoch\":0},\"not_run\":null,\"usage\":null,\"cut\":false}', x'2f73', 9)";
    old.execute_batch(jobs).unwrap();
    drop(old);
    let log = open(folder.path());
    let jobs = log.jobs().list(JobScope::Session("s1".into())).await.unwrap();
    let [running, ended] = jobs.as_slice() else { panic!("{jobs:?}") };
    assert_eq!((running.number, running.command.as_str(), running.sandbox.as_str()), (1, "make ü", "bubblewrap"));
    assert_eq!((running.host, running.pid, running.start_time), (ExecHost::Sandbox, Some(42), Some(7)));
    assert_eq!(running.socket.as_os_str().as_bytes(), b"/k\xfe");
    assert_eq!((ended.sandbox.as_str(), ended.end.as_ref().unwrap().code, ended.bytes), ("podman", Some(3), 9));
    assert_eq!(version(&outsider(folder.path())), NEWEST);
}

#[tokio::test]
async fn sessions_of_version_9_are_tainted_as_their_calls_were() {
    let (folder, old) = of_version(9);
    let session = |id: &str| {
        old.execute_batch(&format!("INSERT INTO sessions VALUES ('{id}', NULL, 'main', NULL, x'2f77', 1, 1, NULL, NULL, 0, 0)")).unwrap();
    };
    ["root", "child", "clean"].into_iter().for_each(session);
    let call = |id: &str, session: &str, decision: &str| {
        let sql = "INSERT INTO calls VALUES (?1, ?1, ?2, 'main', 'noop', 'success', NULL, 0, 1, 1, x'2f77', '', ?3, '[]', '{}', NULL)";
        old.execute(sql, [id, session, decision]).unwrap();
    };
    call("c1", "child", r#"{"verdict":"allow","trace":[],"untrusted":true}"#);
    call("c2", "clean", r#"{"verdict":"allow","trace":[]}"#);
    call("c3", "clean", "no JSON");
    old.execute_batch(
        "INSERT INTO sub_agents (session, parent, depth, label, agent, agent_type, task, model, state, background, created, rounds, calls, \
         input, output, reported) VALUES ('child', 'root', 1, '', 'main', 'explore', '', 'demo', 'done', 0, 1, 0, 0, 0, 0, 1)",
    )
    .unwrap();
    drop(old);
    let sessions = open(folder.path()).sessions();
    for (id, untrusted) in [("root", true), ("child", true), ("clean", false)] {
        assert_eq!(sessions.taint(id).await.unwrap().untrusted, untrusted, "{id}");
    }
    assert_eq!(sessions.sub_agent("child").await.unwrap().map(|status| (status.cwd, status.thinking)), Some((None, None)));
}

#[tokio::test]
async fn a_step_that_fails_changes_nothing() {
    let folder = version_1();
    // A table of this name is not ours, and made last of all.
    outsider(folder.path()).execute_batch("CREATE TABLE usage (mine TEXT)").unwrap();
    let tables = |folder: &Path| -> Vec<String> {
        let connection = outsider(folder);
        let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let before = tables(folder.path());
    let error = SqliteCallLog::open(folder.path()).unwrap_err();
    assert_eq!(error.to_string().split(" in ").next().unwrap(), "the database could not be used: table usage already exists");
    assert_eq!((tables(folder.path()), version(&outsider(folder.path()))), (before, 1));
    let aside =
        fs::read_dir(folder.path()).unwrap().filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("damaged"));
    assert_eq!(aside.count(), 0, "it is not damaged");
}
