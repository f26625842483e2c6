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

/// Makes a change again, from reading on, as long as other programs change the file meanwhile.
pub async fn retry_conflicts<T, F>(mut change: impl FnMut() -> F) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
{
    for attempt in 1..ATTEMPTS {
        match change().await {
            Err(error) if error.is_conflict() => tokio::time::sleep(pause(attempt, std::process::id())).await,
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
    use super::*;

    fn conflict() -> ToolError {
        ToolError::execution("it was changed").with_source(ConcurrentChange)
    }

    #[tokio::test(start_paused = true)]
    async fn conflicts_are_tried_again_and_nothing_else_is() {
        for (conflicts, expected, attempts) in [(0, Ok(1), 1), (3, Ok(4), 4), (1_000, Err("it was changed"), ATTEMPTS)] {
            let mut tries = 0;
            let outcome = retry_conflicts(|| {
                tries += 1;
                let outcome = if tries > conflicts { Ok(tries) } else { Err(conflict()) };
                async { outcome }
            });
            let outcome = outcome.await;
            assert_eq!(outcome.as_ref().map_err(ToolError::message), expected.as_ref().map_err(|text| *text), "{conflicts}");
            assert_eq!(tries, attempts);
        }
        let mut tries = 0;
        let outcome: Result<(), _> = retry_conflicts(|| {
            tries += 1;
            async { Err(ToolError::execution("the disk is full")) }
        })
        .await;
        assert!(outcome.is_err() && tries == 1);
    }
}
