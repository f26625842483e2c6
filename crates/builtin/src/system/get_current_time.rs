use haft_contract::{Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::shared::words;

/// Get the current date and time. Use it whenever an answer depends on now: you have no clock of your own.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "get_current_time",
    label = "Current time",
    section = System,
    category = System,
    access = ReadOnly,
    timeout_secs = 5,
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
    #[schemars(extend("x-reserved-name" = true))]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    #[serde(alias = "ISO8601")]
    Iso8601,
    HumanReadable,
}

impl Tool for GetCurrentTime {
    type Params = Params;
    type Output = ToolOutput;

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // The zones that come with the program: the same on every machine, and no file is opened for them.
        let zones = TimeZoneDatabase::bundled();
        let zone = match &params.timezone {
            Some(name) => zones.get(name).map_err(|_| invalid_zone(name, &zones))?,
            None => zones.get(&cx.clock().time_zone()).unwrap_or(TimeZone::UTC),
        };
        let now = Timestamp::try_from(cx.clock().now())
            .map_err(|error| ToolError::execution("Failed to get current time: the machine's clock is out of range").with_source(error))?
            .to_zoned(zone);
        let details = json!({"timezone": now.time_zone().iana_name(), "unix_ms": now.timestamp().as_millisecond()});
        Ok(ToolOutput::text(written(&now, params.format)).with_details(details))
    }
}

fn written(now: &Zoned, format: Format) -> String {
    let pattern = match format {
        Format::Iso8601 if now.offset().is_zero() => "%Y-%m-%dT%H:%M:%S%.3fZ",
        Format::Iso8601 => "%Y-%m-%dT%H:%M:%S%.3f%:z",
        Format::HumanReadable => "%A, %B %-d, %Y at %-I:%M:%S %p %Z",
    };
    now.strftime(pattern).to_string()
}

fn invalid_zone(name: &str, zones: &TimeZoneDatabase) -> ToolError {
    let hint = same_city(name, zones).map(|zone| format!(" Did you mean '{zone}'?")).unwrap_or_default();
    ToolError::validation(format!("Invalid timezone: '{}'. Use IANA timezone format (e.g., 'America/New_York').{hint}", words::shown(name)))
}

/// `Tokyo`, `new york` and `Japan/Tokyo` name a city; the zone is found by it.
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

    /// 2026-11-15T20:04:05.007Z, in a machine that stands in Berlin.
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
    async fn a_machine_without_a_known_zone_is_in_utc() {
        let host = FakeHost::new();
        host.clock.set_zone("Etc/Nowhere");
        let output = run_tool(&Erased::new(GetCurrentTime), json!({}), host).await.unwrap();
        let details = json!({"timezone": "UTC", "unix_ms": 1_772_068_530_000_u64});
        assert_eq!(output, ToolOutput::text("2026-02-26T01:15:30.000Z").with_details(details));
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
