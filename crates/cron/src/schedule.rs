//! Reads schedules. What can never run, runs too often, or lies too far away is refused here.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use haft_contract::ports::{JobSchedule, ScheduleText};
use haft_text::spoken::recurrence;
use haft_text::suggest::nearest;
use jiff::tz::TimeZone;

use crate::duration::{duration_words, parse_duration};
use crate::moment::parse_moment;
use crate::occurrences::next_after;

/// Jobs do not run more often than this.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(10);
/// No run lies further away than this.
const HORIZON: Duration = Duration::from_hours(24 * 365 * 50);
/// How many runs are looked at to find the shortest pause.
const LOOKED_AT: usize = 40;
const LONGEST_EXPRESSION: usize = 200;

/// Reads a schedule; `zone` is that of the user. The error says what is wrong and what to write.
pub fn parse_schedule(text: &ScheduleText, zone: &str, now: SystemTime) -> Result<JobSchedule, String> {
    let zone_named = zone_named(text.zone.as_deref().unwrap_or(zone))?;
    let name = zone_named.iana_name().unwrap_or(zone).to_owned();
    let schedule = match (&text.at, &text.every, &text.cron) {
        (Some(words), None, None) if is_repeated(words) && recurrence(words).is_some() => {
            JobSchedule::Cron { expression: recurrence(words).unwrap_or_default(), zone: name }
        }
        (None, Some(words), None) | (None, None, Some(words)) if recurrence(words).is_some() => {
            JobSchedule::Cron { expression: recurrence(words).unwrap_or_default(), zone: name }
        }
        (None, Some(every), None) => every_schedule(every, text.anchor.as_deref(), &zone_named, name, now)?,
        // `every 5 minutes`, wherever it is written.
        (Some(words), None, None) | (None, None, Some(words)) if is_interval(words) => {
            every_schedule(words, text.anchor.as_deref(), &zone_named, name, now)?
        }
        (Some(at), None, None) => at_schedule(at, &zone_named, name, now)?,
        (None, None, Some(cron)) => cron_schedule(cron, name)?,
        (None, None, None) => return Err("say when it runs: 'at' (once), 'every' (an interval) or 'cron' (an expression)".into()),
        _ => return Err("'at', 'every' and 'cron' exclude each other; give one of them".into()),
    };
    check(&schedule, now)?;
    Ok(schedule)
}

/// A time zone by its IANA name.
pub fn zone_named(name: &str) -> Result<TimeZone, String> {
    let name = name.trim();
    if name.eq_ignore_ascii_case("local") {
        return TimeZone::try_system().map_err(|error| format!("this machine has no time zone: {error}"));
    }
    TimeZone::get(name).map_err(|_| {
        let known: Vec<String> = jiff::tz::db().available().map(|zone| zone.to_string()).collect();
        let wanted =
            known.iter().find(|known| known.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(&name.replace(' ', "_"))));
        let near = wanted.map(String::as_str).or_else(|| nearest(name, known.iter().map(String::as_str)).first().copied());
        let meant = near.map_or_else(|| ".".to_owned(), |near| format!("; did you mean '{near}'?"));
        let shown: String = name.chars().take(60).collect();
        format!("'{shown}' is not a time zone{meant} Write an IANA name such as 'Europe/Berlin' or 'UTC'")
    })
}

/// The expression of a schedule, with seconds and years where they are written.
pub(crate) fn parse_expression(expression: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Optional).build();
    parser.parse(expression).map_err(|error| {
        let why = error.to_string();
        let why = why.trim_end_matches('.');
        format!("'{expression}' is not a cron expression: {why}. Write five fields (minute hour day month weekday), such as '0 9 * * 1-5', or words such as 'every weekday at 9'")
    })
}

fn at_schedule(at: &str, zone: &TimeZone, name: String, now: SystemTime) -> Result<JobSchedule, String> {
    let at_time = parse_moment(at, zone, now)?;
    if at_time <= now {
        let shown = crate::show_moment(at_time, zone);
        return Err(format!("'{at}' has passed: {shown}, and now it is {}", crate::show_moment(now, zone)));
    }
    Ok(JobSchedule::At { at: at_time, zone: name })
}

