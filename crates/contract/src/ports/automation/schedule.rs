//! When a job runs.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// When a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobSchedule {
    /// Once.
    At {
        /// The moment.
        at: SystemTime,
        /// The IANA name of the time zone in which it is shown.
        zone: String,
    },
    /// Again and again after the same time.
    Every {
        /// The time between two runs.
        every: Duration,
        /// The moment from which it counts.
        anchor: SystemTime,
        /// The IANA name of the time zone in which it is shown.
        zone: String,
    },
    /// By a cron expression.
    Cron {
        /// The expression.
        expression: String,
        /// The IANA name of its time zone.
        zone: String,
    },
}

impl JobSchedule {
    /// The time zone in which its runs are shown.
    pub fn zone(&self) -> &str {
        match self {
            Self::At { zone, .. } | Self::Every { zone, .. } | Self::Cron { zone, .. } => zone,
        }
    }
}

/// A schedule as it was written, before it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScheduleText {
    /// A moment.
    pub at: Option<String>,
    /// A time between two runs.
    pub every: Option<String>,
    /// When `every` begins to count.
    pub anchor: Option<String>,
    /// A cron expression.
    pub cron: Option<String>,
    /// The time zone; that of the user, if absent.
    pub zone: Option<String>,
}

impl ScheduleText {
    /// Whether nothing of it says when.
    pub fn is_empty(&self) -> bool {
        self.at.is_none() && self.every.is_none() && self.cron.is_none()
    }
}
