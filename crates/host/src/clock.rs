//! The time of this machine.

use std::time::SystemTime;

use haft_contract::Clock;
use jiff::tz::TimeZone;

/// The system's clock and time zone.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
    fn time_zone(&self) -> String {
        name_of(TimeZone::try_system().ok().as_ref())
    }
}

/// A zone without a name (a rule in `TZ`, a file that is no link) and an unknown one are shown as UTC, which is never wrong
/// about the moment.
fn name_of(zone: Option<&TimeZone>) -> String {
    zone.and_then(TimeZone::iana_name).unwrap_or("UTC").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_named_as_iana_does() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let nameless = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        for (zone, name) in [(Some(&berlin), "Europe/Berlin"), (Some(&TimeZone::UTC), "UTC"), (Some(&nameless), "UTC"), (None, "UTC")] {
            assert_eq!(name_of(zone), name);
        }
        assert!(TimeZone::get(&SystemClock.time_zone()).is_ok());
    }

    #[test]
    fn now_is_between_before_and_after() {
        let before = SystemTime::now();
        let now = SystemClock.now();
        assert!(before <= now && now <= SystemTime::now());
    }
}
