//! Scheduled jobs, their runs, and notices about them.

use std::path::Path;
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::{JobNotice, JobRun, ScheduledJob};

use crate::StoreError;

/// Changes that are made together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AutomationChange {
    /// A job in its new state; its version is the one that it was read with, and 0 if it is new.
    pub job: Option<ScheduledJob>,
    /// The id of a job that is removed.
    pub removed: Option<String>,
    /// Runs in their new state.
    pub runs: Vec<JobRun>,
    /// Notices to the user, with the folder of the job.
    pub notices: Vec<JobNotice>,
}

/// Which process works on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOwner {
    /// This one.
    Mine,
    /// Another one, which lives.
    Other,
    /// None: it waits, or its process has ended.
    Nobody,
}

/// Keeps scheduled jobs. A change resolves with `Ok` when it survives the end of the process and of the machine.
pub trait AutomationStore: Send + Sync {
    /// Makes changes. `false`, and nothing is changed, if the job has another version by now, or a run for its time is there already.
    fn commit<'a>(&'a self, workspace: &'a Path, change: AutomationChange) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Makes a run that nobody works on this process's own; `false` if another was faster.
    fn take_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// One job.
    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ScheduledJob>, StoreError>>;
    /// The jobs of a folder, in no order.
    fn jobs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>>;
    /// How many jobs a folder has. A database counts them without reading them.
    fn job_count<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<usize, StoreError>> {
        Box::pin(async move { Ok(self.jobs(workspace).await?.len()) })
    }
    /// At most `limit` jobs that are due, the earliest first.
    fn due_jobs<'a>(&'a self, workspace: &'a Path, now: SystemTime, limit: usize) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>>;
    /// The earliest time at which a job or a delivery is due.
    fn next_due<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Option<SystemTime>, StoreError>>;
    /// At most `limit` runs of a job, or of all jobs of the folder, the newest first.
    fn runs<'a>(&'a self, workspace: &'a Path, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, StoreError>>;
    /// Runs that have not ended, or whose delivery has not, the oldest first.
    fn open_runs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<(JobRun, RunOwner)>, StoreError>>;
    /// At most `limit` notices, the newest first.
    fn notices<'a>(&'a self, workspace: &'a Path, limit: usize) -> BoxFuture<'a, Result<Vec<JobNotice>, StoreError>>;
}
