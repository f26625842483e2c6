use std::time::SystemTime;

use haft_contract::{LocalOffset, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::shared::brief;

const UNKNOWN_ZONE: &str = "the machine's time zone is not known, so UTC was used; set TZ, such as TZ=Europe/Berlin, or name a 'timezone'";

/// Get the current date and time. Use it whenever an answer depends on now.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "get_current_time",
    label = "Current time",
    section = System,
    category = System,
    access = ReadOnly,
    timeout_secs = 5,
    profiles = ["coding", "messaging"],
    read_only,
    idempotent
)]
pub(crate) struct GetCurrentTime;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Timezone identifier (e.g., 'America/New_York', 'Asia/Shanghai'). Defaults to device timezone.
    timezone: Option<String>,
    /// Output format: 'iso8601' or 'human_readable'. Defaults to 'iso8601'.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-reserved-name" = true))]
    format: TimeFormat,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TimeFormat {
    #[default]
    #[serde(alias = "ISO8601")]
    Iso8601,
    HumanReadable,
}

impl Tool for GetCurrentTime {
    type Params = Params;
    type Output = ToolOutput;

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Bundled zones: the same on every machine, without opening a file.
        let zones = TimeZoneDatabase::bundled();
        let moment = cx.clock().now();
        let now = Timestamp::try_from(moment)
            .map_err(|error| ToolError::execution("Failed to get current time: the machine's clock is out of range").with_source(error))?;
        let zone = match &params.timezone {
            Some(name) => Some(LocalZone::new(zones.get(name).map_err(|_| invalid_zone(name, &zones))?, now)),
            None => LocalZone::of_machine(&zones, cx, moment, now),
        };
        let known = zone.is_some();
        let zone = zone.unwrap_or_else(|| LocalZone::new(TimeZone::UTC, now));
        let mut details = json!({"timezone": zone.name(now), "unix_ms": now.as_millisecond()});
        if !known {
            details["warnings"] = json!([UNKNOWN_ZONE]);
        }
        Ok(ToolOutput::text(zone.format(now, params.format)).with_details(details))
    }
}

/// A time zone, and its current abbreviation.
struct LocalZone {
    zone: TimeZone,
    abbreviation: String,
}

impl LocalZone {
    fn new(zone: TimeZone, now: Timestamp) -> Self {
        let abbreviation = zone.to_offset_info(now).abbreviation().to_owned();
        Self { zone, abbreviation }
    }

    /// The zone of the machine: by its name if that is known, else by its offset.
    fn of_machine(zones: &TimeZoneDatabase, cx: &ToolContext, moment: SystemTime, now: Timestamp) -> Option<Self> {
        if let Some(zone) = cx.clock().time_zone().and_then(|name| zones.get(&name).ok()) {
            return Some(Self::new(zone, now));
        }
        let LocalOffset { seconds, abbreviation } = cx.clock().offset(moment)?;
        Some(Self { zone: TimeZone::fixed(Offset::from_seconds(seconds).ok()?), abbreviation })
    }

    fn name(&self, now: Timestamp) -> String {
        match self.zone.iana_name() {
            Some(name) => name.to_owned(),
            None => now.to_zoned(self.zone.clone()).strftime("%:z").to_string(),
        }
    }

    fn format(&self, now: Timestamp, format: TimeFormat) -> String {
        let now = now.to_zoned(self.zone.clone());
        match format {
            TimeFormat::Iso8601 if now.offset().is_zero() => now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            TimeFormat::Iso8601 => now.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            TimeFormat::HumanReadable => format!("{} {}", now.strftime("%A, %B %-d, %Y at %-I:%M:%S %p"), self.label(now.offset())),
        }
    }

