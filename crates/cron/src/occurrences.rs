//! When a schedule runs: the next time, and the latest one that has passed.

use std::time::{Duration, SystemTime};

use haft_contract::ports::JobSchedule;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::moment::show_moment;
use crate::schedule::stored_expression;

/// The first run after a time. A time of day that is skipped in spring runs right after the gap, one that comes twice runs once;
/// intervals count real time.
pub fn next_after(schedule: &JobSchedule, after: SystemTime) -> Option<SystemTime> {
    match schedule {
        JobSchedule::At { at, .. } => (*at > after).then_some(*at),
        JobSchedule::Every { every, anchor, .. } => next_interval(*every, *anchor, after),
        JobSchedule::Cron { expression, zone } => {
            let found = stored_expression(expression)?.find_next_occurrence(&zoned(after, zone)?, false).ok()?;
            Some(found.timestamp().into())
        }
    }
}

/// The latest run at or before a time.
pub fn latest(schedule: &JobSchedule, until: SystemTime) -> Option<SystemTime> {
    match schedule {
        JobSchedule::At { at, .. } => (*at <= until).then_some(*at),
        JobSchedule::Every { every, anchor, .. } => {
            let steps = until.duration_since(*anchor).ok()?.as_nanos() / every.as_nanos().max(1);
            (steps > 0).then(|| stepped(*anchor, *every, steps)).flatten()
        }
        JobSchedule::Cron { expression, zone } => {
            let found = stored_expression(expression)?.find_previous_occurrence(&zoned(until, zone)?, true).ok()?;
            Some(found.timestamp().into())
        }
    }
}

/// At most three runs from a time on, with their zone. A run that is due at another time, after a failure, comes first.
pub fn next_three(schedule: &JobSchedule, next_due: Option<SystemTime>) -> Vec<String> {
    let zone = TimeZone::get(schedule.zone()).unwrap_or(TimeZone::UTC);
    let runs = std::iter::successors(next_due, |at| next_after(schedule, *at));
    runs.take(3).map(|at| show_moment(at, &zone)).collect()
}

fn zoned(at: SystemTime, zone: &str) -> Option<Zoned> {
    Some(Timestamp::try_from(at).ok()?.to_zoned(TimeZone::get(zone).ok()?))
}

/// The anchor itself is no run, unless it is still to come.
fn next_interval(every: Duration, anchor: SystemTime, after: SystemTime) -> Option<SystemTime> {
    let Ok(passed) = after.duration_since(anchor) else { return Some(anchor) };
    stepped(anchor, every, passed.as_nanos() / every.as_nanos().max(1) + 1)
}

fn stepped(anchor: SystemTime, every: Duration, steps: u128) -> Option<SystemTime> {
    let nanoseconds = u64::try_from(every.as_nanos().checked_mul(steps)?).ok()?;
    anchor.checked_add(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SystemTime {
        text.parse::<Timestamp>().unwrap().into()
    }

    fn cron(expression: &str, zone: &str) -> JobSchedule {
        JobSchedule::Cron { expression: expression.into(), zone: zone.into() }
    }

    fn runs(schedule: &JobSchedule, from: &str, count: usize) -> Vec<String> {
        let zone = TimeZone::get(schedule.zone()).unwrap();
        let first = next_after(schedule, at(from));
        std::iter::successors(first, |at| next_after(schedule, *at)).take(count).map(|at| show_moment(at, &zone)).collect()
    }

    #[test]
    fn nights_with_a_changed_clock_have_each_run_once() {
        for (expression, zone, from, expected) in [
            // Spring: 02:00 becomes 03:00.
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-03-27T12:00:00Z",
                ["Sat 2026-03-28 02:30 CET", "Sun 2026-03-29 03:00 CEST", "Mon 2026-03-30 02:30 CEST"],
            ),
            // Autumn: 03:00 becomes 02:00.
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-24T12:00:00Z",
                ["Sun 2026-10-25 02:30 CEST", "Mon 2026-10-26 02:30 CET", "Tue 2026-10-27 02:30 CET"],
            ),
            // An interval of the clock runs in both hours.
            (
                "0 * * * *",
                "Europe/Berlin",
                "2026-10-25T00:30:00Z",
                ["Sun 2026-10-25 02:00 CET", "Sun 2026-10-25 03:00 CET", "Sun 2026-10-25 04:00 CET"],
            ),
            (
                "0 9 * * 1-5",
                "America/New_York",
                "2026-10-30T20:00:00Z",
                ["Mon 2026-11-02 09:00 EST", "Tue 2026-11-03 09:00 EST", "Wed 2026-11-04 09:00 EST"],
            ),
        ] {
            assert_eq!(runs(&cron(expression, zone), from, 3), expected, "{expression} from {from}");
        }
    }

    #[test]
    fn intervals_count_real_time_over_a_changed_clock() {
        let schedule =
            JobSchedule::Every { every: Duration::from_hours(6), anchor: at("2026-10-24T18:00:00Z"), zone: "Europe/Berlin".into() };
        let expected = ["Sun 2026-10-25 02:00 CEST", "Sun 2026-10-25 07:00 CET", "Sun 2026-10-25 13:00 CET"];
        assert_eq!(runs(&schedule, "2026-10-24T18:00:00Z", 3), expected);
        assert_eq!(latest(&schedule, at("2026-10-25T06:00:00Z")), Some(at("2026-10-25T06:00:00Z")));
        assert_eq!(latest(&schedule, at("2026-10-24T23:59:59Z")), None);
        assert_eq!(next_after(&schedule, at("2020-01-01T00:00:00Z")), Some(at("2026-10-24T18:00:00Z")));
    }

    #[test]
    fn latest_is_the_run_that_next_leads_to() {
        for expression in ["0 9 * * 1-5", "*/15 * * * *", "0 0 1 * *", "30 2 * * *"] {
            let schedule = cron(expression, "Europe/Berlin");
            let mut time = at("2026-03-20T00:00:00Z");
            for _ in 0..50 {
                let next = next_after(&schedule, time).unwrap();
                assert_eq!(latest(&schedule, next), Some(next), "{expression}");
                assert_eq!(latest(&schedule, next + Duration::from_secs(1)), Some(next), "{expression}");
                time = next;
            }
        }
    }
}
