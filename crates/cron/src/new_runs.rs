//! Runs before they begin, and what else of their job has not ended.

use std::collections::HashMap;
use std::time::SystemTime;

use haft_contract::ports::{DeliveryState, JobRun, RunState, RunTrigger, ScheduledJob};
use haft_store::{RunOwner, new_uuid};

/// Runs that have not ended, by job.
pub(crate) struct BusyJobs(HashMap<String, (usize, usize)>);

impl BusyJobs {
    pub(crate) fn new(open: &[(JobRun, RunOwner)]) -> Self {
        let mut busy = Self(HashMap::new());
        for (run, _) in open {
            busy.count(run);
        }
        busy
    }
    pub(crate) fn count(&mut self, run: &JobRun) {
        let counts = self.0.entry(run.job.clone()).or_default();
        match run.state {
            RunState::Running => counts.0 += 1,
            RunState::Waiting => counts.1 += 1,
            _ => {}
        }
    }
    pub(crate) fn is_running(&self, job: &str) -> bool {
        self.0.get(job).is_some_and(|counts| counts.0 > 0)
    }
    pub(crate) fn is_waiting(&self, job: &str) -> bool {
        self.0.get(job).is_some_and(|counts| counts.1 > 0)
    }
}

/// A run that waits.
pub(crate) fn new_run(job: &ScheduledJob, due: SystemTime, trigger: RunTrigger) -> JobRun {
    JobRun {
        id: new_uuid().to_string(),
        job: job.id.clone(),
        name: job.name.clone(),
        workspace: job.workspace.clone(),
        due,
        trigger,
        state: RunState::Waiting,
        started: None,
        ended: None,
        attempts: 0,
        session: None,
        answer: None,
        error: None,
        is_tainted: job.is_tainted,
        route: job.delivery.clone(),
        origin: job.session.clone(),
        delivery: DeliveryState::NotRequested,
        delivery_note: None,
        delivery_attempts: 0,
        delivery_due: None,
    }
}

pub(crate) fn skipped_run(job: &ScheduledJob, due: SystemTime, now: SystemTime, why: String) -> JobRun {
    let run = new_run(job, due, RunTrigger::Schedule);
    JobRun { state: RunState::Skipped, ended: Some(now), error: Some(why), ..run }
}

#[cfg(test)]
pub(crate) mod tests_support {
    use std::time::Duration;

    use haft_contract::ports::{JobDelivery, JobSchedule, JobTarget, MissedRuns, OverlapRule};

    use super::*;

    pub(crate) fn job(name: &str, schedule: JobSchedule) -> ScheduledJob {
        ScheduledJob {
            id: format!("j-{name}"),
            name: name.into(),
            workspace: "/w".into(),
            schedule,
            task: "do it".into(),
            target: JobTarget::Isolated,
            session: None,
            agent: None,
            model: None,
            timeout: Duration::from_hours(1),
            delivery: JobDelivery::default(),
            missed: MissedRuns::Once,
            overlap: OverlapRule::Skip,
            delete_after_run: false,
            is_tainted: false,
            created: SystemTime::UNIX_EPOCH,
            enabled: true,
            disabled_because: None,
            next_due: None,
            failures: 0,
            noticed: None,
            version: 0,
        }
    }

    pub(crate) fn run(job: &ScheduledJob, now: SystemTime) -> JobRun {
        new_run(job, now, RunTrigger::Schedule)
    }
}
