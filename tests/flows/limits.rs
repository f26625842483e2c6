//! The times that seed 000 allows, far above what is meant to be reached: `cargo bench` has the real budgets.

use std::hint::black_box;
use std::time::{Duration, Instant};

use haft::{ToolOutput, ToolResult};
use serde_json::json;

use crate::support::{World, registry};

/// Tests are built without optimisation, which costs about this much.
const PATIENCE: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

fn allowed(millis: u64) -> Duration {
    Duration::from_millis(millis) * PATIENCE
}

/// The best of ten, so that a busy machine does not count.
fn best(mut work: impl FnMut()) -> Duration {
    let times = (0..10).map(|_| {
        let started = Instant::now();
        work();
        started.elapsed()
    });
    times.min().unwrap()
}

#[test]
fn all_tools_are_registered_within_100_ms() {
    let took = best(|| drop(black_box(registry())));
    assert!(took < allowed(100), "{took:?}");
}

#[tokio::test]
async fn a_call_costs_less_than_10_ms_beside_its_work() {
    let world = World::new();
    let mut took = Vec::new();
    for number in 0..20 {
        let started = Instant::now();
        assert!(world.call("noop", json!({"n": number})).await.is_success());
        took.push(started.elapsed());
    }
    let best = took.into_iter().min().unwrap();
    assert!(best < allowed(10), "{best:?}");
}

#[test]
fn a_result_of_100_kb_is_written_within_10_ms() {
    let outcome = Ok(ToolOutput::text("a line of \"text\"\n".repeat(6000)));
    let result = ToolResult { call_id: "1".into(), tool: "t".into(), outcome, elapsed: Duration::ZERO, stored: None };
    assert!(result.to_json().len() > 100 * 1024);
    let took = best(|| drop(black_box(result.to_json())));
    assert!(took < allowed(10), "{took:?}");
}
