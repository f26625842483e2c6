//! The time of this machine.

use std::time::SystemTime;

use haft_contract::{LocalOffset, ports::Clock};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The system's clock and time zone.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
    fn time_zone(&self) -> Option<String> {
        zone()?.iana_name().map(str::to_owned)
    }
    fn offset(&self, at: SystemTime) -> Option<LocalOffset> {
        offset_of(&zone()?, at)
    }
}

fn zone() -> Option<TimeZone> {
    TimeZone::try_system().ok().filter(|zone| !zone.is_unknown())
}

/// A zone without a name (a rule in `TZ`, a file that is no link) has an offset all the same.
fn offset_of(zone: &TimeZone, at: SystemTime) -> Option<LocalOffset> {
    let facts = zone.to_offset_info(Timestamp::try_from(at).ok()?);
    Some(LocalOffset { seconds: facts.offset().seconds(), abbreviation: facts.abbreviation().to_owned() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn winter() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_hours(492_024)
    }

    fn summer() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_hours(495_624)
    }

    fn offset(seconds: i32, abbreviation: &str) -> LocalOffset {
        LocalOffset { seconds, abbreviation: abbreviation.into() }
    }

    #[test]
    fn a_zone_has_its_offset_at_the_moment() {
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        assert_eq!(offset_of(&zone, winter()), Some(offset(-5 * 3600, "EST")));
        assert_eq!(offset_of(&zone, summer()), Some(offset(-4 * 3600, "EDT")));
        assert_eq!(offset_of(&zone, SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 50)), None);
    }

    /// The zone is read from the environment of the whole process, so each case is a process of its own.
    #[test]
    fn every_way_to_name_a_zone_is_understood() {
        const CASE: &str = "HAFT_TEST_ZONE";
        let seen = || format!("{:?} {:?}", SystemClock.time_zone(), SystemClock.offset(winter()));
        if let Ok(expected) = std::env::var(CASE) {
            assert_eq!(seen(), expected);
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("zone");
        std::fs::write(&file, minimal_zone_file(2 * 3600, "ABC")).unwrap();
        for (variable, name, offset) in [
            ("Europe/Berlin", Some("Europe/Berlin"), Some(offset(3600, "CET"))),
            ("", Some("UTC"), Some(offset(0, "UTC"))),
            ("<+03>-3", None, Some(offset(3 * 3600, "+03"))),
            ("UTC+3", None, Some(offset(-3 * 3600, "UTC"))),
            (&format!(":{}", file.display()), None, Some(offset(2 * 3600, "ABC"))),
            ("Mars/Base", None, None),
            ("Etc/Unknown", None, None),
        ] {
            let expected = format!("{name:?} {offset:?}");
            let mut again = std::process::Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", "clock::tests::every_way_to_name_a_zone_is_understood"]).env("TZ", variable).env(CASE, expected);
            let output = again.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "TZ={variable}: {said}");
        }
    }

    /// A compiled zone file, as in RFC 8536: one offset for ever.
    fn minimal_zone_file(seconds: i32, abbreviation: &str) -> Vec<u8> {
        let mut block = b"TZif2".to_vec();
        block.extend([0; 15]);
        let name = [abbreviation.as_bytes(), &[0]].concat();
        for count in [0, 0, 0, 0, 1, u32::try_from(name.len()).unwrap()] {
            block.extend(count.to_be_bytes());
        }
        block.extend(seconds.to_be_bytes());
        block.extend([0, 0]);
        block.extend(name);
        // Once for old readers, once for new ones, and no rule behind it.
        [block.as_slice(), &block, b"\n\n"].concat()
    }

    #[test]
    fn now_is_between_before_and_after() {
        let before = SystemTime::now();
        let now = SystemClock.now();
        assert!(before <= now && now <= SystemTime::now());
    }
}
