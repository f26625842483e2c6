//! Changes that meet a change by another program.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::ToolError;

/// How often a change is tried again; the deadline of the call ends it sooner.
const ATTEMPTS: u32 = 100;
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The cause of an error: a file was changed by another program between being read and being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrentChange;

impl fmt::Display for ConcurrentChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another program changed the file meanwhile")
    }
}

impl Error for ConcurrentChange {}

/// Makes a change again, from reading on, as long as other programs change the file meanwhile. `sleep` is that of the runtime.
pub async fn retry_conflicts<T, F, S>(sleep: impl Fn(Duration) -> S, mut change: impl FnMut() -> F) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
    S: Future<Output = ()>,
{
    for attempt in 1..ATTEMPTS {
        match change().await {
            Err(error) if error.is_conflict() => sleep(pause(attempt, std::process::id())).await,
            outcome => return outcome,
        }
    }
    change().await
}

/// Grows with the attempts. Processes that started together do not stay in step: their numbers differ.
fn pause(attempt: u32, process: u32) -> Duration {
    let spread = Duration::from_micros(u64::from(process.wrapping_mul(attempt) % 4096));
    (Duration::from_millis(2) * attempt).min(LONGEST_PAUSE) + spread
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn conflict() -> ToolError {
        ToolError::execution("it was changed").with_source(ConcurrentChange)
    }

    /// The outcome of a future that never waits.
    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => panic!("it waits"),
        }
    }

    #[test]
    fn conflicts_are_tried_again_and_nothing_else_is() {
        for (conflicts, expected, attempts) in [(0, Ok(1), 1), (3, Ok(4), 4), (1_000, Err("it was changed"), ATTEMPTS)] {
            let (mut tries, slept) = (0, Cell::new(Duration::ZERO));
            let sleep = |pause: Duration| {
                assert!(pause >= Duration::from_millis(2) && pause < Duration::from_millis(60));
                slept.set(slept.get() + pause);
                ready(())
            };
            let outcome = now(retry_conflicts(sleep, || {
                tries += 1;
                ready(if tries > conflicts { Ok(tries) } else { Err(conflict()) })
            }));
            assert_eq!(outcome.as_ref().map_err(ToolError::message), expected.as_ref().map_err(|text| *text), "{conflicts}");
            assert_eq!((tries, slept.get().is_zero()), (attempts, attempts == 1));
        }
        let mut tries = 0;
        let outcome: Result<(), _> = now(retry_conflicts(
            |_| ready(()),
            || {
                tries += 1;
                ready(Err(ToolError::execution("the disk is full")))
            },
        ));
        assert!(outcome.is_err() && tries == 1);
    }
}
