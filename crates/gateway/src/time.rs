//! Times in answers.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// A time in RFC 3339.
pub(crate) fn timestamp(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| time.to_string())
}

/// The time of a text in RFC 3339.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    text.parse::<Timestamp>().ok().map(SystemTime::from)
}

/// Milliseconds, to the microsecond.
pub(crate) fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}
