//! Messages that come twice, late, out of order, for nobody, or that are none.

use std::time::Duration;

use haft_fleet::WorkStep;
use haft_store::{NewWork, WorkState};

use super::world::{LONG, World, new_work};

const LEASE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_come_twice_late_or_out_of_order_do_nothing_twice() {
    let world = World::new().await;
    let topic = "test".to_owned();
    // The consumer is there, and no worker.
    world.worker("first", 1, LEASE).drain().await;
    for id in ["b", "a"] {
        world.work.submit(new_work(id, false)).await.unwrap();
    }
    // The same message is one; another one for the same work is two.
    for (id, attempt) in [("a", 0), ("a", 0), ("a", 1), ("b", 0), ("b", 0)] {
        world.queue.push(&topic, id, attempt).await.unwrap();
    }
    assert_eq!(world.queue.waiting(std::slice::from_ref(&topic)).await.unwrap(), [(topic.clone(), 3, 0)]);
    // It is given away later than it was to begin.
    let late = NewWork { patience: Duration::ZERO, ..new_work("late", false) };
    let late = world.give(late);
    let worker = world.worker("second", 4, LEASE);
    worker.steps.wait_for(WorkStep::Acknowledged, 3).await;
    assert_eq!(late.await.unwrap().state, WorkState::Expired);
    // A message for work that is settled.
    world.queue.push(&topic, "a", 2).await.unwrap();
    world.give(new_work("c", false)).await.unwrap();
    assert_eq!(["a", "b", "c", "late"].map(|id| world.effects(id)), [1, 1, 1, 0]);
    for id in ["a", "b", "c"] {
        assert_eq!(world.work.look(id).await.unwrap().unwrap().outcome, Some(format!("{id} by second")));
    }
    // Nobody wants it any more: it is not begun, or ended.
    let waiting = world.give(new_work("wait-cancel", false));
    worker.steps.wait_for(WorkStep::Started, 4).await;
    waiting.abort();
    worker.steps.wait_for(WorkStep::Stored, 4).await;
    let record = world.work.look("wait-cancel").await.unwrap().unwrap();
    assert_eq!(record.outcome.as_deref(), Some("ended: nobody wants it any more"));
    assert_eq!(world.work.cancel("nothing").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn message_that_is_none_is_set_aside_with_its_story_and_others_are_handled() {
    let world = World::new().await;
    let worker = world.worker("worker", 2, LEASE);
    for body in ["no json", "{\"id\": 7}"] {
        world.queue.push_raw("test", body.as_bytes().to_vec()).await.unwrap();
    }
    world.queue.push("test", "unknown", 0).await.unwrap();
    assert_eq!(world.give(new_work("good", false)).await.unwrap().state, WorkState::Done);
    worker.steps.wait_for(WorkStep::SetAside, 3).await;
    let aside = world.work.list(vec![WorkState::Aside], 10).await.unwrap();
    let mut ids: Vec<&str> = aside.iter().map(|record| record.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["message-1", "message-2", "unknown"]);
    assert!(aside.iter().all(|record| record.story[0].contains("taken by worker: it names no work of postgres://")), "{aside:?}");
    assert_eq!(world.queue.waiting(&["test".to_owned()]).await.unwrap(), [("test".to_owned(), 0, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_that_is_stopped_finishes_or_says_so_and_takes_nothing_more() {
    let world = World::new().await;
    let worker = world.worker("first", 2, LEASE);
    let (short, long) = (world.give(new_work("wait-short", false)), world.give(new_work("wait-long", false)));
    worker.steps.wait_for(WorkStep::Started, 2).await;
    let record = world.work.workers().await.unwrap().remove(0);
    assert_eq!((record.name.as_str(), record.capacity, record.draining), ("first", 2, false));
    std::fs::write(world.folder.path().join("wait-short"), "").unwrap();
    let steps = worker.drain().await;
    assert_eq!(short.await.unwrap().outcome.as_deref(), Some("wait-short by first"));
    assert_eq!(long.await.unwrap().outcome.as_deref(), Some("ended: the worker was stopped"));
    assert_eq!((steps.count(WorkStep::Acknowledged), world.work.workers().await.unwrap()), (2, Vec::new()));
    let later = world.give(new_work("later", false));
    let second = world.worker("second", 1, LEASE);
    assert_eq!(tokio::time::timeout(LONG, later).await.unwrap().unwrap().outcome.as_deref(), Some("later by second"));
    second.drain().await;
}
