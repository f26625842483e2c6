//! Port for scheduled jobs: what is to run when, and what became of it.

mod announce;
mod job;
mod run;
mod schedule;

use serde_json::Value;

pub use self::announce::{Announce, AnnounceTarget, Announcement, Delivered};
pub use self::job::{DeliveryMode, JobDelivery, JobDraft, JobTarget, MissedRuns, OverlapRule, ScheduledJob};
pub use self::run::{DeliveryState, JobNotice, JobRun, RunState, RunTrigger};
pub use self::schedule::{JobSchedule, ScheduleText};
use crate::{BoxFuture, ToolError};

/// Reads a [`named_enum!`] from JSON by its name.
macro_rules! read_by_name {
    ($($name:ident),+) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
use read_by_name;

/// A job with what is derived from it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    /// The job.
    pub job: ScheduledJob,
    /// Its schedule in words.
    pub words: String,
    /// Its schedule for programs: moments in RFC 3339, pauses in seconds.
    pub schedule: Value,
    /// Its next runs, at most three, with their zone.
    pub next_runs: Vec<String>,
    /// Its newest run.
    pub last_run: Option<JobRun>,
}

/// What the scheduler does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomationStatus {
    /// Whether a server runs the jobs.
    pub is_running: bool,
    /// The time zone of the user.
    pub zone: String,
    /// Jobs that are on.
    pub enabled: usize,
    /// Jobs that are off.
    pub disabled: usize,
    /// Runs that work now.
    pub running: usize,
    /// The time of the next run, in words.
    pub next: Option<String>,
}

/// When a wake-up is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WakeMode {
    /// At once.
    Now,
    /// With the next run of a job in that conversation, or the next message of the user.
    #[default]
    NextRun,
}

/// Schedules jobs.
pub trait Automation: Send + Sync {
    /// What the scheduler does.
    fn status(&self) -> BoxFuture<'_, Result<AutomationStatus, ToolError>>;
    /// The jobs of the workspace, in the order of their next runs, those that are off last.
    fn list(&self) -> BoxFuture<'_, Result<Vec<JobView>, ToolError>>;
    /// One job, by id, name, or the beginning of one.
    fn find<'a>(&'a self, job: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>>;
    /// Checks a new job; the schedule in words. Nothing is stored.
    fn check(&self, draft: &JobDraft) -> Result<String, ToolError>;
    /// Adds a job for a session.
    fn add<'a>(&'a self, session: Option<&'a str>, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>>;
    /// Changes a job.
    fn update<'a>(&'a self, session: Option<&'a str>, job: &'a str, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>>;
    /// Removes a job; its runs stay in the list.
    fn remove<'a>(&'a self, job: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>>;
    /// Runs a job now, or only if it is due; `None` if it was not.
    fn run<'a>(&'a self, job: &'a str, only_if_due: bool) -> BoxFuture<'a, Result<Option<JobRun>, ToolError>>;
    /// The newest runs of a job, or of all, the newest first.
    fn runs<'a>(&'a self, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, ToolError>>;
    /// What the user should know, the newest first.
    fn notices(&self, limit: usize) -> BoxFuture<'_, Result<Vec<JobNotice>, ToolError>>;
    /// Tells a conversation something, now or later.
    fn wake<'a>(&'a self, session: &'a str, text: &'a str, mode: WakeMode) -> BoxFuture<'a, Result<String, ToolError>>;
}
