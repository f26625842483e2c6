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

#[tokio::test(flavor = "multi_thread")]
async fn work_whose_process_is_lost_is_begun_again_if_it_may_be() {
    let world = World::new().await;
    let worker = world.worker("worker", 1, LEASE);
    let repeatable = world.give(new_work("lose first", true)).await.unwrap();
    assert_eq!((repeatable.outcome.as_deref(), repeatable.attempts), (Some("lose first by worker"), 2));
    assert!(repeatable.story.iter().any(|line| line.ends_with("worker lost it: its child ended")), "{:?}", repeatable.story);
    let once = world.give(new_work("lose second", false)).await.unwrap();
    assert_eq!((once.outcome.as_deref(), once.attempts), (Some("ended: its child ended"), 1));
    worker.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deposit_is_written_by_the_newest_claim_alone() {
    let world = World::new().await;
    let work = &world.work;
    work.deposit("turn", "what to do").await.unwrap();
    work.deposit("turn", "something else").await.unwrap();
    let opened = work.open_deposit("turn", 3).await.unwrap().unwrap();
    assert_eq!((opened.body.as_str(), opened.outcome), ("what to do", None));
    assert!(work.open_deposit("turn", 5).await.unwrap().is_some());
    assert_eq!(work.open_deposit("turn", 4).await.unwrap(), None, "an older claim");
    assert!(!work.settle_deposit("turn", 3, "of the one before").await.unwrap());
    assert!(work.settle_deposit("turn", 5, "done").await.unwrap() && work.settle_deposit("turn", 5, "done").await.unwrap());
    assert!(!work.settle_deposit("turn", 5, "again").await.unwrap(), "an outcome is final");
    assert_eq!(work.deposit_outcome("turn").await.unwrap().as_deref(), Some("done"));
    assert_eq!((work.open_deposit("none", 1).await.unwrap(), work.deposit_outcome("none").await.unwrap()), (None, None));
    // No worker takes it.
    assert!(work.list_lost(vec!["deposit".to_owned()], 10).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_one_tenant_is_taken_back_as_a_whole() {
    let world = World::new().await;
    let work = &world.work;
    for id in ["aa-1", "aa-2", "ab-1"] {
        work.submit(work_of("", id, "")).await.unwrap();
    }
    let WorkClaim::Taken { lease, .. } = work.claim("aa-1", "one", LONG).await.unwrap() else { panic!("nothing is free") };
    assert!(work.start(&lease).await.unwrap());
    work.cancel_all("aa-").await.unwrap();
    assert_eq!((work.count_unsettled("aa-").await.unwrap(), work.count_unsettled("ab-").await.unwrap()), (1, 1));
    assert_eq!(work.renew(&lease, LONG).await.unwrap(), haft_store::LeaseAnswer::Unwanted);
    assert!(work.finish(&lease, "ended").await.unwrap());
    assert_eq!(work.count_unsettled("aa-").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_stays_until_it_is_removed_and_processor_time_is_added_up() {
    let world = World::new().await;
    let work = &world.work;
    let said = |id: &str, text: &str| haft_store::SaidMessage { id: id.to_owned(), text: text.to_owned() };
    for (session, id) in [("s1", "2"), ("s2", "x"), ("s1", "1"), ("s1", "2")] {
        work.say(session, &said(id, &format!("text {id}"))).await.unwrap();
    }
    assert_eq!(work.list_said("s1").await.unwrap(), [said("2", "text 2"), said("1", "text 1")]);
    work.remove_said(vec!["2".to_owned(), "unknown".to_owned()]).await.unwrap();
    assert_eq!(work.list_said("s1").await.unwrap(), [said("1", "text 1")]);
    let mut days = Vec::new();
    for (day, ticks) in [("2026-11-18", 5), ("2026-11-18", 7), ("2026-11-19", 1)] {
        days.push(work.add_processor_time(day, ticks).await.unwrap());
    }
    assert_eq!(days, [5, 12, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_count_calls_at_once_count_no_more_than_the_limit() {
    let world = World::new().await;
    let counts = (0..40).map(|_| {
        let work = world.work.clone();
        tokio::spawn(async move { work.count_call("2026-11-18", 0, 7).await.unwrap() })
    });
    let counted = futures_util::future::join_all(counts).await.into_iter().filter(|counted| *counted.as_ref().unwrap()).count();
    assert_eq!(counted, 7);
    // What the history has counts as well, and another day has calls of its own.
    let work = &world.work;
    let more = [("2026-11-18", 9, 10), ("2026-11-18", 0, 10), ("2026-11-19", 3, 4), ("2026-11-19", 0, 4), ("2026-11-20", 5, 5)];
    let mut answers = Vec::new();
    for (day, known, limit) in more {
        answers.push(work.count_call(day, known, limit).await.unwrap());
    }
    assert_eq!(answers, [true, false, true, false, false]);
}
