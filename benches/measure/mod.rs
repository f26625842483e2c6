//! What every benchmark needs: time, medians, and one way to print them.
#![allow(dead_code, reason = "not every benchmark needs all of it")]

use std::future::Future;
use std::time::{Duration, Instant};

pub(crate) const ROUNDS: usize = 5;

/// The columns of the table.
pub(crate) fn head() {
    println!("{:<46} {:>12} {:>12} {:>8}  reference", "what", "ours", "reference", "ratio");
}

pub(crate) fn time(count: u32, mut work: impl FnMut()) -> Duration {
    let started = Instant::now();
    for _ in 0..count {
        work();
    }
    started.elapsed() / count
}

pub(crate) async fn time_async<F: Future<Output = ()>>(count: u32, work: impl Fn() -> F) -> Duration {
    let started = Instant::now();
    for _ in 0..count {
        work().await;
    }
    started.elapsed() / count
}

pub(crate) fn median(mut measure: impl FnMut() -> Duration) -> Duration {
    middle((0..ROUNDS).map(|_| measure()).collect())
}

pub(crate) fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub(crate) fn row(what: &str, ours: Duration, reference: Duration, beside: &str) {
    let micros = |time: Duration| format!("{:.2} µs", time.as_secs_f64() * 1e6);
    let ratio = ours.as_secs_f64() / reference.as_secs_f64().max(1e-12);
    println!("{what:<46} {:>12} {:>12} {ratio:>7.2}x  {beside}", micros(ours), micros(reference));
}
