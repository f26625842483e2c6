//! What the end of a run changes of its job: back-off, turning off, and what the user is told.

use std::time::{Duration, SystemTime};

use haft_contract::ports::{JobNotice, JobRun, JobSchedule, RunState, ScheduledJob};
use haft_text::display::shorten;

use crate::occurrences::next_after;

/// How long a job pauses at least after one, two, … failures.
pub const BACK_OFF: [Duration; 5] =
    [Duration::from_secs(30), Duration::from_mins(1), Duration::from_mins(5), Duration::from_mins(15), Duration::from_hours(1)];
/// So many failures in a row turn a job off.
pub const DISABLE_AFTER: u32 = 10;
/// The user is told of failures of a job at most once in this time.
pub const NOTICE_PAUSE: Duration = Duration::from_hours(1);
/// How often a job that runs once is tried again.
const ONCE_RETRIES: u32 = 3;
const ERROR_CHARACTERS: usize = 300;

/// A failure that may not come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    MayHelp,
    IsUseless,
}

/// The job after a run, `None` if it is removed, and what the user should know.
pub(crate) fn after_run(job: &ScheduledJob, run: &JobRun, retry: RetryAdvice, now: SystemTime) -> (Option<ScheduledJob>, Vec<JobNotice>) {
    let mut job = job.clone();
    let is_once = matches!(job.schedule, JobSchedule::At { .. });
    if run.state == RunState::Ok {
        (job.failures, job.noticed) = (0, None);
        if is_once && job.next_due.is_none() {
            job.enabled = false;
        }
        let is_done = job.delete_after_run && job.next_due.is_none();
        return ((!is_done).then_some(job), Vec::new());
    }
    job.failures += 1;
    let earliest = now + pause_after(job.failures);
    let may_retry = retry == RetryAdvice::MayHelp && job.failures <= ONCE_RETRIES;
    if is_once && may_retry && job.enabled {
        job.next_due = Some(earliest);
    } else if is_once {
        turn_off(&mut job, "its only run has failed".into());
    } else if job.failures >= DISABLE_AFTER {
        let failures = job.failures;
        turn_off(&mut job, format!("{failures} runs in a row have failed"));
    } else if job.next_due.is_some_and(|due| due < earliest) {
        job.next_due = next_after(&job.schedule, earliest);
    }
    let notices = failure_notice(&mut job, run, now).into_iter().collect();
    (Some(job), notices)
}

fn pause_after(failures: u32) -> Duration {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    BACK_OFF[index.min(BACK_OFF.len() - 1)]
}

fn turn_off(job: &mut ScheduledJob, why: String) {
    (job.enabled, job.next_due, job.disabled_because) = (false, None, Some(why));
}

fn failure_notice(job: &mut ScheduledJob, run: &JobRun, now: SystemTime) -> Option<JobNotice> {
    let is_quiet = job.noticed.is_some_and(|last| now.duration_since(last).is_ok_and(|passed| passed < NOTICE_PAUSE));
    if is_quiet && job.enabled {
        return None;
    }
    job.noticed = Some(now);
    let error = run.error.as_deref().unwrap_or("without a reason").trim_end_matches('.');
    let error = shorten(error, ERROR_CHARACTERS);
    let text = match &job.disabled_because {
        Some(why) if !job.enabled => {
            format!("'{}' was turned off: {why}. The last error: {error}. Fix it, then `haft cron resume {}`.", job.name, job.id)
        }
        _ => format!("'{}' has failed: {error}. `haft cron show {}` says more.", job.name, job.id),
    };
    Some(JobNotice { job: job.id.clone(), name: job.name.clone(), run: Some(run.id.clone()), at: now, text })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::new_runs::tests_support::{job, run};

    fn at(text: &str) -> SystemTime {
        text.parse::<Timestamp>().unwrap().into()
    }

    fn fail(job: &ScheduledJob, retry: RetryAdvice, now: SystemTime) -> (ScheduledJob, Vec<String>) {
        let mut run = run(job, now);
        (run.state, run.error) = (RunState::Failed, Some("no answer.".into()));
        let (after, notices) = after_run(job, &run, retry, now);
        (after.unwrap(), notices.into_iter().map(|notice| notice.text).collect())
    }

    #[test]
    fn failures_back_off_tell_once_an_hour_and_turn_the_job_off() {
        let start = at("2026-11-17T09:00:00Z");
        let mut failing = job("often", JobSchedule::Every { every: Duration::from_secs(10), anchor: start, zone: "UTC".into() });
        let (mut now, mut pauses, mut told) = (start, Vec::new(), Vec::new());
        while failing.enabled {
            failing.next_due = next_after(&failing.schedule, now);
            let (after, notices) = fail(&failing, RetryAdvice::MayHelp, now);
            pauses.extend(after.next_due.map(|due| due.duration_since(now).unwrap().as_secs()));
            told.extend(notices.iter().map(|_| now.duration_since(start).unwrap().as_secs() / 60));
            now = after.next_due.unwrap_or(now);
            failing = after;
        }
        assert_eq!(pauses, [40, 70, 310, 910, 3610, 3610, 3610, 3610, 3610]);
        assert_eq!((failing.failures, failing.disabled_because.as_deref()), (10, Some("10 runs in a row have failed")));
        assert_eq!(told, [0, 82, 142, 202, 262, 323]);
    }

    #[test]
    fn one_success_forgets_the_failures() {
        let now = at("2026-11-17T09:00:00Z");
        let mut failed = job("daily", JobSchedule::Cron { expression: "0 9 * * *".into(), zone: "UTC".into() });
        (failed.failures, failed.noticed) = (9, Some(now));
        let mut ended = run(&failed, now);
        ended.state = RunState::Ok;
        let (after, notices) = after_run(&failed, &ended, RetryAdvice::IsUseless, now);
        let after = after.unwrap();
        assert_eq!((after.failures, after.noticed, after.enabled, notices), (0, None, true, Vec::new()));
    }

    #[test]
    fn job_that_runs_once_is_retried_only_where_that_can_help() {
        let now = at("2026-11-17T09:00:00Z");
        let mut once = job("once", JobSchedule::At { at: now, zone: "UTC".into() });
        once.next_due = None;
        let (retried, told) = fail(&once, RetryAdvice::MayHelp, now);
        assert_eq!((retried.next_due, retried.enabled, told.len()), (Some(now + Duration::from_secs(30)), true, 1));
        let (ended, told) = fail(&once, RetryAdvice::IsUseless, now);
        assert_eq!((ended.next_due, ended.enabled), (None, false));
        assert!(told[0].contains("was turned off: its only run has failed. The last error: no answer. Fix it"), "{told:?}");
        once.failures = 3;
        assert!(!fail(&once, RetryAdvice::MayHelp, now).0.enabled);
        let mut ended = run(&once, now);
        ended.state = RunState::Ok;
        once.delete_after_run = true;
        assert_eq!(after_run(&once, &ended, RetryAdvice::IsUseless, now), (None, Vec::new()));
    }
}