    /// `CET`, or `GMT+3` where the abbreviation is a number or wrong (`TZ=UTC+3`).
    fn label(&self, offset: Offset) -> String {
        let wrong = !offset.is_zero() && matches!(self.abbreviation.as_str(), "UTC" | "GMT");
        if self.abbreviation.starts_with(|first: char| first.is_ascii_alphabetic()) && !wrong {
            return self.abbreviation.clone();
        }
        let (sign, minutes) = (if offset.is_negative() { '-' } else { '+' }, offset.seconds().abs() / 60);
        match (minutes / 60, minutes % 60) {
            (hours, 0) => format!("GMT{sign}{hours}"),
            (hours, minutes) => format!("GMT{sign}{hours}:{minutes:02}"),
        }
    }
}

fn invalid_zone(name: &str, zones: &TimeZoneDatabase) -> ToolError {
    let hint = same_city(name, zones).map(|zone| format!(" Did you mean '{zone}'?")).unwrap_or_default();
    ToolError::validation(format!("Invalid timezone: '{}'. Use IANA timezone format (e.g., 'America/New_York').{hint}", brief(name)))
}

/// The zone of a city: for `Tokyo`, `new york` and `Japan/Tokyo`.
fn same_city(name: &str, zones: &TimeZoneDatabase) -> Option<String> {
    let city = name.rsplit('/').next()?.trim().replace(' ', "_");
    let mut all = zones.available().map(|zone| zone.as_str().to_owned());
    all.find(|zone| zone.rsplit_once('/').is_some_and(|(_, last)| last.eq_ignore_ascii_case(&city)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use haft_contract::{Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, expect_text, run_tool};
    use serde_json::Value;

    use super::*;

    /// 2026-11-15T20:04:05.007Z, on a machine in Berlin.
    async fn ask(arguments: Value) -> Result<ToolOutput, ToolError> {
        let host = FakeHost::new();
        host.clock.set(SystemTime::UNIX_EPOCH + Duration::from_millis(1_794_773_045_007));
        host.clock.set_zone("Europe/Berlin");
        run_tool(&Erased::new(GetCurrentTime), arguments, host).await
    }

    #[tokio::test]
    async fn the_time_is_told_in_every_zone_and_form() {
        for (arguments, expected) in [
            (json!({}), "2026-11-15T21:04:05.007+01:00"),
            (json!({"timezone": "Asia/Tokyo"}), "2026-11-16T05:04:05.007+09:00"),
            (json!({"timezone": "asia/kolkata", "format": "iso8601"}), "2026-11-16T01:34:05.007+05:30"),
            (json!({"timezone": "America/St_Johns", "format": "ISO8601"}), "2026-11-15T16:34:05.007-03:30"),
            (json!({"timezone": "UTC"}), "2026-11-15T20:04:05.007Z"),
            (json!({"timezone": "Europe/London"}), "2026-11-15T20:04:05.007Z"),
            (json!({"timezone": "America/New_York", "format": "human_readable"}), "Sunday, November 15, 2026 at 3:04:05 PM EST"),
            (json!({"timezone": "UTC", "format": "human_readable"}), "Sunday, November 15, 2026 at 8:04:05 PM UTC"),
            (json!({"timezone": "Asia/Dubai", "format": "human_readable"}), "Monday, November 16, 2026 at 12:04:05 AM GMT+4"),
        ] {
            assert_eq!(expect_text(ask(arguments.clone()).await), expected, "{arguments}");
        }
    }

    #[tokio::test]
    async fn days_and_hours_have_no_leading_zero_and_noon_is_twelve() {
        let host = FakeHost::new();
        for (seconds, expected) in [
            (0, "Thursday, January 1, 1970 at 12:00:00 AM UTC"),
            (12 * 3600, "Thursday, January 1, 1970 at 12:00:00 PM UTC"),
            (33_393_600, "Friday, January 22, 1971 at 12:00:00 PM UTC"),
        ] {
            host.clock.set(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            let arguments = json!({"timezone": "UTC", "format": "human_readable"});
            assert_eq!(expect_text(run_tool(&Erased::new(GetCurrentTime), arguments, host.clone()).await), expected);
        }
    }

    #[tokio::test]
    async fn a_machine_whose_zone_has_no_name_tells_its_own_time() {
        let host = FakeHost::new();
        for (seconds, abbreviation, zone, iso, human) in [
            (10_800, "+03", "+03:00", "2026-02-26T04:15:30.000+03:00", "4:15:30 AM GMT+3"),
            (-10_800, "UTC", "-03:00", "2026-02-25T22:15:30.000-03:00", "10:15:30 PM GMT-3"),
            (20_700, "+0545", "+05:45", "2026-02-26T07:00:30.000+05:45", "7:00:30 AM GMT+5:45"),
            (-18_000, "EST", "-05:00", "2026-02-25T20:15:30.000-05:00", "8:15:30 PM EST"),
            (0, "UTC", "UTC", "2026-02-26T01:15:30.000Z", "1:15:30 AM UTC"),
            (0, "", "UTC", "2026-02-26T01:15:30.000Z", "1:15:30 AM GMT+0"),
        ] {
            host.clock.set_offset(Some(LocalOffset { seconds, abbreviation: abbreviation.into() }));
            let output = run_tool(&Erased::new(GetCurrentTime), json!({}), host.clone()).await.unwrap();
            let details = json!({"timezone": zone, "unix_ms": 1_772_068_530_000_u64});
            assert_eq!(output, ToolOutput::text(iso).with_details(details));
            let shown = expect_text(run_tool(&Erased::new(GetCurrentTime), json!({"format": "human_readable"}), host.clone()).await);
            assert!(shown.ends_with(&format!(" at {human}")), "{shown}");
        }
    }

    #[tokio::test]
    async fn a_machine_without_a_known_zone_is_in_utc_and_says_so() {
        let host = FakeHost::new();
        let details = json!({"timezone": "UTC", "unix_ms": 1_772_068_530_000_u64, "warnings": [UNKNOWN_ZONE]});
        let expected = ToolOutput::text("2026-02-26T01:15:30.000Z").with_details(details);
        host.clock.set_zone("Etc/Nowhere");
        assert_eq!(run_tool(&Erased::new(GetCurrentTime), json!({}), host.clone()).await.unwrap(), expected);
        host.clock.set_offset(None);
        assert_eq!(run_tool(&Erased::new(GetCurrentTime), json!({}), host.clone()).await.unwrap(), expected);
        let asked = run_tool(&Erased::new(GetCurrentTime), json!({"timezone": "UTC"}), host).await.unwrap();
        assert_eq!(asked.details.unwrap()["warnings"], Value::Null);
    }

    #[tokio::test]
    async fn an_unknown_zone_is_refused_with_the_nearest() {
        let advice = "Use IANA timezone format (e.g., 'America/New_York').";
        for (zone, message) in [
            ("Mars/Base", format!("Invalid timezone: 'Mars/Base'. {advice}")),
            ("", format!("Invalid timezone: ''. {advice}")),
            ("tokyo", format!("Invalid timezone: 'tokyo'. {advice} Did you mean 'Asia/Tokyo'?")),
            ("USA/New York", format!("Invalid timezone: 'USA/New York'. {advice} Did you mean 'America/New_York'?")),
            ("../../etc/passwd", format!("Invalid timezone: '../../etc/passwd'. {advice}")),
        ] {
            assert_eq!(expect_error(ask(json!({"timezone": zone})).await), (ErrorKind::ValidationError, message));
        }
        assert!(expect_error(ask(json!({"timezone": "x".repeat(1_000_000)})).await).1.len() < 500);
        let (kind, message) = expect_error(ask(json!({"format": "klingon"})).await);
        assert!(kind == ErrorKind::ValidationError && message.contains("iso8601"), "{message}");
    }

    #[tokio::test]
    async fn a_clock_beyond_the_calendar_is_an_error_not_a_panic() {
        let host = FakeHost::new();
        host.clock.set(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 50));
        let error = expect_error(run_tool(&Erased::new(GetCurrentTime), json!({}), host).await);
        assert_eq!(error, (ErrorKind::ExecutionError, "Failed to get current time: the machine's clock is out of range".into()));
    }
}
