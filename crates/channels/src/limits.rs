//! Bounds on what comes in, and how fast.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// The largest answer of a service that is read.
pub(crate) const MOST_ANSWER_BYTES: usize = 2 << 20;
/// The largest recording that is fetched; Telegram hands out no larger ones.
pub(crate) const MOST_RECORDING_BYTES: usize = 20 << 20;
/// The largest request of a service that is read.
pub(crate) const MOST_HOOK_BYTES: usize = 1 << 20;
/// Characters of a message that came in; more are cut.
pub(crate) const MOST_INCOMING_CHARACTERS: usize = 16_000;
/// Messages that may wait for one conversation.
pub(crate) const MOST_WAITING: usize = 32;
/// Conversations that are answered at once.
pub(crate) const MOST_CONVERSATIONS: usize = 64;

/// Senders that are remembered.
const MOST_SENDERS: usize = 10_000;

/// Limits how often each key may do something: some at once, then one every so often.
#[derive(Debug)]
pub(crate) struct RateLimit {
    burst: f64,
    interval: Duration,
    buckets: HashMap<String, (f64, Instant)>,
}

impl RateLimit {
    pub(crate) fn new(burst: u32, interval: Duration) -> Self {
        Self { burst: f64::from(burst), interval, buckets: HashMap::new() }
    }

    /// Whether it may do it now.
    pub(crate) fn allows(&mut self, key: &str, now: Instant) -> bool {
        if self.buckets.len() >= MOST_SENDERS && !self.buckets.contains_key(key) {
            self.forget_idle(now);
        }
        let (burst, interval) = (self.burst, self.interval);
        let (left, at) = self.buckets.entry(key.to_owned()).or_insert((burst, now));
        *left = (*left + now.duration_since(*at).as_secs_f64() / interval.as_secs_f64()).min(burst);
        *at = now;
        let is_allowed = *left >= 1.0;
        if is_allowed {
            *left -= 1.0;
        }
        is_allowed
    }

    /// Those that have their whole burst again; if that are none, all: a flood of senders gets no memory.
    fn forget_idle(&mut self, now: Instant) {
        let full = self.interval.mul_f64(self.burst);
        self.buckets.retain(|_, (_, at)| now.duration_since(*at) < full);
        if self.buckets.len() >= MOST_SENDERS {
            self.buckets.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn burst_passes_and_then_one_for_each_interval() {
        let mut limit = RateLimit::new(3, Duration::from_secs(2));
        let now = Instant::now();
        let passed = |limit: &mut RateLimit, at| (0..1000).filter(|_| limit.allows("eve", at)).count();
        assert_eq!(passed(&mut limit, now), 3);
        assert_eq!(passed(&mut limit, now + Duration::from_secs(4)), 2);
        assert_eq!(passed(&mut limit, now + Duration::from_hours(1)), 3);
        assert!(limit.allows("anna", now));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_for_any_number_of_senders() {
        let mut limit = RateLimit::new(3, Duration::from_secs(2));
        let now = Instant::now();
        for sender in 0..MOST_SENDERS * 3 {
            assert!(limit.allows(&sender.to_string(), now));
        }
        assert!(limit.buckets.len() <= MOST_SENDERS);
    }
}
