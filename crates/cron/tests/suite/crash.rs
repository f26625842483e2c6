//! A process that dies at any of its changes of the store: no run is lost or done twice, and no state lies.

use haft_contract::ports::{Automation, DeliveryMode, DeliveryState, JobDraft, MissedRuns, RunState};

use super::world::{CrashPoint, World, at, cron, every, once, utc};

/// Everything that happens in the scenario without a crash.
const EXPECTED: [&str; 6] =
    ["catching up 11-17 09:00", "catching up 11-17 10:00", "hook 11-17 10:00", "once 11-17 09:30", "asked 11-17 11:00", "six 11-17 10:30"];

async fn add_jobs(process: &super::world::Process) {
    let webhook = JobDraft {
        delivery: Some(DeliveryMode::Webhook),
        to: Some("https://hook.example/".into()),
        ..cron("hook", "0 10 * * *", Some("UTC"))
    };
    process.add(JobDraft { missed: Some(MissedRuns::All), ..cron("catching up", "0 9,10 * * *", Some("UTC")) }).await;
    process.add(webhook).await;
    process.add(once("once", "2026-11-17T09:30:00Z")).await;
    process.add(every("six", "150m")).await;
    process.add(cron("asked", "0 0 1 1 *", Some("UTC"))).await;
}

/// The scenario: five jobs, of which four are due at once and one is asked for.
fn world() -> World {
    let world = World::new("2026-11-17T08:00:00Z");
    world.life(world.start(), |process| async move {
        add_jobs(&process).await;
        process.settle().await;
    });
    world.clock.set(at("2026-11-17T11:00:00Z"));
    world.life(world.start(), |process| async move { process.service.run("asked", false).await.unwrap() });
    world
}

/// One life that dies at its n-th change; whether it got that far.
fn one_life(world: &World, steps: usize, point: CrashPoint) -> bool {
    world.life(world.start_with(steps, point), |process| async move {
        tokio::select! {
            biased;
            () = process.store.died() => true,
            _ = process.settle() => false,
        }
    })
}

fn check(world: &World, case: &str, kills: u32) {
    let (runs, notices) = world.life(world.start(), |process| async move {
        process.work_until(at("2026-11-17T12:00:00Z")).await;
        (process.runs().await, process.notices().await)
    });
    let mut found: Vec<String> = runs.iter().map(|run| format!("{} {}", run.name, utc(run.due))).collect();
    found.sort();
    let mut expected = EXPECTED.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(found, expected, "{case}: each time has one run");
    let outside = world.outside();
    let mut unknown = 0;
    for run in &runs {
        assert_eq!(run.state, RunState::Ok, "{case}: {run:?}");
        let done = outside.done[&(run.name.clone(), utc(run.due))];
        assert_eq!(done.0, 1, "{case}: {} was done {} times", run.name, done.0);
        assert!(done.1 <= kills + 1, "{case}");
        let sent = outside.sent.get(&run.id).copied().unwrap_or_default();
        match run.delivery {
            DeliveryState::Delivered => assert_eq!(sent, 1, "{case}: {run:?}"),
            DeliveryState::Unknown => {
                unknown += 1;
                assert!(sent <= 1, "{case}: {run:?}");
            }
            _ => panic!("{case}: {run:?}"),
        }
    }
    assert!(unknown <= 6 && notices.len() == unknown, "{case}: {notices:?}");
}

#[test]
fn death_at_any_change_of_the_store_loses_and_doubles_nothing() {
    let mut steps = 1;
    loop {
        let mut has_died = false;
        for point in [CrashPoint::Before, CrashPoint::After] {
            let world = world();
            has_died |= one_life(&world, steps, point);
            check(&world, &format!("step {steps} {point:?}"), 1);
        }
        if !has_died {
            break;
        }
        steps += 1;
    }
    assert!(steps > 15, "{steps} steps");
}

#[test]
fn two_deaths_in_a_row_lose_and_double_nothing() {
    for first in [2, 5, 8, 11, 14] {
        for second in [1, 3, 6, 9] {
            let world = world();
            one_life(&world, first, CrashPoint::After);
            one_life(&world, second, CrashPoint::Before);
            check(&world, &format!("steps {first} and {second}"), 2);
        }
    }
}

#[test]
fn run_that_kills_its_server_again_and_again_fails_with_a_notice() {
    let world = World::new("2026-11-17T08:00:00Z");
    world.life(world.start(), |process| async move {
        process.add(cron("deadly", "0 9 * * *", Some("UTC"))).await;
        process.settle().await;
    });
    world.clock.set(at("2026-11-17T09:00:00Z"));
    world.hang.lock().unwrap().insert("deadly".into(), 100);
    for _ in 0..3 {
        // It hangs while it is done; the answer of its conversation is forgotten with each kill.
        world.outside().forget_answers();
        let wait = std::time::Duration::from_millis(300);
        world.life(world.start(), |process| async move { tokio::time::timeout(wait, process.settle()).await.unwrap_err() });
    }
    let (runs, notices) = world.life(world.start(), |process| async move {
        process.settle().await;
        (process.runs().await, process.notices().await)
    });
    let states: Vec<_> = runs.iter().map(|run| (run.state, run.attempts, run.error.as_deref())).collect();
    assert_eq!(states, [(RunState::Failed, 3, Some("the server ended in the middle of it, 3 times"))]);
    assert_eq!(notices.len(), 1, "{notices:?}");
}

#[test]
fn two_servers_share_the_runs_and_double_none() {
    let world = world();
    let other = world.start();
    world.life(world.start(), |process| async move {
        tokio::join!(process.settle(), other.settle());
        drop(other);
    });
    check(&world, "two servers", 0);
}
