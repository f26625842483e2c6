//! Turns of many sessions: on one worker and several, and what a turn costs when there are more of them.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use haft_fleet::{Dispatcher, FleetQueue};
use haft_store::{NewSession, PostgresLog, SessionStore};

use super::setting::{Setting, Workers, give, say};

const TURNS: u32 = 1_000;
/// What a worker does at once.
const CAPACITY: u32 = 8;
/// How long a turn waits for its model.
const MODEL: Duration = Duration::from_millis(100);
const IDLE: usize = 100_000;

/// Gives turns to sessions one after the other, so many at once; returns how long all took.
async fn give_turns(dispatcher: &Dispatcher, name: &str, sessions: u32, at_once: usize) -> Duration {
    let started = Instant::now();
    let turns = futures_util::stream::iter(0..TURNS).map(|number| async move {
        give(dispatcher, format!("{name}-{number}"), &format!("{name}-session-{}", number % sessions)).await;
    });
    turns.buffer_unordered(at_once).collect::<Vec<()>>().await;
    started.elapsed()
}

/// A thousand sessions with a turn each, on 1, 2 and 4 workers.
pub(crate) async fn workers(setting: &Setting, queue: &FleetQueue, log: &PostgresLog) {
    let dispatcher = Dispatcher::new(queue.clone(), log.work());
    let mut alone = None;
    for count in [1_u32, 2, 4] {
        let workers = Workers::start(setting, count, CAPACITY, MODEL).await;
        let took = give_turns(&dispatcher, &format!("workers{count}"), TURNS, 64).await;
        workers.end().await;
        let alone = *alone.get_or_insert(took);
        let rate = f64::from(TURNS) / took.as_secs_f64();
        let bound = f64::from(count * CAPACITY) / MODEL.as_secs_f64();
        let speedup = alone.as_secs_f64() / took.as_secs_f64();
        println!("1,000 sessions on {count} workers: {rate:6.0} turns/s of {bound:.0} that their slots allow, {speedup:.2} × one worker");
    }
}

/// The same number of turns over more and more sessions, with ten at once.
pub(crate) async fn many(setting: &Setting, queue: &FleetQueue, log: &PostgresLog) {
    let dispatcher = Dispatcher::new(queue.clone(), log.work());
    let workers = Workers::start(setting, 2, CAPACITY, Duration::ZERO).await;
    let mut first = None;
    for sessions in [10, 100, 1_000] {
        let each = give_turns(&dispatcher, &format!("many{sessions}"), sessions, 10).await / TURNS;
        say(&format!("a turn with {sessions} sessions"), each, ("10 sessions", *first.get_or_insert(each)), "1.3");
    }
    workers.end().await;
}

/// Sessions that do nothing are rows, and no more.
pub(crate) async fn idle(setting: &Setting, queue: &FleetQueue, log: &PostgresLog) {
    let dispatcher = Dispatcher::new(queue.clone(), log.work());
    let workers = Workers::start(setting, 2, CAPACITY, Duration::ZERO).await;
    let before = give_turns(&dispatcher, "before", 100, 10).await / TURNS;
    let session = NewSession { id: "idle".into(), ..NewSession::new("main", std::path::Path::new("/srv/work")) };
    log.sessions().create(session).await.unwrap();
    let sql = |statement: &str| tokio::task::block_in_place(|| setting.server.sql("postgres", statement));
    let size = || sql("SELECT pg_total_relation_size('sessions')").parse::<usize>().unwrap();
    let empty = size();
    sql(&format!(
        "INSERT INTO sessions SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'idle-' || n))).* \
         FROM sessions s, generate_series(1, {IDLE}) n WHERE s.id = 'idle'"
    ));
    let bytes = (size() - empty) / IDLE;
    let after = give_turns(&dispatcher, "after", 100, 10).await / TURNS;
    let messages = queue.waiting(&["bench".to_owned()]).await.unwrap();
    let connections = sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'haft%'");
    workers.end().await;
    say("a turn beside 100,000 idle sessions", after, ("without them", before), "1.3");
    println!("100,000 idle sessions: {bytes} bytes each with indexes, messages {messages:?}, {connections} connections");
    let work = sql("SELECT pg_total_relation_size('work') / count(*) || ' bytes of ' || count(*) FROM work");
    println!("work: {work} rows with 500 bytes of body");
}
