//! The queue is killed and comes back, with what it had and without; the database restarts.

use std::time::Duration;

use haft_fleet::{FleetQueue, WorkStep};
use haft_store::WorkState;

use super::world::{World, new_work};

const LEASE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn work_survives_restarts_of_the_queue_and_of_the_database() {
    let mut world = World::new().await;
    let worker = world.worker("worker", 2, LEASE);
    for (number, keeps) in [(0, true), (1, false)] {
        let (before, during) = (world.give(new_work(&format!("wait-{number}"), false)), format!("during-{number}"));
        worker.steps.wait_for(WorkStep::Started, 2 * number + 1).await;
        world.nats.kill(keeps);
        // It ends while there is no queue, and this is given while there is none.
        std::fs::write(world.folder.path().join(format!("wait-{number}")), "").unwrap();
        let during = world.give(new_work(&during, false));
        assert_eq!(before.await.unwrap().state, WorkState::Done, "the database knows");
        world.nats.resume();
        assert_eq!(during.await.unwrap().state, WorkState::Done);
    }
    let running = world.give(new_work("wait-database", false));
    worker.steps.wait_for(WorkStep::Started, 5).await;
    world.server.kill();
    std::fs::write(world.folder.path().join("wait-database"), "").unwrap();
    world.server.resume();
    assert_eq!(running.await.unwrap().state, WorkState::Done);
    for id in ["wait-0", "wait-1", "during-0", "during-1", "wait-database"] {
        assert_eq!(world.effects(id), 1, "{id}");
    }
}

#[tokio::test]
async fn queue_that_is_not_there_is_named_without_its_password() {
    let said = FleetQueue::connect("nats://user:hunter2@127.0.0.1:1").await.unwrap_err().to_string();
    assert!(said.contains("the queue nats://127.0.0.1:1 cannot be used") && said.contains("nats-server -js"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}
