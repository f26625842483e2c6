//! Port for the time.

use std::time::SystemTime;

use crate::BoxFuture;

/// The time, injected so that tests can choose it.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> SystemTime;
    /// The IANA name of the machine's time zone; `None` if it has none or is not known.
    fn time_zone(&self) -> Option<String>;
    /// How far the machine's zone, named or not, is from UTC at a moment; `None` if it is not known.
    fn offset(&self, at: SystemTime) -> Option<LocalOffset>;
}

/// A clock that can be waited for.
pub trait AlarmClock: Clock {
    /// Resolves when the clock shows this time, and earlier if the clock was set; without a time only if it was set.
    fn alarm(&self, at: Option<SystemTime>) -> BoxFuture<'_, ()>;
}

/// How far a time zone is from UTC at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalOffset {
    /// Seconds, positive to the east.
    pub seconds: i32,
    /// The abbreviation of the zone at that moment, such as `CET`.
    pub abbreviation: String,
}