fn every_schedule(every: &str, anchor: Option<&str>, zone: &TimeZone, name: String, now: SystemTime) -> Result<JobSchedule, String> {
    let every = parse_duration(every)?;
    let anchor = match anchor {
        Some(anchor) => parse_moment(anchor, zone, now)?,
        None => now,
    };
    Ok(JobSchedule::Every { every, anchor, zone: name })
}

fn cron_schedule(cron: &str, zone: String) -> Result<JobSchedule, String> {
    let expression = cron.trim();
    if expression.len() > LONGEST_EXPRESSION {
        return Err(format!("the cron expression has {} characters, and {LONGEST_EXPRESSION} are the most", expression.len()));
    }
    parse_expression(expression)?;
    Ok(JobSchedule::Cron { expression: expression.to_owned(), zone })
}

/// An interval in words; `every day` may mean a time of day, and says none.
fn is_interval(words: &str) -> bool {
    let lower = words.trim().to_lowercase();
    let is_exact = lower.contains(|ch: char| ch.is_ascii_digit()) || ["hour", "minute", "hourly"].iter().any(|unit| lower.ends_with(unit));
    (lower.starts_with("every ") || lower == "hourly") && is_exact && parse_duration(words).is_ok()
}

/// What says that it comes again; `monday 9:00` alone is the next one.
fn is_repeated(words: &str) -> bool {
    let lower = words.trim().to_lowercase();
    ["every ", "each ", "daily", "weekdays", "weekends"].iter().any(|word| lower.starts_with(word))
}

/// Refuses what never runs, runs too often or lies too far away.
fn check(schedule: &JobSchedule, now: SystemTime) -> Result<(), String> {
    let never = || match schedule {
        JobSchedule::Cron { expression, .. } => format!("'{expression}' never runs: no day of the next 50 years fits it"),
        _ => "the first run lies more than 50 years away".to_owned(),
    };
    let first = next_after(schedule, now).ok_or_else(never)?;
    if first.duration_since(now).is_ok_and(|wait| wait > HORIZON) {
        return Err(never());
    }
    if let JobSchedule::Every { every, .. } = schedule {
        return if *every < SHORTEST_PAUSE { Err(too_often(*every)) } else { Ok(()) };
    }
    let runs = std::iter::successors(Some(first), |at| next_after(schedule, *at)).take(LOOKED_AT).collect::<Vec<_>>();
    let shortest = runs.windows(2).filter_map(|pair| pair[1].duration_since(pair[0]).ok()).min();
    match shortest {
        Some(pause) if pause < SHORTEST_PAUSE => Err(too_often(pause)),
        _ => Ok(()),
    }
}

fn too_often(pause: Duration) -> String {
    format!("it would run every {}, and every {} is the most often", duration_words(pause), duration_words(SHORTEST_PAUSE))
}

