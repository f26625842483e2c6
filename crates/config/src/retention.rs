//! How long stored data stays.

use std::time::Duration;

use haft_contract::RetentionLimit;

use crate::config::number;
use crate::provenance::Provenance;

/// The limits on each kind of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionSettings {
    /// Calls.
    pub history: RetentionLimit,
    /// Contents of files from before changes.
    pub pre_images: RetentionLimit,
    /// Conversations.
    pub sessions: RetentionLimit,
    /// Output that was too large for the model.
    pub spills: RetentionLimit,
    /// Staged changes of dry runs.
    pub changes: RetentionLimit,
    /// Contents of files from before commands, for folders that are not worked in.
    pub checkpoints: RetentionLimit,
    /// What commands wrote and may not stay where it was.
    pub quarantine: RetentionLimit,
}

impl From<&Provenance> for RetentionSettings {
    fn from(settings: &Provenance) -> Self {
        let limit = |kind: &str| {
            let days: u64 = number(settings, &format!("retention.{kind}.days"));
            let bytes: u64 = number(settings, &format!("retention.{kind}.size"));
            RetentionLimit { age: (days > 0).then(|| Duration::from_hours(24 * days)), bytes: (bytes > 0).then_some(bytes) }
        };
        Self {
            history: limit("history"),
            pre_images: limit("pre_images"),
            sessions: limit("sessions"),
            spills: limit("spills"),
            changes: limit("changes"),
            checkpoints: limit("checkpoints"),
            quarantine: limit("quarantine"),
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::RetentionLimit;

    use crate::Config;

    #[test]
    fn every_kind_has_limits_without_any_file() {
        let days_and_mib = |limit: RetentionLimit| (limit.age.unwrap().as_secs() / 86_400, limit.bytes.unwrap() >> 20);
        let kept = Config::default().retention;
        let kinds = [kept.history, kept.pre_images, kept.sessions, kept.spills, kept.changes, kept.checkpoints, kept.quarantine];
        let expected = [(90, 1024), (30, 2048), (180, 1024), (14, 1024), (14, 4096), (14, 8192), (14, 1024)];
        assert_eq!(kinds.map(days_and_mib), expected);
    }
}
