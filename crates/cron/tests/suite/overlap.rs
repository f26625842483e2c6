//! A job whose run has not ended when the next is due, clocks that are set, and changes by the user.

use std::path::Path;
use std::time::Duration;

use haft_contract::ports::{Automation, JobDraft, OverlapRule, RunState};
use haft_store::{AutomationStore, NewSession, StoredTaint};

use super::world::{MINUTE, WORKSPACE, World, at, cron, every, once, utc};

/// Runs of a job whose first run hangs while two more are due.
fn states(overlap: OverlapRule) -> Vec<(String, RunState)> {
    let world = World::new("2026-11-17T08:00:00Z");
    world.hang.lock().unwrap().insert("slow".into(), 1);
    let clock = world.clock.clone();
    world.life(world.start(), |process| async move {
        process.add(JobDraft { overlap: Some(overlap), ..every("slow", "10m") }).await;
        for _ in 0..3 {
            let next = process.store.next_due(Path::new(WORKSPACE)).await.unwrap().unwrap();
            clock.set(next);
            process.scheduler.step().await.unwrap();
            tokio::task::yield_now().await;
        }
        while process.scheduler.running() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        process.runs().await.into_iter().map(|run| (utc(run.due), run.state)).collect()
    })
}

#[test]
fn overlapping_run_is_skipped_waits_or_runs_beside() {
    let run = |minute: &str, state: RunState| (format!("11-17 08:{minute}"), state);
    for (overlap, second, third) in [
        (OverlapRule::Skip, RunState::Skipped, RunState::Skipped),
        (OverlapRule::Wait, RunState::Waiting, RunState::Skipped),
        (OverlapRule::Parallel, RunState::Ok, RunState::Ok),
    ] {
        assert_eq!(states(overlap), [run("10", RunState::Running), run("20", second), run("30", third)], "{overlap}");
    }
}

#[tokio::test]
async fn clock_that_is_set_back_neither_repeats_nor_stops_jobs() {
    let world = World::new("2026-11-17T08:00:00Z");
    let process = world.start();
    process.add(cron("daily", "0 9 * * *", Some("UTC"))).await;
    process.add(every("often", "10m")).await;
    process.work_until(at("2026-11-17T09:05:00Z")).await;
    let before = process.runs().await.len();
    assert_eq!(before, 7);
    // Three hours back: 09:00 comes again, and ten minutes are still ten minutes.
    world.clock.set(at("2026-11-17T06:05:00Z"));
    process.work_until(at("2026-11-17T06:30:00Z")).await;
    let runs = process.runs().await[before..].iter().map(|run| format!("{} {}", run.name, utc(run.due))).collect::<Vec<_>>();
    assert_eq!(runs, ["often 11-17 06:15", "often 11-17 06:25"]);
    process.work_until(at("2026-11-17T09:30:00Z")).await;
    assert_eq!(process.runs().await.iter().filter(|run| run.name == "daily").count(), 1, "09:00 has had its run");
    // Two days forward: one run stands for all that were missed.
    world.clock.set(at("2026-11-19T12:00:00Z"));
    process.settle().await;
    assert_eq!(
        process.runs().await.iter().filter(|run| run.name == "daily").map(|run| utc(run.due)).collect::<Vec<_>>(),
        ["11-17 09:00", "11-19 09:00"]
    );
}

#[tokio::test]
async fn paused_removed_and_changed_jobs_do_what_the_user_said() {
    let world = World::new("2026-11-17T08:00:00Z");
    let process = world.start();
    let off = |enabled| JobDraft { enabled: Some(enabled), ..JobDraft::default() };
    for name in ["paused", "removed", "moved", "resumed"] {
        process.add(every(name, "10m")).await;
    }
    process.service.update(None, "paused", off(false)).await.unwrap();
    process.service.update(None, "resumed", off(false)).await.unwrap();
    process.service.update(None, "resumed", off(true)).await.unwrap();
    process.service.remove("removed").await.unwrap();
    let moved = process.service.update(None, "moved", JobDraft { name: None, task: None, ..cron("", "15 8 * * *", Some("UTC")) }).await;
    assert_eq!(moved.unwrap().words, "every day at 08:15 (UTC)");
    process.work_until(at("2026-11-17T08:20:00Z")).await;
    let runs: Vec<String> = process.runs().await.iter().map(|run| format!("{} {}", run.name, utc(run.due))).collect();
    assert_eq!(runs, ["resumed 11-17 08:10", "moved 11-17 08:15", "resumed 11-17 08:20"]);
}

#[tokio::test]
async fn job_that_a_conversation_changes_after_untrusted_content_is_untrusted() {
    let world = World::new("2026-11-17T08:00:00Z");
    let process = world.start();
    let mut sessions = Vec::new();
    for untrusted in [false, true] {
        let id = process.sessions.create(NewSession::new("main", Path::new(WORKSPACE))).await.unwrap().id;
        process.sessions.add_taint(&id, StoredTaint { private: false, untrusted }).await.unwrap();
        sessions.push(id);
    }
    process.add(every("report", "10m")).await;
    let text = |task: &str| JobDraft { task: Some(task.into()), ..JobDraft::default() };
    // Who changes it, and whether its runs are untrusted from then on.
    for (session, is_tainted) in [
        (None, false),
        (Some(sessions[0].as_str()), false),
        (Some("of a single call"), false),
        (Some(sessions[1].as_str()), true),
        (None, true),
    ] {
        let view = process.service.update(session, "report", text("send it")).await.unwrap();
        assert_eq!(view.job.is_tainted, is_tainted, "{session:?}");
    }
    let error = process.service.update(None, "report", JobDraft::default()).await.unwrap_err();
    assert!(error.message().starts_with("Say what changes"), "{error:?}");
}

#[tokio::test]
async fn run_that_is_asked_for_runs_now_and_changes_no_schedule() {
    let world = World::new("2026-11-17T08:00:00Z");
    let process = world.start();
    process.add(once("later", "2026-12-01T09:00:00Z")).await;
    assert_eq!(process.service.run("later", true).await.unwrap(), None);
    process.service.run("later", false).await.unwrap().unwrap();
    let error = process.service.run("later", false).await.unwrap_err();
    assert!(error.message().contains("waits already"), "{error:?}");
    process.settle().await;
    let view = process.service.find("later").await.unwrap();
    let last = view.last_run.unwrap();
    assert_eq!((last.state, view.next_runs), (RunState::Ok, vec!["Tue 2026-12-01 10:00 CET".to_owned()]));
    process.work_until(at("2026-12-01T09:00:00Z") + MINUTE).await;
    assert_eq!(process.runs().await.len(), 2);
    assert!(process.service.find("later").await.unwrap_err().message().contains("There is no job 'later'"));
}
