//! Two workers with one name: what each may write hangs on its lease, not on what it is called.

use std::time::Duration;

use haft_fleet::WorkStep;

use super::child::ChildPlan;
use super::world::{World, new_work};

const LEASE: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn workers_with_the_same_name_are_two_and_fence_each_other_off() {
    let world = World::new().await;
    let mut child = ChildPlan::new(&world, "same", LEASE).start();
    let given = world.give(new_work("wait-held", true));
    tokio::task::block_in_place(|| child.wait_for("Started", 1));
    let local = world.worker("same", 1, LEASE);
    assert_eq!(world.give(new_work("other", false)).await.unwrap().outcome.as_deref(), Some("other by same"));
    let workers = world.work.workers().await.unwrap();
    assert_eq!(workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>(), ["same", "same"]);
    assert_ne!(workers[0].token, workers[1].token);

    child.signal("STOP");
    local.steps.wait_for(WorkStep::Started, 2).await;
    std::fs::write(world.folder.path().join("wait-held"), "").unwrap();
    let record = given.await.unwrap();
    assert_eq!((record.attempts, world.effects("wait-held")), (2, 2), "{record:?}");
    child.signal("CONT");
    tokio::task::block_in_place(|| child.wait_for("Fenced wait-held", 1));
    assert_eq!(world.work.look("wait-held").await.unwrap().unwrap(), record, "nothing has changed");

    // One of them leaves, and the other is still there.
    local.drain().await;
    assert_eq!(world.work.workers().await.unwrap().len(), 1);
    assert_eq!(world.give(new_work("later", false)).await.unwrap().outcome.as_deref(), Some("later by same"));
}
