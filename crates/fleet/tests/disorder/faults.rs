//! The runs: one without a fault of ours, and three with one that the checker must find.

use std::time::{Duration, Instant};

use haft_store::WorkState;

use super::checker::check;
use super::child::PlantedFault;
use super::run::{ChaosBounds, run};

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_doubled_or_leaked_while_everything_is_killed() {
    let (seed, seconds) = (number("HAFT_CHAOS_SEED", 20_261_118), number("HAFT_CHAOS_SECONDS", 15));
    let started = Instant::now();
    let bounds = ChaosBounds {
        time: Duration::from_secs(seconds),
        points: number("HAFT_CHAOS_POINTS", u64::MAX),
        pace: Duration::from_millis(number("HAFT_CHAOS_PACE", 80)),
        workers: usize::try_from(number("HAFT_CHAOS_WORKERS", 3)).unwrap(),
    };
    let done = run(seed, bounds, PlantedFault::None).await;
    let count = |state: WorkState| done.evidence.records.values().filter(|record| record.state == state).count();
    println!(
        "seed {seed}, {:.0} s: {} recorded, {} effects, {} done, {} unknown, {} aside; {:?}",
        started.elapsed().as_secs_f64(),
        done.evidence.records.len(),
        done.evidence.effects.len(),
        count(WorkState::Done),
        count(WorkState::Unknown),
        count(WorkState::Aside),
        done.counts
    );
    let faults = check(&done.evidence);
    assert!(faults.is_empty(), "seed {seed}: {faults:#?}");
    assert!(done.counts.killed_workers > 0 && count(WorkState::Done) > 0, "the run was one");
    println!("nothing lost, nothing doubled, nothing leaked");
}

#[tokio::test(flavor = "multi_thread")]
async fn checker_finds_each_planted_fault() {
    for fault in [PlantedFault::Doubled, PlantedFault::Lost, PlantedFault::Leaked] {
        let bounds = ChaosBounds { time: Duration::from_secs(4), points: u64::MAX, pace: Duration::from_millis(80), workers: 3 };
        let done = run(7, bounds, fault).await;
        let faults = check(&done.evidence);
        assert!(faults.iter().any(|found| found.starts_with(fault.name())), "{fault:?} is not among {faults:?}");
    }
}
