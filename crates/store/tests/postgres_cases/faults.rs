//! Faults of the server, each made for real: restarted, killed, out of connections, read-only, full, failed over, newer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_store::{CallLog, PostgresLog, PostgresOptions, ServerFault, SessionOwner, SessionStore, StoreError};
use haft_testkit::PostgresServer;

use crate::common::{ids, message, messages, new_session, record};

fn fault(error: &StoreError) -> Option<ServerFault> {
    if let StoreError::Server { fault, .. } = error { Some(*fault) } else { None }
}

fn open_with_patience(address: &str, patience: Duration) -> PostgresLog {
    PostgresLog::open_with(address, &PostgresOptions { patience, ..PostgresOptions::default() }).unwrap()
}

/// Appends until it is told to stop; every append must be acknowledged, whatever happens to the server.
async fn append_until(log: &PostgresLog, stop: &AtomicBool) -> u64 {
    let sessions = log.sessions();
    let mut next = sessions.open("s1").await.unwrap().messages;
    while !stop.load(Ordering::Relaxed) {
        log.append(record(&format!("r{next:08}"))).unwrap();
        next = sessions.append("s1", Some(next), vec![message(next, &next.to_string())]).await.unwrap();
    }
    log.flush().await.unwrap();
    next
}

async fn check_all(log: &PostgresLog, count: u64) {
    let bodies: Vec<String> = messages(&log.sessions(), "s1").await.into_iter().map(|message| message.body).collect();
    assert!(
        bodies.iter().map(String::as_str).eq((0..count).map(|number| number.to_string()).collect::<Vec<_>>().iter().map(String::as_str))
    );
    assert_eq!(ids(log).await.len() as u64, count, "every call is recorded once");
}

/// Every append is in flight at some moment: one whose commit was lost on the way must neither fail nor be made twice.
#[test]
fn postgres_restarted_and_killed_loses_and_doubles_nothing() {
    let mut server = PostgresServer::start();
    let address = server.address("postgres");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let log = Arc::new(open_with_patience(&address, Duration::from_mins(1)));
    runtime.block_on(log.sessions().create(new_session("s1"))).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (appending, stopping) = (Arc::clone(&log), Arc::clone(&stop));
    let appended = runtime.spawn(async move { append_until(&appending, &stopping).await });
    for round in 0..6_u64 {
        let before = server.sql("postgres", "SELECT count(*) FROM messages");
        while server.sql("postgres", "SELECT count(*) FROM messages") == before {}
        std::thread::sleep(Duration::from_millis(round * 7));
        if round % 2 == 0 {
            server.kill();
        } else {
            server.stop();
        }
        server.resume();
    }
    stop.store(true, Ordering::Relaxed);
    let count = runtime.block_on(appended).unwrap();
    assert!(count > 6);
    runtime.block_on(check_all(&log, count));
}

#[test]
fn postgres_that_is_gone_is_told_and_gets_what_waited() {
    let mut server = PostgresServer::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let log = open_with_patience(&server.address("postgres"), Duration::from_millis(200));
    let sessions = log.sessions();
    runtime.block_on(async {
        sessions.create(new_session("s1")).await.unwrap();
        server.kill();
        log.append(record("r1")).unwrap();
        let waited = log.flush().await.unwrap_err();
        let refused = sessions.append("s1", None, vec![message(1, "lost")]).await.unwrap_err();
        let unread = sessions.open("s1").await.unwrap_err();
        for error in [&waited, &refused, &unread] {
            assert_eq!(fault(error), Some(ServerFault::Unreachable), "{error}");
            assert!(error.to_string().contains("start it, or check HAFT_STORE"), "{error}");
        }
        server.resume();
        log.flush().await.unwrap();
        assert_eq!(ids(&log).await, ["r1"]);
        assert_eq!(messages(&sessions, "s1").await, [], "what was refused was not made later");
    });
}

#[test]
fn claims_outlast_a_restart_of_postgres() {
    let mut server = PostgresServer::start();
    let address = server.address("postgres");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (holder, other) = (PostgresLog::open(&address).unwrap(), PostgresLog::open(&address).unwrap());
    runtime.block_on(async {
        holder.sessions().create(new_session("s1")).await.unwrap();
        let _claim = holder.sessions().claim("s1", SessionOwner::this_process()).await.unwrap();
        server.kill();
        server.resume();
        // At once, before the holder has come back, and after it has.
        for _ in 0..2 {
            let refused = other.sessions().claim("s1", SessionOwner::this_process()).await.unwrap_err();
            assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
            let refused = other.sessions().append("s1", None, vec![message(1, "x")]).await.unwrap_err();
            assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
            holder.sessions().append("s1", None, vec![message(1, "mine")]).await.unwrap();
            let locked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
            while server.sql("postgres", locked) != "1" {}
        }
    });
}

#[test]
fn postgres_without_connections_says_so_and_recovers() {
    let server = PostgresServer::start_with(&["max_connections=6", "superuser_reserved_connections=0", "max_wal_senders=0"]);
    let address = server.address("postgres");
    let options = PostgresOptions { patience: Duration::from_millis(300), ..PostgresOptions::default() };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut open: Vec<PostgresLog> = Vec::new();
    let refused = loop {
        match PostgresLog::open_with(&address, &options) {
            Ok(log) => open.push(log),
            Err(error) => break error,
        }
        assert!(open.len() < 10, "no limit was met");
    };
    assert_eq!(fault(&refused), Some(ServerFault::TooManyConnections), "{refused}");
    assert!(refused.to_string().contains("raise max_connections"), "{refused}");
    // A writer has no connection yet; it gets one when another store is closed.
    let log = open.pop().unwrap();
    log.append(record("r1")).unwrap();
    runtime.block_on(async {
        assert_eq!(fault(&log.flush().await.unwrap_err()), Some(ServerFault::TooManyConnections));
        open.clear();
        log.flush().await.unwrap();
        assert_eq!(ids(&log).await, ["r1"]);
    });
}

