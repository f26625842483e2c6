//! Quotas: what may be used in one day, and what may be stored.

use crate::Config;
use crate::provenance::Provenance;

/// What may be used; `None` is no limit. A day is one of the time zone of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaSettings {
    /// Tool calls of a day.
    pub calls: Option<u64>,
    /// Tokens that models read and write in a day.
    pub tokens: Option<u64>,
    /// Money for models in a day, in millionths.
    pub money: Option<i64>,
    /// Seconds of processor time that commands use in a day.
    pub cpu_seconds: Option<u64>,
    /// Bytes that are stored, at any time.
    pub storage: Option<u64>,
}

impl QuotaSettings {
    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        [self.calls, self.tokens, self.cpu_seconds, self.storage].iter().any(Option::is_some) || self.money.is_some()
    }
}

impl From<&Provenance> for QuotaSettings {
    fn from(settings: &Provenance) -> Self {
        let count = |key: &str| settings.value(key).as_count();
        Self {
            calls: count("quota.calls"),
            tokens: count("quota.tokens"),
            money: settings.value("quota.money").as_money(),
            cpu_seconds: count("quota.cpu_seconds"),
            storage: count("quota.storage"),
        }
    }
}

impl Default for QuotaSettings {
    /// Without any file.
    fn default() -> Self {
        Config::default().quota
    }
}
