//! Times and durations for people.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time in the zone of this machine.
pub fn local_time(time: SystemTime, format: &str) -> String {
    let Ok(time) = Timestamp::try_from(time) else { return "unknown".into() };
    time.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// Milliseconds with three decimals.
pub fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}

/// A duration as people read it.
pub fn duration(elapsed: Duration) -> String {
    match elapsed.as_secs_f64() {
        seconds if seconds >= 60.0 => format!("{} min {} s", elapsed.as_secs() / 60, elapsed.as_secs() % 60),
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 0.01 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_no_noise() {
        for (micros, text) in [(400, "0.4 ms"), (9_940, "9.9 ms"), (12_300, "12 ms"), (1_250_000, "1.2 s"), (125_000_000, "2 min 5 s")] {
            assert_eq!(duration(Duration::from_micros(micros)), text);
        }
        assert!((milliseconds(Duration::from_nanos(1_234_567)) - 1.235).abs() < 1e-9);
    }
}
