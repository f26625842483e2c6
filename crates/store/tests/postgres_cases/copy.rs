//! A copy from a file to a server: whole, continued after it was cut off, and a difference is found.

use std::io::Cursor;
use std::path::Path;

use haft_contract::ports::SubAgentState;
use haft_store::{
    Blobs, CallLog, FileBlobs, PostgresLog, PreImageRecord, SessionStore, SqliteCallLog, StoreCopy, TodoVersion, UsageRecord,
};
use haft_testkit::PostgresServer;

use crate::common::{ids, message, messages, new_session, record, second};
use crate::suite::sub_agent_status::sub_agent;

const CALLS: usize = 3000;

/// A store with something in most tables; texts have what a server does not take as it is.
async fn fill(folder: &Path) {
    let log = SqliteCallLog::open(folder).unwrap().log;
    let (sessions, blobs) = (log.sessions(), FileBlobs::open(folder).unwrap().of_session("s1").unwrap());
    for number in 0..CALLS {
        log.append(record(&format!("r{number:06}"))).unwrap();
    }
    for id in ["s1", "s2"] {
        sessions.create(new_session(id)).await.unwrap();
        sessions.append(id, None, (0..50).map(|number| message(number, "a\u{0}b\u{f8ff}0 ü")).collect()).await.unwrap();
    }
    sessions.rewrite("s1", 40, vec![message(60, "new")], "why").await.unwrap();
    sessions.put_sub_agent(sub_agent("s2", "s1", SubAgentState::Done)).await.unwrap();
    sessions.set_todos("s1", TodoVersion::new("c1", "[]")).await.unwrap();
    let usage = UsageRecord {
        session: "s1".into(),
        turn: 1,
        model: "work/qwen3".into(),
        input: 1,
        output: 2,
        cached: 3,
        cache_writes: 4,
        reasoning: 5,
        cost_micros: None,
        at: second(1),
        day: "2026-05-31".into(),
    };
    for _ in 0..2 {
        // Twice the same: both count.
        sessions.add_usage(usage.clone()).await.unwrap();
    }
    let content = blobs.keep(Box::new(Cursor::new(vec![7; 3 << 20]))).await.unwrap();
    let image = PreImageRecord {
        record: "r000001".into(),
        path: "/w/a".into(),
        content: Some(content),
        mode: Some(0o644),
        after: None,
        created_directories: vec!["/w".into()],
        modified: Some(second(3)),
    };
    log.keep(image).await.unwrap();
    blobs.spill("txt").await.unwrap().finish().await.unwrap();
}

#[test]
fn copy_is_continued_after_the_server_was_killed_and_a_difference_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = PostgresServer::start();
    let address = server.address("postgres");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(fill(folder.path()));

    // Killed in the middle: what is committed stays, what is not is copied again.
    let (copied, copy) = std::thread::scope(|scope| {
        let copy = scope.spawn(|| runtime.block_on(StoreCopy::open(folder.path(), &address).unwrap().run(|_| {})));
        while server.sql("postgres", "SELECT CASE WHEN to_regclass('haft_copies') IS NULL THEN 0 ELSE 1 END") == "0" {}
        while server.sql("postgres", "SELECT count(*) > 0 FROM haft_copies") != "t" {}
        let copied: usize = server.sql("postgres", "SELECT count(*) FROM calls").parse().unwrap();
        server.kill();
        (copied, copy.join().unwrap())
    });
    server.resume();
    assert!(copied >= 500, "{copied}");
    let copying = StoreCopy::open(folder.path(), &address).unwrap();
    let kinds = runtime.block_on(copying.run(|_| {})).unwrap();
    let calls = kinds.iter().find(|kind| kind.name == "calls").unwrap();
    assert_eq!(calls.count, CALLS as u64);
    assert!(copy.is_ok() || calls.copied < CALLS as u64, "it began anew: {calls:?}");
    for (name, count) in [("messages", 91), ("messages_replaced", 10), ("usage", 2), ("sub_agents", 1), ("pre-images", 1), ("spills", 1)] {
        assert_eq!(kinds.iter().find(|kind| kind.name == name).map(|kind| kind.count), Some(count), "{name}");
    }

    let (log, file) = (PostgresLog::open(&address).unwrap(), SqliteCallLog::open(folder.path()).unwrap().log);
    runtime.block_on(async {
        assert_eq!(ids(&log).await, ids(&file).await);
        assert_eq!(messages(&log.sessions(), "s1").await, messages(&file.sessions(), "s1").await);
        assert_eq!(log.pre_images("r000001").await.unwrap(), file.pre_images("r000001").await.unwrap());
        // Numbers continue after those that came along.
        log.keep(PreImageRecord { record: "r000002".into(), ..log.pre_images("r000001").await.unwrap()[0].clone() }).await.unwrap();
        log.sessions().append("s1", None, vec![message(99, "next")]).await.unwrap();
    });
    server.sql("postgres", "DELETE FROM messages WHERE body = 'next'; UPDATE sessions SET messages = 41 WHERE id = 's1'");
    server.sql("postgres", "DELETE FROM pre_images WHERE record = 'r000002'; UPDATE usage SET output = 3 WHERE ctid = '(0,1)'");
    let error = runtime.block_on(copying.run(|_| {})).unwrap_err().to_string();
    assert!(error.contains("has ") && error.contains("on the server): end every haft"), "{error}");
}
