//! How often a conversation may steer each of its sub-agents.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::ToolError;
use tokio::time::Instant;

/// One message in this time to the same sub-agent: a model that steers in a loop must not drown it in messages.
const PAUSE: Duration = Duration::from_secs(2);

/// When a conversation steered each of its sub-agents last.
#[derive(Debug, Default)]
pub(super) struct SteeringPace {
    /// By sub-agent; older ones than the pause are forgotten.
    last: Mutex<HashMap<String, Instant>>,
}

impl SteeringPace {
    fn last(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a message to a sub-agent, or refuses it so soon after the last one.
    pub(super) fn begin(&self, id: &str) -> Result<(), ToolError> {
        let (mut last, now) = (self.last(), Instant::now());
        last.retain(|_, at| now.duration_since(*at) < PAUSE);
        if let Some(at) = last.get(id) {
            return Err(too_soon(PAUSE.saturating_sub(now.duration_since(*at))));
        }
        last.insert(id.to_owned(), now);
        Ok(())
    }

    /// Takes a message back that was not sent after all.
    pub(super) fn forget(&self, id: &str) {
        self.last().remove(id);
    }
}

fn too_soon(left: Duration) -> ToolError {
    let tenths = left.as_millis().div_ceil(100);
    ToolError::validation(format!(
        "The message is not sent: you steered this sub-agent less than {} s ago (rate_limited). Wait {}.{} s, or say everything in one \
         message.",
        PAUSE.as_secs(),
        tenths / 10,
        tenths % 10
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sub_agent_is_steered_once_in_two_seconds_and_others_meanwhile() {
        let pace = SteeringPace::default();
        assert!(pace.begin("a").is_ok() && pace.begin("b").is_ok());
        tokio::time::advance(Duration::from_millis(450)).await;
        let error = pace.begin("a").unwrap_err();
        assert!(error.message().contains("Wait 1.6 s"), "{}", error.message());
        tokio::time::advance(Duration::from_millis(1549)).await;
        assert!(pace.begin("a").unwrap_err().message().contains("Wait 0.1 s"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(pace.begin("a").is_ok(), "a refused message does not count");
        pace.forget("a");
        assert!(pace.begin("a").is_ok(), "nor one that nobody got");
        assert_eq!(pace.last().len(), 1, "what is over is forgotten");
    }
}
