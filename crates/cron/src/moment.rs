//! Moments as people and models write them, in their own time zone unless they name another.

use std::time::{Duration, SystemTime};

use haft_text::spoken::{self, ClockTime};
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use crate::duration::parse_duration;

/// Reads a moment: ISO 8601 with or without a zone, `09:30`, `tomorrow 9:00`, `monday at 9`, or a duration from now.
pub fn parse_moment(text: &str, zone: &TimeZone, now: SystemTime) -> Result<SystemTime, String> {
    let trimmed = text.trim();
    let read =
        exact(trimmed).or_else(|| local(trimmed, zone)).or_else(|| with_points(trimmed, zone)).or_else(|| clock_time(trimmed, zone, now));
    let read = read.or_else(|| relative(trimmed, now));
    read.ok_or_else(|| {
        if is_date(trimmed) {
            return format!("'{text}' says no time of day; write '{trimmed}T09:00'");
        }
        if is_beyond_calendar(trimmed) {
            return format!("'{text}' lies more than 50 years away");
        }
        format!(
            "'{text}' is not a time; write one such as '2026-12-24T18:00' (in {}), '2026-12-24T18:00:00Z', '18:00', 'tomorrow 9:00', 'monday 9:00' or '20m'",
            zone_name(zone)
        )
    })
}

/// A day alone.
fn is_date(text: &str) -> bool {
    text.parse::<Date>().is_ok() && text.len() == "2026-12-24".len()
}

/// Written as a moment, and too late for one: the calendar ends with the year 9999.
fn is_beyond_calendar(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    // As if it were in a leap year that the calendar has whole.
    let is_moment = || format!("2028-{}", rest.trim_end_matches(['Z', 'z'])).parse::<DateTime>().is_ok();
    year.bytes().all(|byte| byte.is_ascii_digit()) && (year.len() > 4 || year == "9999") && is_moment()
}

/// A moment with its zone, as every answer shows it: `Tue 2026-11-17 09:00 CET`.
pub fn show_moment(at: SystemTime, zone: &TimeZone) -> String {
    match Timestamp::try_from(at) {
        Ok(at) => {
            let zoned = at.to_zoned(zone.clone());
            let seconds = if zoned.second() == 0 { "" } else { ":%S" };
            zoned.strftime(&format!("%a %Y-%m-%d %H:%M{seconds} %Z")).to_string()
        }
        Err(_) => "a time that no calendar has".into(),
    }
}

