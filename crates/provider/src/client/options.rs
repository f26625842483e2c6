//! Settings of the client for every provider.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::proxies::Proxies;
use crate::{ProviderError, Retry};

/// Settings of the client.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Largest number of retries.
    pub retries: u32,
    /// Largest delay before the first retry; doubles with each further one.
    pub base_delay: Duration,
    /// Limit of that growth. A provider may ask for twice as much; beyond that the request fails.
    pub max_delay: Duration,
    /// Proxies for addresses that are not on this machine.
    pub proxies: Proxies,
    /// PEM file of certificates that are trusted in addition to those of the system.
    pub certificates: Option<PathBuf>,
    /// Random fraction of the delay, from 0 to 1, so that many clients do not retry at once.
    pub jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Clock, for providers that name a date.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Called before each retry.
    pub on_retry: Arc<dyn Fn(&Retry) + Send + Sync>,
}

impl Default for Options {
    /// The defaults, with nothing from the environment.
    fn default() -> Self {
        Self {
            retries: 4,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_mins(1),
            proxies: Proxies::default(),
            certificates: None,
            jitter: Arc::new(random_part),
            now: Arc::new(SystemTime::now),
            on_retry: Arc::new(|_| {}),
        }
    }
}

impl Options {
    /// The defaults, with the proxies and the certificates (`SSL_CERT_FILE`) of the environment.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ProviderError> {
        let certificates = lookup("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Self { proxies: Proxies::from_env(lookup)?, certificates, ..Self::default() })
    }

    /// Delay before the next attempt: what the provider asks for, or a random part of a delay that doubles.
    pub(super) fn wait(&self, retries: u32, requested: Option<Duration>) -> Duration {
        let longest = self.base_delay.saturating_mul(2_u32.saturating_pow(retries)).min(self.max_delay);
        requested.filter(|requested| !requested.is_zero()).unwrap_or_else(|| longest.mul_f64((self.jitter)().clamp(0.0, 1.0)))
    }

    pub(super) fn longest_wait(&self) -> Duration {
        self.max_delay.saturating_mul(2)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("retries", &self.retries)
            .field("base_delay", &self.base_delay)
            .field("max_delay", &self.max_delay)
            .field("proxies", &self.proxies)
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

/// A random number from 0 to 1; the randomly keyed hasher is random enough for jitter.
fn random_part() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0) >> 32).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delay_doubles_up_to_a_limit_with_jitter() {
        let milliseconds = |part: f64, asked: Option<u64>| -> Vec<u128> {
            let options = Options { jitter: Arc::new(move || part), ..Options::default() };
            [0, 1, 2, 5, 6, 40, u32::MAX].map(|retries| options.wait(retries, asked.map(Duration::from_millis)).as_millis()).to_vec()
        };
        assert_eq!(milliseconds(1.0, None), [1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000]);
        assert_eq!(milliseconds(0.25, None), [250, 500, 1000, 8000, 15_000, 15_000, 15_000]);
        assert_eq!(milliseconds(0.0, None), [0; 7]);
        assert_eq!(milliseconds(7.0, None)[..2], [1000, 2000]);
        assert_eq!(milliseconds(f64::MIN, None), [0; 7]);
        assert_eq!(milliseconds(0.5, Some(7)), [7; 7], "a requested delay is used as it is");
        assert_eq!(milliseconds(1.0, Some(0))[..2], [1000, 2000], "a requested delay of zero is ignored");
    }

    #[test]
    fn random_part_stays_within_its_bounds() {
        let parts: Vec<_> = (0..1000).map(|_| random_part()).collect();
        assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)));
        assert!(parts.iter().any(|part| *part < 0.2) && parts.iter().any(|part| *part > 0.8));
    }
}
