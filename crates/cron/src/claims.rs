//! Claims: a run begins when the store has it together with the next time of its job.

use std::time::{Duration, SystemTime};

use haft_contract::ports::{JobRun, JobSchedule, OverlapRule, RunState, RunTrigger, ScheduledJob};
use haft_store::{AutomationChange, RunOwner, StoreError};

use crate::catch_up::due_runs;
use crate::new_runs::{BusyJobs, new_run, skipped_run};
use crate::occurrences::next_after;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Claims a job that is due: its next time and its runs are stored together. The runs that begin now.
    pub(crate) async fn claim(
        &self,
        mut job: ScheduledJob,
        busy: &BusyJobs,
        now: SystemTime,
    ) -> Result<Vec<(ScheduledJob, JobRun)>, StoreError> {
        let Some(due) = job.next_due else { return Ok(Vec::new()) };
        let plan = due_runs(&job.schedule, job.missed, due, now);
        let trigger = if job.failures > 0 && next_after(&job.schedule, due - Duration::from_nanos(1)) != Some(due) {
            RunTrigger::Retry
        } else {
            RunTrigger::Schedule
        };
        let skipped = plan.skipped.map(|(at, why)| skipped_run(&job, at, now, why));
        let mut runs: Vec<JobRun> = skipped.into_iter().collect();
        let is_free = job.overlap == OverlapRule::Parallel || !busy.is_running(&job.id);
        let mut begun = Vec::new();
        for (index, at) in plan.runs.iter().enumerate() {
            let mut run = new_run(&job, *at, trigger);
            if is_free && (index == 0 || job.overlap == OverlapRule::Parallel) {
                self.begin(&job, &mut run, now);
                begun.push(run.clone());
            } else if !is_free && (job.overlap == OverlapRule::Skip || busy.is_waiting(&job.id)) {
                run = skipped_run(&job, *at, now, format!("the run before it has not ended (overlap = {})", job.overlap));
            }
            runs.push(run);
        }
        job.next_due = next_after(&job.schedule, now);
        let change = AutomationChange { job: Some(job.clone()), runs, ..AutomationChange::default() };
        if !self.store().commit(self.workspace(), change).await? {
            return Ok(Vec::new());
        }
        Ok(begun.into_iter().map(|run| (job.clone(), run)).collect())
    }

    fn begin(&self, job: &ScheduledJob, run: &mut JobRun, now: SystemTime) {
        (run.state, run.started, run.attempts) = (RunState::Running, run.started.or(Some(now)), run.attempts + 1);
        run.session = self.executor().session(job, run);
    }

    /// Begins runs that somebody asked for, or that waited for another run.
    pub(crate) async fn start_waiting(&self, open: &[(JobRun, RunOwner)], busy: &mut BusyJobs, now: SystemTime) -> Result<(), StoreError> {
        for (run, _) in open.iter().filter(|(run, owner)| run.state == RunState::Waiting && *owner == RunOwner::Nobody) {
            let job = self.store().job(&run.job).await?;
            let may_begin = job.as_ref().is_none_or(|job| job.overlap == OverlapRule::Parallel) || !busy.is_running(&run.job);
            if !may_begin || !self.store().take_run(&run.id).await? {
                continue;
            }
            let mut run = run.clone();
            let Some(job) = job else {
                (run.state, run.ended, run.error) = (RunState::Skipped, Some(now), Some("the job was removed".into()));
                self.put_run(run, Vec::new()).await?;
                continue;
            };
            self.begin(&job, &mut run, now);
            self.put_run(run.clone(), Vec::new()).await?;
            busy.count(&run);
            self.spawn_run(job, run);
        }
        Ok(())
    }

    /// After the clock was set back, intervals would pause until the old time comes again.
    pub(crate) async fn follow_clock(&self, now: SystemTime) -> Result<(), StoreError> {
        let last = self.replace_last_step(now);
        if last.is_some_and(|last| last <= now) {
            return Ok(());
        }
        for mut job in self.store().jobs(self.workspace()).await? {
            let JobSchedule::Every { every, anchor, .. } = &mut job.schedule else { continue };
            if job.enabled && job.next_due.is_some_and(|due| due.duration_since(now).is_ok_and(|wait| wait > *every)) && *anchor > now {
                (*anchor, job.next_due) = (now, now.checked_add(*every));
                let change = AutomationChange { job: Some(job), ..AutomationChange::default() };
                self.store().commit(self.workspace(), change).await?;
            }
        }
        Ok(())
    }
}
