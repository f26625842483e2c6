//! Our layer beside the clients that it is built on, in turns.

use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::{self, stream};
use futures_util::StreamExt;
use haft_fleet::FleetQueue;
use haft_store::PostgresWork;

use super::setting::{Setting, middle, say, turn};

const ROUNDS: usize = 5;
const EACH: u32 = 200;

const INSERT: &str = "INSERT INTO work (id, topic, body, repeatable, tenant, holds, state, made, deadline, story) \
     VALUES ($1, 'bare', $2, true, '', '', 'done', clock_timestamp(), clock_timestamp(), ARRAY['queued'])";

/// Work that is recorded on disk.
pub(crate) async fn submit(setting: &Setting, work: &PostgresWork) {
    let (client, connection) = tokio_postgres::connect(&setting.address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let insert = client.prepare(INSERT).await.unwrap();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let started = Instant::now();
        for number in 0..EACH {
            let new = haft_store::NewWork { topic: "ours".to_owned(), ..turn(format!("ours-{round}-{number}"), "") };
            work.submit(new).await.unwrap();
        }
        ours.push(started.elapsed() / EACH);
        let started = Instant::now();
        for number in 0..EACH {
            client.execute(&insert, &[&format!("bare-{round}-{number}"), &"x".repeat(500)]).await.unwrap();
        }
        bare.push(started.elapsed() / EACH);
    }
    setting.server.sql("postgres", "DELETE FROM work");
    say("work that is recorded on disk", middle(ours), ("tokio-postgres", middle(bare)), "1.3");
}

/// An event that is stored and read by a consumer of its subject.
pub(crate) async fn round_trip(setting: &Setting, queue: &FleetQueue) {
    let context = jetstream::new(async_nats::connect(setting.nats.address()).await.unwrap());
    let config = stream::Config { name: "BARE".to_owned(), subjects: vec!["bare.>".to_owned()], ..stream::Config::default() };
    let stream = context.get_or_create_stream(config).await.unwrap();
    let config = pull::OrderedConfig { deliver_policy: DeliverPolicy::New, ..pull::OrderedConfig::default() };
    let mut bare_events = stream.create_consumer(config).await.unwrap().messages().await.unwrap();
    let mut our_events = queue.events("bench.>", None).await.unwrap();
    let (mut ours, mut bare, body) = (Vec::new(), Vec::<Duration>::new(), vec![b'x'; 500]);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..EACH {
            queue.publish_event("bench.a", body.clone()).await.unwrap();
            our_events.next().await.unwrap();
        }
        ours.push(started.elapsed() / EACH);
        let started = Instant::now();
        for _ in 0..EACH {
            context.publish("bare.a", body.clone().into()).await.unwrap().await.unwrap();
            bare_events.next().await.unwrap().unwrap();
        }
        bare.push(started.elapsed() / EACH);
    }
    say("a round trip over the queue", middle(ours), ("async-nats", middle(bare)), "1.3");
}
