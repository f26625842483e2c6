//! Leases expire, and a worker that comes back from the dead changes nothing.

use std::time::Duration;

use haft_fleet::WorkStep;
use haft_store::{LeaseAnswer, WorkClaim, WorkLease, WorkState, WorkerRecord};

use super::child::ChildWorker;
use super::world::{LONG, World, new_work};

fn taken(claim: WorkClaim) -> WorkLease {
    match claim {
        WorkClaim::Taken { lease, .. } => lease,
        other => panic!("{other:?}"),
    }
}

/// What another worker gets when the lease is over.
async fn expire(world: &World, lease: &WorkLease) -> WorkClaim {
    assert_eq!(world.work.renew(lease, Duration::ZERO).await.unwrap(), LeaseAnswer::Renewed);
    world.work.claim(&lease.id, "two", LONG).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn write_of_a_worker_whose_lease_has_expired_is_fenced_off() {
    let world = World::new().await;
    let work = &world.work;
    work.submit(new_work("again", true)).await.unwrap();
    work.submit(new_work("again", false)).await.unwrap();
    let one = taken(work.claim("again", "one", LONG).await.unwrap());
    assert!(work.start(&one).await.unwrap());
    let two = taken(expire(&world, &one).await);
    assert_eq!((one.fence, two.fence), (1, 2));
    assert_eq!(work.renew(&one, LONG).await.unwrap(), LeaseAnswer::Lost);
    assert!(!work.start(&one).await.unwrap() && !work.give_back(&one).await.unwrap());
    assert!(work.start(&two).await.unwrap());
    assert!(!work.finish(&one, "of one").await.unwrap());
    assert!(work.finish(&two, "of two").await.unwrap());
    assert!(work.finish(&two, "of two").await.unwrap(), "an answer that was lost is given again");
    assert!(!work.finish(&one, "of one").await.unwrap());
    let record = work.look("again").await.unwrap().unwrap();
    assert_eq!((record.state, record.outcome.as_deref(), record.attempts), (WorkState::Done, Some("of two"), 2));

    // What is not repeatable is never begun again, and what the first one did is not known.
    work.submit(new_work("once", false)).await.unwrap();
    let one = taken(work.claim("once", "one", LONG).await.unwrap());
    assert!(work.start(&one).await.unwrap());
    assert_eq!(expire(&world, &one).await, WorkClaim::Settled(WorkState::Unknown));
    assert!(!work.finish(&one, "late").await.unwrap());
    assert_eq!(work.look("once").await.unwrap().unwrap().outcome, None);

    // What was claimed and not begun is free again.
    work.submit(new_work("idle", false)).await.unwrap();
    let one = taken(work.claim("idle", "one", LONG).await.unwrap());
    assert!(matches!(work.claim("idle", "two", LONG).await.unwrap(), WorkClaim::Held(time) if time > LONG / 2));
    assert_eq!(taken(expire(&world, &one).await).fence, 2);

    // What many workers began and none came to an end with is set aside with its story.
    work.submit(new_work("poison", true)).await.unwrap();
    let mut claim = work.claim("poison", "one", LONG).await.unwrap();
    while let WorkClaim::Taken { lease, .. } = &claim {
        assert!(work.start(lease).await.unwrap());
        claim = expire(&world, lease).await;
    }
    let record = work.look("poison").await.unwrap().unwrap();
    assert_eq!((claim, record.attempts, record.story.len()), (WorkClaim::Settled(WorkState::Aside), 5, 7), "{record:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_stopped_workers_hand_back_is_never_taken_for_poison() {
    let world = World::new().await;
    let work = &world.work;
    work.submit(new_work("handed", true)).await.unwrap();
    let mut attempts = Vec::new();
    for _ in 0..7 {
        let WorkClaim::Taken { lease, attempt, .. } = work.claim("handed", "one", LONG).await.unwrap() else { panic!("it is not free") };
        assert!(work.start(&lease).await.unwrap() && work.hand_back(&lease).await.unwrap());
        attempts.push(attempt);
    }
    assert_eq!(attempts, [1, 2, 2, 2, 2, 2, 2], "only the first finds nothing done");
}

#[tokio::test(flavor = "multi_thread")]
async fn settled_work_is_forgotten_after_a_week_while_a_worker_lives() {
    let world = World::new().await;
    for id in ["old", "new", "open"] {
        world.work.submit(new_work(id, false)).await.unwrap();
    }
    for id in ["old", "new"] {
        world.work.cancel(id).await.unwrap();
    }
    let (_, schema) = world.database.rsplit_once("%3D").unwrap();
    world.server.sql("postgres", &format!("UPDATE {schema}.work SET settled = settled - interval '8 days' WHERE id = 'old'"));
    world.work.present(WorkerRecord { token: "one".to_owned(), ..WorkerRecord::default() }).await.unwrap();
    let mut found = Vec::new();
    for id in ["old", "new", "open"] {
        found.push(world.work.look(id).await.unwrap().map(|record| record.state));
    }
    assert_eq!(found, [None, Some(WorkState::Cancelled), Some(WorkState::Queued)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_that_was_frozen_finds_its_work_taken_and_stores_nothing() {
    let world = World::new().await;
    let lease = Duration::from_secs(1);
    let mut child = ChildWorker::start(&world, 1, lease);
    let given = world.give(new_work("wait-frozen", true));
    tokio::task::block_in_place(|| child.wait_for("Started", 1));
    while world.effects("wait-frozen") == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.signal("STOP");
    let other = world.worker("other", 1, lease);
    other.steps.wait_for(WorkStep::Started, 1).await;
    std::fs::write(world.folder.path().join("wait-frozen"), "").unwrap();
    let record = given.await.unwrap();
    assert_eq!((record.outcome.as_deref(), record.attempts), (Some("wait-frozen by other"), 2), "{record:?}");
    child.signal("CONT");
    tokio::task::block_in_place(|| child.wait_for("Fenced wait-frozen", 1));
    assert_eq!(world.work.look("wait-frozen").await.unwrap().unwrap(), record, "nothing has changed");
}
