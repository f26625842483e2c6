//! Tenants share the workers, and work on one thing is done by one worker at a time, in its order.

use std::time::Duration;

use haft_store::{NewWork, WorkClaim, WorkState};

use super::world::{LONG, World, new_work};

const LEASE: Duration = Duration::from_secs(3);

fn work_of(tenant: &str, id: &str, holds: &str) -> NewWork {
    NewWork { tenant: tenant.to_owned(), holds: holds.to_owned(), ..new_work(id, true) }
}

#[tokio::test(flavor = "multi_thread")]
async fn tenant_with_much_work_does_not_keep_the_others_waiting() {
    let world = World::new().await;
    let mut given = Vec::new();
    for number in 0..20 {
        given.push(world.give(work_of("big", &format!("big-{number:02}"), "")));
    }
    while world.work.load().await.unwrap().first().is_none_or(|load| load.queued < 20) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for tenant in ["small", "other"] {
        given.push(world.give(work_of(tenant, &format!("{tenant}-00"), "")));
    }
    while world.work.load().await.unwrap().len() < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let worker = world.worker("worker", 1, LEASE);
    for done in given {
        let record = done.await.unwrap();
        assert_eq!((record.state, record.outcome.unwrap()), (WorkState::Done, format!("{} by worker", record.id)));
        assert!(record.id.starts_with(&record.tenant), "nothing of one tenant is another's");
    }
    let text = std::fs::read_to_string(world.folder.path().join("effects")).unwrap();
    let order: Vec<&str> = text.lines().collect();
    let place = |id: &str| order.iter().position(|line| *line == id).unwrap();
    assert!(order.len() == 22 && place("small-00") < 4 && place("other-00") < 4, "{order:?}");
    worker.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_on_one_session_is_done_by_one_worker_at_a_time_in_its_order() {
    let world = World::new().await;
    let work = &world.work;
    for id in ["first", "second"] {
        work.submit(work_of("", id, "session-1")).await.unwrap();
    }
    work.submit(work_of("", "elsewhere", "session-2")).await.unwrap();
    // The second has to wait for the first, so its message is used for what is free.
    let WorkClaim::Taken { lease: other, .. } = work.claim("second", "one", LONG).await.unwrap() else { panic!("nothing is free") };
    assert_eq!(other.id, "first");
    let WorkClaim::Taken { lease, .. } = work.claim("second", "two", LONG).await.unwrap() else { panic!("nothing is free") };
    assert_eq!(lease.id, "elsewhere");
    assert!(matches!(work.claim("second", "three", LONG).await.unwrap(), WorkClaim::Held(_)));
    assert!(work.start(&other).await.unwrap() && work.finish(&other, "done").await.unwrap());
    assert!(matches!(work.claim("second", "three", LONG).await.unwrap(), WorkClaim::Taken { lease, .. } if lease.id == "second"));
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_worker_hands_repeatable_work_to_another_one() {
    let world = World::new().await;
    let first = world.worker("first", 1, LEASE);
    let given = world.give(work_of("", "wait-handed", ""));
    first.steps.wait_for(haft_fleet::WorkStep::Started, 1).await;
    let steps = first.drain().await;
    assert_eq!(steps.count(haft_fleet::WorkStep::Returned), 1);
    std::fs::write(world.folder.path().join("wait-handed"), "").unwrap();
    let second = world.worker("second", 1, LEASE);
    let record = given.await.unwrap();
    assert_eq!((record.outcome.as_deref(), record.attempts), (Some("wait-handed by second"), 2));
    second.drain().await;
}
