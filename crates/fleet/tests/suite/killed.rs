//! A worker is killed with SIGKILL between each two steps.

use std::time::{Duration, Instant};

use haft_store::WorkState;

use super::child::ChildWorker;
use super::world::{LONG, World, new_work};

const LEASE: Duration = Duration::from_secs(3);

/// The step after which the worker is killed, whether the work is repeatable, what is known in the end, and how often it had its effect.
const CASES: [(&str, bool, WorkState, usize); 12] = [
    ("Received", false, WorkState::Done, 1),
    ("Received", true, WorkState::Done, 1),
    ("Claimed", false, WorkState::Done, 1),
    ("Claimed", true, WorkState::Done, 1),
    // Nobody can know whether it had its effect: it had none here.
    ("Started", false, WorkState::Unknown, 0),
    ("Started", true, WorkState::Done, 1),
    // And here it had.
    ("Ran", false, WorkState::Unknown, 1),
    ("Ran", true, WorkState::Done, 2),
    ("Stored", false, WorkState::Done, 1),
    ("Stored", true, WorkState::Done, 1),
    ("Announced", false, WorkState::Done, 1),
    ("Announced", true, WorkState::Done, 1),
];

#[tokio::test(flavor = "multi_thread")]
async fn killed_worker_leaves_one_outcome_or_a_truthful_unknown() {
    let world = World::new().await;
    let id = |(step, repeatable, ..): &(&str, bool, WorkState, usize)| format!("{step}-{repeatable}");
    // Every slot is held by work that stopped, so nothing comes to it twice.
    let mut child = ChildWorker::start(&world, CASES.len() as u64, LEASE);
    let given: Vec<_> = CASES.iter().map(|case| world.give(new_work(&id(case), case.1))).collect();
    tokio::task::block_in_place(|| child.wait_for("stopped", CASES.len()));
    child.signal("KILL");
    drop(child);
    let other = world.worker("other", 4, LEASE);
    let mut found = Vec::new();
    for (case, given) in CASES.iter().zip(given) {
        let record = given.await.unwrap();
        let finisher = record.outcome.as_deref().and_then(|outcome| outcome.rsplit(' ').next().map(str::to_owned));
        found.push((case.0, case.1, record.state, world.effects(&id(case))));
        match case {
            ("Stored" | "Announced", ..) => assert_eq!(finisher.as_deref(), Some("child"), "{record:?}"),
            (_, _, WorkState::Done, _) => assert_eq!(finisher.as_deref(), Some("other"), "{record:?}"),
            _ => assert!(record.story.last().unwrap().contains("its outcome is unknown") && finisher.is_none(), "{record:?}"),
        }
    }
    assert_eq!(found, CASES);
    // Messages of the killed worker come again when its lease is over, also of work that was found in the database before.
    let until = Instant::now() + LONG;
    while world.queue.waiting(&["test".to_owned()]).await.unwrap() != [("test".to_owned(), 0, 0)] {
        assert!(Instant::now() < until, "a message is left");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    other.drain().await;
}
