//! A durable append on PostgreSQL beside tokio-postgres alone, on the same server and in turns. The goal is a ratio of 1.3 or less: beside
//! the same statement, which writes the same rows. The bare INSERT shows what it costs that a call is there twice, begun and ended.
//!
//! The server is one of the bench's own, with `fsync` on: `cargo bench -p haft-store --features postgres --bench postgres`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use haft_store::{CallLog, CallRecord, CallStatus, NewMessage, NewSession, PostgresLog, SessionStore};
use haft_testkit::PostgresServer;
use serde_json::json;

const ROUNDS: usize = 5;
const EACH: usize = 200;

fn record(number: usize) -> CallRecord {
    CallRecord {
        id: format!("019a0000-0000-7000-8000-{number:012}"),
        call_id: format!("toolu_{number}"),
        session: "s1".into(),
        agent: "coder".into(),
        tool: "write_file".into(),
        workspace: Path::new("/home/user/project").into(),
        arguments: json!({"path": "src/main.rs", "content": "x".repeat(500)}),
        original_arguments: None,
        effects: json!([{"write": "/home/user/project/src/main.rs"}]),
        decision: json!({"verdict": "allow", "trace": []}),
        started: SystemTime::now(),
        elapsed: Duration::from_millis(3),
        status: CallStatus::Success,
        summary: "wrote 500 bytes".into(),
        undone: false,
    }
}

/// The least that stores a call: an insert of most of its columns, which fails if the call is there.
const BARE: &str = "INSERT INTO calls (id, call_id, session, agent, tool, status, undone, started, elapsed, workspace, summary, decision, \
     effects, arguments) VALUES ($1, $2, $3, $4, $5, 'success', false, 1, 1, '\\x2f', $6, $7, $8, $9)";

async fn bare_records(client: &tokio_postgres::Client, from: usize) -> Duration {
    let insert = client.prepare(BARE).await.unwrap();
    let started = Instant::now();
    for number in from..from + EACH {
        let record = record(number);
        let json = [&record.decision, &record.effects, &record.arguments].map(serde_json::Value::to_string);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
            [&record.id, &record.call_id, &record.session, &record.agent, &record.tool, &record.summary, &json[0], &json[1], &json[2]];
        client.execute(&insert, &values).await.unwrap();
    }
    started.elapsed()
}

/// All that storing a call does: its row takes the place of an earlier one, keeps that it was taken back, and ends its mark as running.
const SAME: &str = "WITH ended AS (DELETE FROM running WHERE record = $1) INSERT INTO calls (id, call_id, session, agent, tool, status, \
     error_type, undone, started, elapsed, workspace, summary, decision, effects, arguments, original_arguments) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT (id) DO UPDATE SET \
     call_id = excluded.call_id, session = excluded.session, agent = excluded.agent, tool = excluded.tool, status = excluded.status, \
     error_type = excluded.error_type, undone = calls.undone OR excluded.undone, started = excluded.started, elapsed = excluded.elapsed, \
     workspace = excluded.workspace, summary = excluded.summary, decision = excluded.decision, effects = excluded.effects, \
     arguments = excluded.arguments, original_arguments = excluded.original_arguments";

async fn same_records(client: &tokio_postgres::Client, from: usize) -> Duration {
    let insert = client.prepare(SAME).await.unwrap();
    let started = Instant::now();
    for number in from..from + EACH {
        let record = record(number);
        let json = [&record.decision, &record.effects, &record.arguments].map(serde_json::Value::to_string);
        let workspace = record.workspace.as_os_str().as_encoded_bytes();
        let began = record.started.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        let numbers = [began, record.elapsed.as_nanos()].map(|number| i64::try_from(number).unwrap());
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 16] = [
            &record.id,
            &record.call_id,
            &record.session,
            &record.agent,
            &record.tool,
            &"success",
            &None::<&str>,
            &record.undone,
            &numbers[0],
            &numbers[1],
            &workspace,
            &record.summary,
            &json[0],
            &json[1],
            &json[2],
            &None::<&str>,
        ];
        client.execute(&insert, &values).await.unwrap();
    }
    started.elapsed()
}

async fn our_records(log: &PostgresLog, from: usize) -> Duration {
    let started = Instant::now();
    for number in from..from + EACH {
        log.append(record(number)).unwrap();
        log.flush().await.unwrap();
    }
    started.elapsed()
}

/// What a careful program would do itself: lock the session, add the message, count it.
async fn bare_messages(client: &mut tokio_postgres::Client, from: usize) -> Duration {
    let lock = client.prepare("SELECT messages FROM sessions WHERE id = 'bare' FOR UPDATE").await.unwrap();
    let add =
        client.prepare("INSERT INTO messages (session, number, kind, created, body) VALUES ('bare', $1, 'user', 1, $2)").await.unwrap();
    let count = client.prepare("UPDATE sessions SET messages = $1, updated = 1 WHERE id = 'bare'").await.unwrap();
    let body = "x".repeat(500);
    let started = Instant::now();
    for _ in from..from + EACH {
        let transaction = client.transaction().await.unwrap();
        let next: i64 = transaction.query_one(&lock, &[]).await.unwrap().get(0);
        transaction.execute(&add, &[&next, &body]).await.unwrap();
        transaction.execute(&count, &[&(next + 1)]).await.unwrap();
        transaction.commit().await.unwrap();
    }
    started.elapsed()
}

async fn our_messages(log: &PostgresLog) -> Duration {
    let sessions = log.sessions();
    let body = "x".repeat(500);
    let started = Instant::now();
    for _ in 0..EACH {
        sessions.append("ours", None, vec![NewMessage::new("user", body.as_str())]).await.unwrap();
    }
    started.elapsed()
}

/// The middle one of the rounds, for each append.
fn middle(mut rounds: Vec<Duration>) -> Duration {
    rounds.sort_unstable();
    rounds[rounds.len() / 2] / u32::try_from(EACH).unwrap()
}

fn say(what: &str, ours: Vec<Duration>, bare: Vec<Duration>) {
    let (ours, bare) = (middle(ours), middle(bare));
    println!("{what:40} ours {ours:>9.1?}   bare {bare:>9.1?}   ratio {:.2} (goal 1.3)", ours.as_secs_f64() / bare.as_secs_f64());
}

fn main() {
    let server = PostgresServer::start_with(&["fsync=on", "full_page_writes=on"]);
    let address = server.address("postgres");
    let log = PostgresLog::open(&address).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        for id in ["bare", "ours"] {
            log.sessions().create(NewSession { id: id.into(), ..NewSession::new("coder", Path::new("/w")) }).await.unwrap();
        }
        let mut rounds: [Vec<Duration>; 5] = Default::default();
        for round in 0..ROUNDS {
            let from = round * 3 * EACH;
            rounds[0].push(our_records(&log, from).await);
            rounds[1].push(bare_records(&client, from + EACH).await);
            rounds[2].push(our_messages(&log).await);
            rounds[3].push(bare_messages(&mut client, from).await);
            rounds[4].push(same_records(&client, from + 2 * EACH).await);
        }
        let [ours, bare, our_messages, bare_messages, same] = rounds;
        say("a call that is on disk", ours.clone(), same);
        say("a call, beside a bare INSERT", ours, bare);
        say("a message that is on disk", our_messages, bare_messages);
    });
}