/// As croner's own reader, for schedules that were checked when they were stored.
pub(crate) fn stored_expression(expression: &str) -> Option<Cron> {
    parse_expression(expression).or_else(|_| Cron::from_str(expression).map_err(|error| error.to_string())).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn now() -> SystemTime {
        "2026-11-17T20:00:00Z".parse::<Timestamp>().unwrap().into()
    }

    fn read(at: Option<&str>, every: Option<&str>, cron: Option<&str>, zone: Option<&str>) -> Result<JobSchedule, String> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let text = ScheduleText { at: own(at), every: own(every), anchor: None, cron: own(cron), zone: own(zone) };
        parse_schedule(&text, "Europe/Berlin", now())
    }

    #[test]
    fn a_cron_expression_has_the_users_zone_unless_it_names_another() {
        let cron = |zone: &str| JobSchedule::Cron { expression: "0 9 * * 1-5".into(), zone: zone.into() };
        assert_eq!(read(None, None, Some(" 0 9 * * 1-5 "), None), Ok(cron("Europe/Berlin")));
        assert_eq!(read(None, None, Some("0 9 * * 1-5"), Some("Asia/Tokyo")), Ok(cron("Asia/Tokyo")));
        assert_eq!(read(None, Some("weekday at 9"), None, None), Ok(cron("Europe/Berlin")), "as people say it");
        let every = JobSchedule::Every { every: Duration::from_mins(5), anchor: now(), zone: "Europe/Berlin".into() };
        assert_eq!(read(None, None, Some("Every 5 minutes"), None), Ok(every), "an interval in the wrong place");
        assert_eq!(read(None, None, Some("every weekday at 9:00"), Some("Asia/Tokyo")), Ok(cron("Asia/Tokyo")));
        assert_eq!(read(Some("every weekday 9 Uhr"), None, None, None), Ok(cron("Europe/Berlin")), "a repeated time in the wrong place");
        let hourly = JobSchedule::Every { every: Duration::from_hours(1), anchor: now(), zone: "Europe/Berlin".into() };
        assert_eq!(read(None, None, Some("every hour"), None), Ok(hourly));
        assert_eq!(read(None, None, Some("0 9 * * 1-5"), Some("asia/tokyo")), Ok(cron("Asia/Tokyo")), "its usual name");
        let local = TimeZone::system().iana_name().unwrap_or("Europe/Berlin").to_owned();
        assert_eq!(read(None, None, Some("0 9 * * 1-5"), Some("local")), Ok(cron(&local)));
    }

    #[test]
    fn bad_schedules_are_refused_with_advice() {
        let long = "0 ".repeat(500);
        for (at, every, cron, zone, words) in [
            (None, None, None, None, "say when it runs"),
            (Some("20m"), Some("5m"), None, None, "exclude each other"),
            (Some("2020-01-01T00:00"), None, None, None, "has passed"),
            (Some("9999-12-01T00:00"), None, None, None, "50 years"),
            (Some("soon"), None, None, None, "is not a time"),
            (None, Some("1s"), None, None, "every 1 second, and every 10 seconds is the most often"),
            (None, Some("0s"), None, None, "the most often"),
            (None, Some("1000000000000d"), None, None, "is not a duration"),
            (None, Some("99999d"), None, None, "50 years"),
            (None, None, Some("* * * * * *"), None, "every 1 second"),
            (None, None, Some("*/5 * * * * *"), None, "every 5 seconds"),
            (None, None, Some("0 0 30 2 *"), None, "never runs"),
            (None, None, Some("0 0 0 1 1 * 9999"), None, "cron expression"),
            (None, None, Some("0 0 0 1 1 * 2020"), None, "never runs"),
            (None, None, Some("99 * * * *"), None, "is not a cron expression"),
            (None, None, Some("every day"), None, "is not a cron expression"),
            (Some("every day"), None, None, None, "is not a time"),
            (None, None, Some(""), None, "is not a cron expression"),
            (None, None, Some(long.as_str()), None, "characters"),
            (None, None, Some("0 9 * * *"), Some("Berlin"), "did you mean 'Europe/Berlin'?"),
            (None, None, Some("0 9 * * *"), Some("Mars/Olympus"), "is not a time zone. Write an IANA name"),
            (None, None, Some("0 9 * * *"), Some(""), "is not a time zone"),
            (None, None, Some("0 9 * * *"), Some("../../etc/passwd"), "is not a time zone"),
        ] {
            let error = read(at, every, cron, zone).unwrap_err();
            assert!(error.contains(words), "{at:?} {every:?} {cron:?} {zone:?}: {error}");
        }
    }

    #[test]
    fn seconds_nicknames_and_last_days_are_understood() {
        for expression in ["@daily", "0 0 L * *", "30 8 * * MON#1", "*/10 * * * * *", "0 12 29 2 *", "0 0 9 1 1 * 2030"] {
            read(None, None, Some(expression), None).unwrap_or_else(|error| panic!("{expression}: {error}"));
        }
    }
}