#[test]
fn postgres_that_takes_no_changes_says_so_and_gets_what_waited() {
    let server = PostgresServer::start();
    let log = PostgresLog::open(&server.address("postgres")).unwrap();
    let set = |value: &str| {
        server.sql("postgres", &format!("ALTER ROLE postgres SET default_transaction_read_only = {value}"));
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'haft'";
        server.sql("postgres", end);
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let sessions = log.sessions();
        sessions.create(new_session("s1")).await.unwrap();
        set("on");
        log.append(record("r1")).unwrap();
        for error in [log.flush().await.unwrap_err(), sessions.append("s1", None, vec![message(1, "a")]).await.unwrap_err()] {
            assert_eq!(fault(&error), Some(ServerFault::ReadOnly), "{error}");
            assert!(error.to_string().contains("name the primary in HAFT_STORE"), "{error}");
        }
        assert_eq!(sessions.open("s1").await.unwrap().messages, 0, "reading works");
        server.sql("postgres", "BEGIN READ WRITE; ALTER ROLE postgres RESET default_transaction_read_only; COMMIT");
        log.flush().await.unwrap();
        assert_eq!(ids(&log).await, ["r1"]);
        sessions.append("s1", Some(0), vec![message(1, "a")]).await.unwrap();
    });
}

/// The disk is a small one in memory, mounted for the server alone; that needs root.
#[test]
fn postgres_on_a_full_disk_says_so_and_gets_what_waited() {
    let Some(server) = PostgresServer::start_on_small_disk(64 << 20) else {
        println!("not run: this user may not mount a disk");
        return;
    };
    let log = PostgresLog::open(&server.address("postgres")).unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let sessions = log.sessions();
        sessions.create(new_session("s1")).await.unwrap();
        let filler = server.fill_disk();
        let large = || vec![message(1, &"x1 ".repeat(1 << 20))];
        let error = loop {
            // The server has some pages left; then it has none.
            if let Err(error) = sessions.append("s1", None, large()).await {
                break error;
            }
        };
        assert!(matches!(fault(&error), Some(ServerFault::Full | ServerFault::Unreachable)), "{error}");
        let count = messages_of(&server);
        log.append(record("r1")).unwrap();
        drop(filler);
        log.flush().await.unwrap();
        assert_eq!(ids(&log).await, ["r1"]);
        assert_eq!(messages_of(&server), count, "what was refused was not made later");
        sessions.append("s1", None, large()).await.unwrap();
    });
}

fn messages_of(server: &PostgresServer) -> String {
    server.sql("postgres", "SELECT count(*) FROM messages")
}

#[test]
fn postgres_that_fails_over_continues_on_the_standby() {
    let mut primary = PostgresServer::start_with(&["wal_keep_size=64MB"]);
    let standby = primary.standby();
    let address = format!("postgres://postgres@{},{}/postgres", primary.host(), standby.host());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let log = Arc::new(open_with_patience(&address, Duration::from_mins(1)));
    runtime.block_on(async {
        log.sessions().create(new_session("s1")).await.unwrap();
        for number in 0..20 {
            log.append(record(&format!("r{number:08}"))).unwrap();
            log.sessions().append("s1", Some(number), vec![message(number, &number.to_string())]).await.unwrap();
        }
        log.flush().await.unwrap();
    });
    // Without a synchronous standby, what it has not got yet is lost with the primary; that is the server's setting.
    let sent = primary.sql("postgres", "SELECT pg_current_wal_lsn()");
    while standby.sql("postgres", &format!("SELECT pg_last_wal_replay_lsn() >= '{sent}'::pg_lsn")) != "t" {}
    primary.kill();
    let appended = {
        let log = Arc::clone(&log);
        runtime.spawn(async move {
            log.append(record("r00000020")).unwrap();
            log.sessions().append("s1", Some(20), vec![message(20, "20")]).await
        })
    };
    standby.promote();
    assert_eq!(runtime.block_on(appended).unwrap().unwrap(), 21);
    runtime.block_on(async { log.flush().await.unwrap() });
    runtime.block_on(check_all(&log, 21));
    assert_eq!(standby.sql("postgres", "SELECT count(*) FROM messages"), "21");
}

#[test]
fn newer_schema_is_refused_and_eight_make_one_together() {
    let server = PostgresServer::start();
    let address = server.address("postgres");
    let opening: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn({
                let address = address.clone();
                move || PostgresLog::open(&address).map(drop)
            })
        })
        .collect();
    for opened in opening {
        opened.join().unwrap().unwrap();
    }
    assert_eq!(server.sql("postgres", "SELECT version FROM haft_schema"), "13");
    // A newer program has only added to it: this one can work beside it, until a later step takes away what it needs.
    server.sql("postgres", "UPDATE haft_schema SET version = 999");
    PostgresLog::open(&address).unwrap();
    server.sql("postgres", "UPDATE haft_schema SET oldest = 998");
    let error = PostgresLog::open(&address).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 999, known: 13, .. }), "{error}");
    assert_eq!(server.sql("postgres", "SELECT version FROM haft_schema"), "999");
}
