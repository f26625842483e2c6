//! The delay that a provider asks for, in every form that providers use.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

const RESET: &str = "x-ratelimit-reset-";
const REMAINING: &str = "x-ratelimit-remaining-";
const TOO_MANY_REQUESTS: u16 = 429;

/// The delay in the headers of a response.
pub(super) fn requested_delay(status: u16, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = text("retry-after-ms").and_then(|value| seconds(value, 0.001));
    let stated = text(RETRY_AFTER.as_str());
    let after = || stated.and_then(|value| seconds(value, 1.0).or_else(|| until(value, text(DATE.as_str()), now)));
    // Other responses have these headers too, without a relation to the error.
    let reset = || if status == TOO_MANY_REQUESTS { until_reset(headers) } else { None };
    milliseconds.or_else(after).or_else(reset)
}

fn seconds(value: &str, unit: f64) -> Option<Duration> {
    if !value.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    Duration::try_from_secs_f64(value.parse::<f64>().ok()? * unit).ok()
}

/// The time until a date, by the clock of the provider if it sends one.
fn until(value: &str, date: Option<&str>, now: SystemTime) -> Option<Duration> {
    let then = parse_date(value)?;
    let now = date.and_then(parse_date).or_else(|| Timestamp::try_from(now).ok())?;
    Some(Duration::try_from(then.duration_since(now)).unwrap_or_default())
}

fn parse_date(value: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(value).ok()
}

/// The time until the limits reset: the longest of those that are exhausted; if none is, the shortest, because an early retry
/// costs less than waiting for a limit that was not the cause.
fn until_reset(headers: &HeaderMap) -> Option<Duration> {
    let resets = headers.iter().filter_map(|(name, value)| {
        let limit = name.as_str().strip_prefix(RESET)?;
        let remaining = headers.get(format!("{REMAINING}{limit}")).and_then(|value| value.to_str().ok());
        Some((remaining.map(str::trim) == Some("0"), duration(value.to_str().ok()?.trim())?))
    });
    let (used_up, others): (Vec<_>, Vec<_>) = resets.partition(|(used_up, _)| *used_up);
    let longest = used_up.into_iter().map(|(_, wait)| wait).max();
    longest.or_else(|| others.into_iter().map(|(_, wait)| wait).min())
}

/// `1m30s`, `6ms`, `7.66s`, and plain seconds.
fn duration(text: &str) -> Option<Duration> {
    if let Some(plain) = seconds(text, 1.0) {
        return Some(plain);
    }
    let (mut rest, mut total) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let number = rest.find(|ch: char| ch.is_ascii_alphabetic())?;
        let (value, after) = rest.split_at(number);
        let unit = after.find(|ch: char| !ch.is_ascii_alphabetic()).unwrap_or(after.len());
        total = total.checked_add(seconds(value, unit_seconds(&after[..unit])?)?)?;
        rest = &after[unit..];
    }
    (!text.is_empty()).then_some(total)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    match unit {
        "d" => Some(86_400.0),
        "h" => Some(3_600.0),
        "m" => Some(60.0),
        "s" => Some(1.0),
        "ms" => Some(0.001),
        "us" => Some(0.000_001),
        "ns" => Some(0.000_000_001),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn milliseconds(status: u16, headers: &[(&'static str, &'static str)]) -> Option<u128> {
        let parsed = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        requested_delay(status, &parsed.collect(), now).map(|wait| wait.as_millis())
    }

    #[test]
    fn retry_delays_are_read_in_every_form() {
        for (headers, expected) in [
            (&[][..], None),
            (&[("retry-after", "3")], Some(3000)),
            (&[("retry-after", " 0.25 ")], Some(250)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after", "3600")], Some(3_600_000)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "")], None),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], Some(10_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", "Sun, 06 Nov 1994 08:49:45 GMT")], Some(2000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", "broken")], Some(10_000)),
            (&[("retry-after-ms", "1500")], Some(1500)),
            (&[("retry-after-ms", "12.5")], Some(12)),
            (&[("retry-after-ms", "20"), ("retry-after", "1")], Some(20)),
            (&[("retry-after-ms", "x"), ("retry-after", "1")], Some(1000)),
            (&[("x-ratelimit-reset-requests", "1s")], Some(1000)),
            (&[("x-ratelimit-reset-requests", "1m30s")], Some(90_000)),
            (&[("x-ratelimit-reset-tokens", "6ms")], Some(6)),
            (&[("x-ratelimit-reset-tokens", "6m0s")], Some(360_000)),
            (&[("x-ratelimit-reset-tokens", "2m59.56s")], Some(179_560)),
            (&[("x-ratelimit-reset-tokens", "1h2m3s4ms")], Some(3_723_004)),
            (&[("x-ratelimit-reset-tokens", "1d")], Some(86_400_000)),
            (&[("x-ratelimit-reset-tokens", "12")], Some(12_000)),
            (&[("x-ratelimit-reset-tokens", "12x")], None),
            (&[("x-ratelimit-reset-tokens", "s")], None),
            (&[("x-ratelimit-reset-tokens", "1s2")], None),
            (&[("x-ratelimit-reset-tokens", "")], None),
            (&[("x-ratelimit-reset-tokens", "6m0s"), ("retry-after", "2")], Some(2000)),
            (&[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "6s")], Some(1000)),
            (
                &[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "6s"), ("x-ratelimit-remaining-tokens", "0")],
                Some(6000),
            ),
            (
                &[
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "6s"),
                    ("x-ratelimit-remaining-tokens", "9"),
                ],
                Some(1000),
            ),
        ] {
            assert_eq!(milliseconds(429, headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn rate_limit_headers_count_only_with_status_429() {
        assert_eq!(milliseconds(500, &[("x-ratelimit-reset-tokens", "6s")]), None);
        assert_eq!(milliseconds(503, &[("retry-after", "6")]), Some(6000));
    }
}
