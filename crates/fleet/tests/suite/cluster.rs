//! A cluster that loses a server, and a stream that is full.

use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};
use haft_fleet::{Dispatcher, FleetQueue};
use haft_store::WorkState;
use haft_testkit::NatsServer;

use super::world::{LONG, World, new_work};

const LEASE: Duration = Duration::from_secs(3);

/// Connects when the cluster has chosen who leads it.
async fn connect(servers: &[NatsServer]) -> FleetQueue {
    let addresses = servers.iter().map(NatsServer::address).collect::<Vec<_>>().join(",");
    let until = Instant::now() + LONG;
    loop {
        match FleetQueue::connect(&addresses).await {
            Ok(queue) => return queue,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_that_loses_a_server_keeps_all_work() {
    let mut world = World::new().await;
    let mut servers = NatsServer::cluster();
    world.queue = connect(&servers).await;
    let worker = world.worker("worker", 2, LEASE);
    // It has its consumer then: a worker does not start without a queue.
    assert_eq!(world.give(new_work("first", false)).await.unwrap().state, WorkState::Done);
    for (round, lost) in [(0, 0), (1, 1)] {
        let given: Vec<_> = (0..8).map(|number| world.give(new_work(&format!("work-{round}-{number}"), false))).collect();
        servers[lost].kill(true);
        for done in given {
            assert_eq!(done.await.unwrap().state, WorkState::Done);
        }
        servers[lost].resume();
    }
    let effects: Vec<usize> = (0..2)
        .flat_map(|round| (0..8).map(move |number| (round, number)))
        .map(|(round, number)| world.effects(&format!("work-{round}-{number}")))
        .collect();
    assert_eq!(effects, [1; 16]);
    worker.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_a_full_stream_refuses_is_done_all_the_same() {
    let world = World::new().await;
    let client = async_nats::connect(world.nats.address()).await.unwrap();
    let context = jetstream::new(client);
    let mut config = context.get_stream("HAFT_WORK").await.unwrap().cached_info().config.clone();
    (config.max_messages, config.discard) = (2, stream::DiscardPolicy::New);
    context.update_stream(config).await.unwrap();
    let given: Vec<_> = (0..12).map(|number| world.give(new_work(&format!("work-{number}"), false))).collect();
    let dispatcher = Dispatcher::new(world.queue.clone(), world.work.clone());
    let until = Instant::now() + LONG;
    while context.get_stream("HAFT_WORK").await.unwrap().cached_info().state.messages < 2 {
        assert!(Instant::now() < until, "the stream does not become full");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(dispatcher.queue.push("test", "one more", 0).await.is_err(), "the stream is full");
    let worker = world.worker("worker", 2, LEASE);
    for done in given {
        assert_eq!(done.await.unwrap().state, WorkState::Done);
    }
    assert_eq!((0..12).map(|number| world.effects(&format!("work-{number}"))).collect::<Vec<_>>(), [1; 12]);
    worker.drain().await;
}
