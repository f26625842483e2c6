//! Schedules and runs in words.

use std::time::Duration;

use haft_contract::ports::{DeliveryState, JobRun, JobSchedule, RunState};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::duration::duration_words;
use crate::moment::{rfc_3339, show_moment};
use crate::schedule::stored_expression;

const DAYS: [&str; 8] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// A schedule in words, with its zone.
pub fn describe(schedule: &JobSchedule) -> String {
    let zone = TimeZone::get(schedule.zone()).unwrap_or(TimeZone::UTC);
    match schedule {
        JobSchedule::At { at, .. } => format!("once, on {}", show_moment(*at, &zone)),
        JobSchedule::Every { every, .. } => format!("every {}", interval_words(*every)),
        JobSchedule::Cron { expression, zone } => format!("{} ({zone})", simple(expression).unwrap_or_else(|| in_full(expression))),
    }
}

/// `hour` of one hour, `90 minutes` of more.
fn interval_words(every: Duration) -> String {
    let words = duration_words(every);
    match words.strip_prefix("1 ") {
        Some(unit) if !unit.contains(' ') => unit.to_owned(),
        _ => words,
    }
}

/// A schedule for programs: moments in RFC 3339, pauses in seconds.
pub(crate) fn schedule_json(schedule: &JobSchedule) -> Value {
    let shown = TimeZone::get(schedule.zone()).unwrap_or(TimeZone::UTC);
    match schedule {
        JobSchedule::At { at, zone } => json!({ "kind": "at", "at": rfc_3339(*at, &shown), "zone": zone }),
        JobSchedule::Every { every, anchor, zone } => {
            json!({ "kind": "every", "every_seconds": every.as_secs_f64(), "anchor": rfc_3339(*anchor, &shown), "zone": zone })
        }
        JobSchedule::Cron { expression, zone } => json!({ "kind": "cron", "expression": expression, "zone": zone }),
    }
}

/// The usual ones, as people say them: `every weekday at 09:00`.
fn simple(expression: &str) -> Option<String> {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let [minute, hours, "*", "*", weekdays] = fields.as_slice() else { return None };
    let minute = minute.parse::<u8>().ok()?;
    let hours: Option<Vec<u8>> = hours.split(',').map(|hour| hour.parse().ok()).collect();
    let day = match *weekdays {
        "*" => "every day".to_owned(),
        "1-5" | "MON-FRI" | "mon-fri" => "every weekday".to_owned(),
        "0,6" | "6,0" | "6,7" | "SAT,SUN" | "sat,sun" => "every Saturday and Sunday".to_owned(),
        days => {
            let days: Option<Vec<&str>> = days.split(',').map(|day| DAYS.get(day.parse::<usize>().ok()?).copied()).collect();
            format!("every {}", enumerated(&days?))
        }
    };
    let times: Vec<String> = hours?.iter().map(|hour| format!("{hour:02}:{minute:02}")).collect();
    Some(format!("{day} at {}", enumerated(&times)))
}

/// `one`, `one and two`, `one, two and three`.
fn enumerated<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

fn in_full(expression: &str) -> String {
    let described = stored_expression(expression).map(|cron| cron.describe()).unwrap_or_default();
    let described = described.trim_end_matches('.').trim_start_matches("At every ");
    let described = if described.starts_with(|ch: char| ch.is_ascii_digit()) { format!("every {described}") } else { described.to_owned() };
    let mut characters = described.chars();
    match characters.next() {
        Some(first) => format!("{}{}", first.to_lowercase(), characters.as_str()),
        None => format!("by '{expression}'"),
    }
}

/// A run in one line: when, what became of it, and of its delivery.
pub fn run_line(run: &JobRun, zone: &TimeZone) -> String {
    let took = run.started.zip(run.ended).and_then(|(started, ended)| ended.duration_since(started).ok());
    let took = took.map(|took| format!(" after {:.1} s", took.as_secs_f64())).unwrap_or_default();
    let error = run.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
    let delivery = match run.delivery {
        DeliveryState::NotRequested => String::new(),
        _ if run.state == RunState::Skipped => String::new(),
        state => {
            let note = run.delivery_note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
            format!("; {}{note}", state.as_str().replace('_', " "))
        }
    };
    format!("{} {}: {}{took}{error}{delivery}", show_moment(run.due, zone), run.name, run.state)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn schedules_are_readable_for_programs() {
        let (at, zone) = (SystemTime::UNIX_EPOCH + Duration::from_hours(499_481), "Europe/Berlin".to_owned());
        for (schedule, expected) in [
            (JobSchedule::At { at, zone: zone.clone() }, json!({"kind": "at", "at": "2026-12-24T18:00:00+01:00", "zone": zone})),
            (
                JobSchedule::Every { every: Duration::from_millis(90_500), anchor: at, zone: "UTC".into() },
                json!({"kind": "every", "every_seconds": 90.5, "anchor": "2026-12-24T17:00:00+00:00", "zone": "UTC"}),
            ),
            (
                JobSchedule::Cron { expression: "0 9 * * 1-5".into(), zone: zone.clone() },
                json!({"kind": "cron", "expression": "0 9 * * 1-5", "zone": zone}),
            ),
        ] {
            assert_eq!(schedule_json(&schedule), expected);
        }
    }

    #[test]
    fn cron_expressions_are_said_in_words() {
        for (expression, words) in [
            ("0 9 * * 1-5", "every weekday at 09:00 (Europe/Berlin)"),
            ("30 18 * * *", "every day at 18:30 (Europe/Berlin)"),
            ("5 7 * * 0", "every Sunday at 07:05 (Europe/Berlin)"),
            ("0 10 * * 6,0", "every Saturday and Sunday at 10:00 (Europe/Berlin)"),
            ("30 9 * * 1,3,5", "every Monday, Wednesday and Friday at 09:30 (Europe/Berlin)"),
            ("0 9,18 * * *", "every day at 09:00 and 18:00 (Europe/Berlin)"),
            ("*/15 * * * *", "every 15 minutes (Europe/Berlin)"),
            ("0 0 1 * *", "at 00:00, on day 1 (Europe/Berlin)"),
        ] {
            let schedule = JobSchedule::Cron { expression: expression.into(), zone: "Europe/Berlin".into() };
            assert_eq!(describe(&schedule), words, "{expression}");
        }
        for (minutes, words) in [(1, "every minute"), (60, "every hour"), (90, "every 1 hour 30 minutes"), (2880, "every 2 days")] {
            let schedule = JobSchedule::Every { every: Duration::from_mins(minutes), anchor: SystemTime::UNIX_EPOCH, zone: "UTC".into() };
            assert_eq!(describe(&schedule), words);
        }
    }
}