/// A moment for programs: RFC 3339, with the offset of its zone.
pub fn rfc_3339(at: SystemTime, zone: &TimeZone) -> Option<String> {
    Some(Timestamp::try_from(at).ok()?.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

pub(crate) fn zone_name(zone: &TimeZone) -> String {
    zone.iana_name().unwrap_or("local time").to_owned()
}

/// With an offset or a zone of its own.
fn exact(text: &str) -> Option<SystemTime> {
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Some(zoned.timestamp().into());
    }
    text.parse::<Timestamp>().ok().map(SystemTime::from)
}

/// Without one: the user's. A time that is skipped in spring is the same time after the gap; one that comes twice is the first.
fn local(text: &str, zone: &TimeZone) -> Option<SystemTime> {
    let date_time = text.contains(['T', 't', ' ']).then(|| text.parse::<DateTime>().ok()).flatten()?;
    Some(zone.to_zoned(date_time).ok()?.timestamp().into())
}

/// The next such time of the clock, or that of a day that is named.
fn clock_time(text: &str, zone: &TimeZone, now: SystemTime) -> Option<SystemTime> {
    let lower = text.to_lowercase();
    let (day, rest) = lower.split_once([' ', ',']).unwrap_or(("", lower.as_str()));
    let today = Timestamp::try_from(now).ok()?.to_zoned(zone.clone());
    let at = |days: i64, time: Time| {
        let date = today.date().checked_add(days.days()).ok()?;
        Some(zone.to_zoned(date.to_datetime(time)).ok()?.timestamp())
    };
    // The first of these days whose time has not passed.
    let first = |time: Time, days: &[i64]| days.iter().find_map(|days| at(*days, time).filter(|at| *at > today.timestamp()));
    let moment = match day {
        "today" => at(0, time_of_day(rest)?),
        "tonight" => at(0, time_of_day(rest).filter(|time| time.hour() >= 12).or_else(|| time_of_day(&format!("{rest} pm")))?),
        "tomorrow" => at(1, time_of_day(rest.trim_start().strip_prefix("morning ").unwrap_or(rest))?),
        "on" | "next" => {
            let is_weekday = rest.split_whitespace().next().is_some_and(|day| weekday(day).is_some());
            return if is_weekday { clock_time(rest.trim_start(), zone, now) } else { None };
        }
        day => match weekday(day) {
            Some(day) => {
                let days = i64::from(today.weekday().until(day));
                first(time_of_day(rest)?, &[days, days + 7])
            }
            // A bare number is no time, if nothing says so.
            None => first(time(spoken::clock_time(&lower).or_else(|| spoken::spoken_time(lower.strip_prefix("at ")?))?)?, &[0, 1]),
        },
    };
    moment.map(SystemTime::from)
}

/// `24.12.2026 18:00`: day, month and year with points between them.
fn with_points(text: &str, zone: &TimeZone) -> Option<SystemTime> {
    let (date, rest) = text.split_once([' ', ','])?;
    let mut parts = date.split('.').map(str::parse::<i16>);
    let (day, month, year) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let date =
        Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok().filter(|_| parts.next().is_none() && year >= 1000)?;
    Some(zone.to_zoned(date.to_datetime(time_of_day(rest)?)).ok()?.timestamp().into())
}

/// A day of the week by its name.
fn weekday(name: &str) -> Option<Weekday> {
    Weekday::from_sunday_zero_offset(i8::try_from(spoken::weekday(name)?).ok()?).ok()
}

/// A time of day after the name of a day: `at 9`, `9`, `noon`.
fn time_of_day(text: &str) -> Option<Time> {
    time(spoken::spoken_time(text)?)
}

fn time(clock: ClockTime) -> Option<Time> {
    let part = |number: u8| i8::try_from(number).ok();
    Time::new(part(clock.hour)?, part(clock.minute)?, part(clock.second)?, 0).ok()
}

fn relative(text: &str, now: SystemTime) -> Option<SystemTime> {
    let text = text.to_lowercase();
    // What comes again is no time.
    if text.starts_with("every ") {
        return None;
    }
    let rest = text.strip_prefix("in ").or_else(|| text.strip_prefix('+')).unwrap_or(&text);
    let wait = parse_duration(rest).ok().filter(|wait| *wait > Duration::ZERO)?;
    now.checked_add(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    fn now() -> SystemTime {
        "2026-11-17T21:00:00+01:00".parse::<Timestamp>().unwrap().into()
    }

    #[test]
    fn moments_are_read_in_the_users_zone() {
        for (text, shown) in [
            ("2026-12-24T18:00:00Z", "Thu 2026-12-24 19:00 CET"),
            ("2026-12-24T18:00:00+05:30", "Thu 2026-12-24 13:30 CET"),
            ("2026-12-24T18:00", "Thu 2026-12-24 18:00 CET"),
            ("2026-07-01 09:30", "Wed 2026-07-01 09:30 CEST"),
            ("2026-12-24T18:00[America/New_York]", "Fri 2026-12-25 00:00 CET"),
            ("21:30", "Tue 2026-11-17 21:30 CET"),
            ("9:00", "Wed 2026-11-18 09:00 CET"),
            ("9am", "Wed 2026-11-18 09:00 CET"),
            ("12 am", "Wed 2026-11-18 00:00 CET"),
            ("tomorrow at 21:30", "Wed 2026-11-18 21:30 CET"),
            ("tomorrow at 9", "Wed 2026-11-18 09:00 CET"),
            ("today at 22:00", "Tue 2026-11-17 22:00 CET"),
            ("at 22", "Tue 2026-11-17 22:00 CET"),
            ("friday 9:00", "Fri 2026-11-20 09:00 CET"),
            ("next Monday at 9am", "Mon 2026-11-23 09:00 CET"),
            ("on tue at 8", "Tue 2026-11-24 08:00 CET"),
            ("Tuesday, 22:30", "Tue 2026-11-17 22:30 CET"),
            ("20m", "Tue 2026-11-17 21:20 CET"),
            ("in 2 hours", "Tue 2026-11-17 23:00 CET"),
            ("+90s", "Tue 2026-11-17 21:01:30 CET"),
            ("in an hour", "Tue 2026-11-17 22:00 CET"),
            ("in half an hour", "Tue 2026-11-17 21:30 CET"),
            ("in two hours", "Tue 2026-11-17 23:00 CET"),
            ("1.5h", "Tue 2026-11-17 22:30 CET"),
            ("18h", "Wed 2026-11-18 15:00 CET"),
            ("tomorrow 8", "Wed 2026-11-18 08:00 CET"),
            ("tomorrow morning at 8", "Wed 2026-11-18 08:00 CET"),
            ("tomorrow noon", "Wed 2026-11-18 12:00 CET"),
            ("tomorrow um 9 Uhr", "Wed 2026-11-18 09:00 CET"),
            ("tonight at 11", "Tue 2026-11-17 23:00 CET"),
            ("at noon", "Wed 2026-11-18 12:00 CET"),
            ("midnight", "Wed 2026-11-18 00:00 CET"),
            ("22.30", "Tue 2026-11-17 22:30 CET"),
            ("friday 9", "Fri 2026-11-20 09:00 CET"),
            ("24.12.2026 18:00", "Thu 2026-12-24 18:00 CET"),
            ("24.12.2026, 18 Uhr", "Thu 2026-12-24 18:00 CET"),
            // The night of spring has no 02:30, that of autumn has two.
            ("2027-03-28T02:30", "Sun 2027-03-28 03:30 CEST"),
            ("2027-10-31T02:30", "Sun 2027-10-31 02:30 CEST"),
        ] {
            let read = parse_moment(text, &berlin(), now()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(show_moment(read, &berlin()), shown, "{text}");
        }
    }

    #[test]
    fn what_lacks_a_time_of_day_or_lies_too_late_is_said() {
        for (text, expected) in [
            ("2026-12-24", "'2026-12-24' says no time of day; write '2026-12-24T09:00'"),
            ("9000-01-01", "'9000-01-01' says no time of day; write '9000-01-01T09:00'"),
            ("9999-12-31T23:59", "'9999-12-31T23:59' lies more than 50 years away"),
            ("9999-12-31T23:59:59Z", "'9999-12-31T23:59:59Z' lies more than 50 years away"),
            ("10000-01-01T00:00", "'10000-01-01T00:00' lies more than 50 years away"),
        ] {
            assert_eq!(parse_moment(text, &berlin(), now()), Err(expected.to_owned()));
        }
    }

    #[test]
    fn what_is_no_moment_is_refused_with_examples() {
        for text in [
            "",
            "soon",
            "25:00",
            "13pm",
            "2026-13-01T00:00",
            "2026-02-30T10:00",
            "tomorrow",
            "9",
            "99999999999999d",
            "monday",
            "next week",
            "next 9:00",
            "mo 9:00",
            "at",
            "every day",
        ] {
            let error = parse_moment(text, &berlin(), now()).unwrap_err();
            assert!(error.contains("Europe/Berlin") && error.contains("tomorrow 9:00"), "{text}: {error}");
        }
    }
}
