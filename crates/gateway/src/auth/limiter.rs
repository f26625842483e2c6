//! A limit on wrong tokens.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong tokens in [`WINDOW`] after which others are told to wait. The right one always passes: else anybody on this machine could lock
/// the user out, and 256 bits cannot be guessed at any speed.
const MOST_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);

/// Counts wrong tokens.
#[derive(Debug)]
pub(crate) struct FailureLimit(Mutex<FailureWindow>);

#[derive(Debug)]
struct FailureWindow {
    since: Instant,
    count: u32,
}

impl Default for FailureLimit {
    fn default() -> Self {
        Self(Mutex::new(FailureWindow { since: Instant::now(), count: 0 }))
    }
}

impl FailureLimit {
    /// Counts a wrong token. The error is the number of seconds to wait.
    pub(crate) fn count(&self, now: Instant) -> Result<(), u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_duration_since(window.since) > WINDOW {
            *window = FailureWindow { since: now, count: 0 };
        }
        if window.count >= MOST_FAILURES {
            let left = WINDOW.saturating_sub(now.saturating_duration_since(window.since));
            return Err(left.as_secs().max(1));
        }
        window.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleventh_wrong_token_in_a_minute_has_to_wait() {
        let (limit, start) = (FailureLimit::default(), Instant::now());
        for _ in 0..MOST_FAILURES {
            assert_eq!(limit.count(start), Ok(()));
        }
        assert!(limit.count(start + Duration::from_secs(20)).is_err_and(|seconds| (30..=41).contains(&seconds)));
        assert_eq!(limit.count(start + Duration::from_secs(62)), Ok(()));
    }
}
