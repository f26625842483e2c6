//! Runs that were due while no server ran, or while the clock was wrong.

use std::time::{Duration, SystemTime};

use haft_contract::ports::{JobSchedule, MissedRuns};
use jiff::tz::TimeZone;

use crate::moment::show_moment;
use crate::occurrences::{latest, next_after};

/// A run that begins within this time is on time.
pub const GRACE: Duration = Duration::from_mins(1);
/// Runs that are caught up with at most, the newest ones.
pub const MOST_CAUGHT_UP: usize = 24;

/// What is to be done now for a job that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueRuns {
    /// The times that get a run, in order.
    pub(crate) runs: Vec<SystemTime>,
    /// The first of the times that get none, and why.
    pub(crate) skipped: Option<(SystemTime, String)>,
}

/// The runs of a job that has been due since `due`.
pub(crate) fn due_runs(schedule: &JobSchedule, missed: MissedRuns, due: SystemTime, now: SystemTime) -> DueRuns {
    // After a failure a job is due at a time that its schedule does not name.
    let last = latest(schedule, now).filter(|last| *last > due).unwrap_or(due);
    let is_late = now.duration_since(last).is_ok_and(|late| late > GRACE);
    let skipped = |from: SystemTime, until: SystemTime| Some((from, skipped_text(schedule, missed, from, until)));
    match missed {
        MissedRuns::Once => DueRuns { runs: vec![last], skipped: None },
        MissedRuns::Skip if is_late => DueRuns { runs: Vec::new(), skipped: skipped(due, last) },
        MissedRuns::Skip => DueRuns { runs: vec![last], skipped: if last > due { skipped(due, last) } else { None } },
        MissedRuns::All => {
            let runs = newest_runs(schedule, due, last);
            let first = runs.first().copied().unwrap_or(last);
            DueRuns { skipped: if first > due { skipped(due, first) } else { None }, runs }
        }
    }
}

/// The newest runs from `due` to `last`, in order.
fn newest_runs(schedule: &JobSchedule, due: SystemTime, last: SystemTime) -> Vec<SystemTime> {
    let before = |at: &SystemTime| {
        let earlier = latest(schedule, at.checked_sub(Duration::from_nanos(1))?)?;
        (earlier >= due).then_some(earlier)
    };
    let mut runs: Vec<SystemTime> = std::iter::successors(Some(last), before).take(MOST_CAUGHT_UP).collect();
    if runs.len() < MOST_CAUGHT_UP && !runs.contains(&due) {
        runs.push(due);
    }
    runs.reverse();
    runs
}

fn skipped_text(schedule: &JobSchedule, missed: MissedRuns, from: SystemTime, until: SystemTime) -> String {
    let zone = TimeZone::get(schedule.zone()).unwrap_or(TimeZone::UTC);
    let is_one = next_after(schedule, from).is_none_or(|next| next > until) || from == until;
    let times = if is_one {
        format!("the run of {} was missed", show_moment(from, &zone))
    } else {
        format!("runs from {} to {} were missed", show_moment(from, &zone), show_moment(until, &zone))
    };
    let rule = match missed {
        MissedRuns::All => format!("only the newest {MOST_CAUGHT_UP} are caught up with"),
        _ => format!("missed = {missed}"),
    };
    format!("{times}, because no server ran or it was busy ({rule})")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn at(text: &str) -> SystemTime {
        format!("2026-11-{text}Z").parse::<Timestamp>().unwrap().into()
    }

    fn shown(times: &[SystemTime]) -> Vec<String> {
        times.iter().map(|at| Timestamp::try_from(*at).unwrap().strftime("%dT%H:%M:%S").to_string()).collect()
    }

    #[test]
    fn each_policy_has_its_runs() {
        let hourly = JobSchedule::Cron { expression: "0 * * * *".into(), zone: "UTC".into() };
        let due = "17T09:00:00";
        for (missed, now, runs, skipped) in [
            // On time: every policy runs it.
            (MissedRuns::Skip, "17T09:00:00", vec!["17T09:00:00"], None),
            (MissedRuns::Skip, "17T09:00:59", vec!["17T09:00:00"], None),
            (MissedRuns::Once, "17T09:00:59", vec!["17T09:00:00"], None),
            (MissedRuns::All, "17T09:00:59", vec!["17T09:00:00"], None),
            // Late.
            (MissedRuns::Skip, "17T09:30:00", vec![], Some(("17T09:00:00", "the run of Tue 2026-11-17 09:00 UTC was missed"))),
            (MissedRuns::Once, "17T09:30:00", vec!["17T09:00:00"], None),
            (MissedRuns::All, "17T09:30:00", vec!["17T09:00:00"], None),
            // Several are missed, and the last is on time or late.
            (MissedRuns::Skip, "17T12:00:10", vec!["17T12:00:00"], Some(("17T09:00:00", "runs from Tue 2026-11-17 09:00 UTC to"))),
            (MissedRuns::Skip, "17T12:30:00", vec![], Some(("17T09:00:00", "(missed = skip)"))),
            (MissedRuns::Once, "17T12:30:00", vec!["17T12:00:00"], None),
            (MissedRuns::All, "17T11:30:00", vec!["17T09:00:00", "17T10:00:00", "17T11:00:00"], None),
        ] {
            let found = due_runs(&hourly, missed, at(due), at(now));
            assert_eq!(shown(&found.runs), runs, "{missed} {now}");
            match (&found.skipped, skipped) {
                (None, None) => {}
                (Some((from, text)), Some((expected, words))) => {
                    assert_eq!(shown(&[*from]), [expected], "{missed} {now}");
                    assert!(text.contains(words), "{missed} {now}: {text}");
                }
                other => panic!("{missed} {now}: {other:?}"),
            }
        }
    }

    #[test]
    fn catching_up_is_bounded_however_long_it_was_off() {
        let often = JobSchedule::Every { every: Duration::from_secs(10), anchor: at("01T00:00:00"), zone: "UTC".into() };
        let found = due_runs(&often, MissedRuns::All, at("01T00:00:10"), at("29T00:00:00"));
        assert_eq!((found.runs.len(), shown(&found.runs[23..])), (24, vec!["29T00:00:00".to_owned()]));
        assert!(found.skipped.unwrap().1.contains("only the newest 24"));
    }
}
