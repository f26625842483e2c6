//! A reader of events that is too slow: the queue cuts it off, and it loses nothing.

use std::sync::mpsc;
use std::time::Duration;

use async_nats::jetstream;
use haft_fleet::{FleetEvents, FleetQueue};
use haft_testkit::NatsServer;

use super::world::{LONG, World};

const EVENTS: u64 = 40;
const BYTES: usize = 512 << 10;
/// A reader that takes nothing for so long loses its connection.
const LIMITS: &str = "write_deadline: \"1s\"\n";

/// The next event; after an error the reader resumes behind the last number, as servers do.
async fn next(queue: &FleetQueue, events: &mut FleetEvents, last: u64) -> u64 {
    for _ in 0..100 {
        match tokio::time::timeout(LONG, events.next()).await.expect("an event comes") {
            Ok(event) => return event.sequence,
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
        if let Ok(resumed) = queue.events("session.>", Some(last)).await {
            *events = resumed;
        }
    }
    panic!("no event comes after {last}");
}

/// Reads one event, then nothing of its connection until it is told, then the others.
fn read_slowly(address: &str, reads: &mpsc::Sender<()>, resume: &mpsc::Receiver<()>) -> Vec<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let queue = FleetQueue::connect(address).await.unwrap();
        let mut events = queue.events("session.>", Some(0)).await.unwrap();
        let mut read = vec![next(&queue, &mut events, 0).await];
        reads.send(()).unwrap();
        resume.recv().unwrap();
        while read.len() < usize::try_from(EVENTS).unwrap() {
            read.push(next(&queue, &mut events, *read.last().unwrap()).await);
        }
        read
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_consumer_is_cut_off_and_resumes_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let (limits, log) = (folder.path().join("limits"), folder.path().join("log"));
    std::fs::write(&limits, LIMITS).unwrap();
    let words = ["-c", limits.to_str().unwrap(), "-l", log.to_str().unwrap()].map(str::to_owned).to_vec();
    let nats = NatsServer::start_with(words);
    let (queue, address) = (FleetQueue::connect(&nats.address()).await.unwrap(), nats.address());
    let ((reads, is_reading), (resume, resumed)) = (mpsc::channel(), mpsc::channel());
    let reader = std::thread::spawn(move || read_slowly(&address, &reads, &resumed));
    let mut sent = Vec::new();
    for number in 0..EVENTS {
        sent.push(queue.publish_event("session.a", vec![b'x'; BYTES]).await.unwrap());
        if number == 0 {
            tokio::task::block_in_place(|| is_reading.recv().unwrap());
        }
    }
    // Long enough that the queue gives the reader up.
    let is_cut_off = async {
        while !std::fs::read_to_string(&log).unwrap_or_default().contains("Slow Consumer") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, is_cut_off).await.expect("the queue cuts the reader off");
    resume.send(()).unwrap();
    assert_eq!(tokio::task::block_in_place(|| reader.join().unwrap()), sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_of_a_full_stream_of_events_is_told_that_it_missed_some() {
    let world = World::new().await;
    let context = jetstream::new(async_nats::connect(world.nats.address()).await.unwrap());
    let mut config = context.get_stream("HAFT_EVENTS").await.unwrap().cached_info().config.clone();
    config.max_messages = 3;
    context.update_stream(config).await.unwrap();
    for body in ["1", "2", "3", "4", "5"] {
        world.queue.publish_event("session.a", body.into()).await.unwrap();
    }
    let mut events = world.queue.events("session.a", Some(1)).await.unwrap();
    assert!(events.has_missed, "the second is gone");
    let mut read = Vec::new();
    for _ in 0..3 {
        read.push(tokio::time::timeout(LONG, events.next()).await.unwrap().unwrap().sequence);
    }
    assert_eq!((read, world.queue.events("session.a", Some(2)).await.unwrap().has_missed), (vec![3, 4, 5], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_of_a_queue_that_lost_its_events_begins_with_the_first_new_one() {
    let mut world = World::new().await;
    for _ in 0..5 {
        world.queue.publish_event("session.a", "before".into()).await.unwrap();
    }
    world.nats.kill(false);
    world.nats.resume();
    let mut events = world.queue.events("session.a", Some(5)).await.unwrap();
    assert!(events.has_missed);
    assert_eq!(world.queue.publish_event("session.a", "after".into()).await.unwrap(), 1);
    assert_eq!(tokio::time::timeout(LONG, events.next()).await.unwrap().unwrap().body, b"after");
}
