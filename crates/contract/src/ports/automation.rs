//! Port for scheduled jobs: what is to run when, and what became of it.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::settings::named_enum;
use crate::{BoxFuture, ToolError};

/// Reads a [`named_enum!`] from JSON by its name.
macro_rules! read_by_name {
    ($($name:ident),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

named_enum! {
    /// Where a job runs.
    #[derive(Default)]
    JobTarget {
        /// In the conversation that scheduled it.
        Main = "main",
        /// In a conversation of its own for each run.
        #[default]
        Isolated = "isolated",
    }
}

named_enum! {
    /// What becomes of the result of a run.
    #[derive(Default)]
    DeliveryMode {
        /// It stays in the list of runs.
        None = "none",
        /// It is announced to the user.
        #[default]
        Announce = "announce",
        /// It is sent to a URL.
        Webhook = "webhook",
    }
}

named_enum! {
    /// What becomes of runs that were due while no server ran.
    #[derive(Default)]
    MissedRuns {
        /// None of them runs; the list of runs says so.
        Skip = "skip",
        /// One run stands for all.
        #[default]
        Once = "once",
        /// Each of the newest runs, up to a bound.
        All = "all",
    }
}

named_enum! {
    /// What becomes of a run that is due while the one before has not ended.
    #[derive(Default)]
    OverlapRule {
        /// It is skipped; the list of runs says so.
        #[default]
        Skip = "skip",
        /// It waits; one at most.
        Wait = "wait",
        /// It runs beside the other.
        Parallel = "parallel",
    }
}

named_enum! {
    /// The state of a run.
    RunState {
        /// It waits for the run before it.
        Waiting = "waiting",
        /// It works.
        Running = "running",
        /// It ended well.
        Ok = "ok",
        /// It ended with an error, which it names.
        Failed = "failed",
        /// It did not run; its error says why.
        Skipped = "skipped",
    }
}

impl RunState {
    /// Whether it has ended.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

named_enum! {
    /// What became of the delivery of a run.
    DeliveryState {
        /// None was wanted.
        NotRequested = "not_requested",
        /// It is still to be delivered.
        Pending = "pending",
        /// It is being delivered.
        Sending = "sending",
        /// The recipient has it.
        Delivered = "delivered",
        /// The recipient does not have it.
        NotDelivered = "not_delivered",
        /// It may or may not have arrived; it is not sent again.
        Unknown = "unknown",
    }
}

named_enum! {
    /// Why a run began.
    RunTrigger {
        /// Its time had come.
        Schedule = "schedule",
        /// The user or a model asked for it.
        Manual = "manual",
        /// The run before failed.
        Retry = "retry",
    }
}

read_by_name!(JobTarget, DeliveryMode, MissedRuns, OverlapRule, RunState, DeliveryState, RunTrigger);

/// When a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobSchedule {
    /// Once.
    At {
        /// The moment.
        at: SystemTime,
        /// The IANA name of the time zone in which it is shown.
        zone: String,
    },
    /// Again and again after the same time.
    Every {
        /// The time between two runs.
        every: Duration,
        /// The moment from which it counts.
        anchor: SystemTime,
        /// The IANA name of the time zone in which it is shown.
        zone: String,
    },
    /// By a cron expression.
    Cron {
        /// The expression.
        expression: String,
        /// The IANA name of its time zone.
        zone: String,
    },
}

impl JobSchedule {
    /// The time zone in which its runs are shown.
    pub fn zone(&self) -> &str {
        match self {
            Self::At { zone, .. } | Self::Every { zone, .. } | Self::Cron { zone, .. } => zone,
        }
    }
}

/// A schedule as it was written, before it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScheduleText {
    /// A moment.
    pub at: Option<String>,
    /// A time between two runs.
    pub every: Option<String>,
    /// When `every` begins to count.
    pub anchor: Option<String>,
    /// A cron expression.
    pub cron: Option<String>,
    /// The time zone; that of the user, if absent.
    pub zone: Option<String>,
}

impl ScheduleText {
    /// Whether nothing of it says when.
    pub fn is_empty(&self) -> bool {
        self.at.is_none() && self.every.is_none() && self.cron.is_none()
    }
}

/// Who gets the result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JobDelivery {
    /// How.
    pub mode: DeliveryMode,
    /// The channel of an announcement; the conversation that scheduled the job, if absent.
    pub channel: Option<String>,
    /// The recipient on the channel, or the URL of a webhook.
    pub to: Option<String>,
}

/// What the user or a model says of a job; `None` leaves it as it is, or at its default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobDraft {
    /// Its name.
    pub name: Option<String>,
    /// When it runs.
    pub schedule: ScheduleText,
    /// What is to be done.
    pub task: Option<String>,
    /// Where it runs.
    pub target: Option<JobTarget>,
    /// The session of a job that runs in one; that of the call, if absent.
    pub session: Option<String>,
    /// The configured agent that runs it.
    pub agent: Option<String>,
    /// Its model, as `provider/model`.
    pub model: Option<String>,
    /// How long a run may take.
    pub timeout: Option<Duration>,
    /// How its result is delivered.
    pub delivery: Option<DeliveryMode>,
    /// See [`JobDelivery::channel`].
    pub channel: Option<String>,
    /// See [`JobDelivery::to`].
    pub to: Option<String>,
    /// What becomes of missed runs.
    pub missed: Option<MissedRuns>,
    /// What becomes of a run while another works.
    pub overlap: Option<OverlapRule>,
    /// Whether it is on.
    pub enabled: Option<bool>,
    /// Whether it is removed after it ran well.
    pub delete_after_run: Option<bool>,
}

/// A scheduled job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledJob {
    /// Its id.
    pub id: String,
    /// Its name for people and models; not unique.
    pub name: String,
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// When it runs.
    pub schedule: JobSchedule,
    /// What is to be done.
    pub task: String,
    /// Where it runs.
    pub target: JobTarget,
    /// The conversation that scheduled it, which also gets announcements.
    pub session: Option<String>,
    /// The configured agent that runs it.
    pub agent: Option<String>,
    /// Its model, as `provider/model`.
    pub model: Option<String>,
    /// How long a run may take.
    pub timeout: Duration,
    /// Who gets its results.
    pub delivery: JobDelivery,
    /// What becomes of missed runs.
    pub missed: MissedRuns,
    /// What becomes of a run while another works.
    pub overlap: OverlapRule,
    /// Whether it is removed after it ran well.
    pub delete_after_run: bool,
    /// Whether it was scheduled after untrusted content, which its runs inherit.
    pub is_tainted: bool,
    /// When it was made.
    pub created: SystemTime,
    /// Whether it is on.
    pub enabled: bool,
    /// Why it was turned off, if the scheduler did it.
    pub disabled_because: Option<String>,
    /// When it is due next; `None` if never.
    pub next_due: Option<SystemTime>,
    /// How many runs have failed since one ended well.
    pub failures: u32,
    /// When the user was last told of a failure.
    pub noticed: Option<SystemTime>,
    /// Changes with each change.
    pub version: u64,
}

/// One run of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    /// Its id.
    pub id: String,
    /// The job.
    pub job: String,
    /// The name that the job had.
    pub name: String,
    /// The folder of the job.
    pub workspace: PathBuf,
    /// The time for which it was due.
    pub due: SystemTime,
    /// Why it began.
    pub trigger: RunTrigger,
    /// Its state.
    pub state: RunState,
    /// When it began.
    pub started: Option<SystemTime>,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// How often a process has worked on it: more than once after a kill.
    pub attempts: u32,
    /// The conversation in which it ran.
    pub session: Option<String>,
    /// Its result, shortened.
    pub answer: Option<String>,
    /// Why it has failed or was skipped.
    pub error: Option<String>,
    /// Whether it saw untrusted content.
    pub is_tainted: bool,
    /// Who gets its result: as the job said when the run began, because the job may be gone when it ends.
    pub route: JobDelivery,
    /// The conversation that scheduled the job.
    pub origin: Option<String>,
    /// What became of its delivery.
    pub delivery: DeliveryState,
    /// Where it was delivered, or why not.
    pub delivery_note: Option<String>,
    /// How often its delivery was tried.
    pub delivery_attempts: u32,
    /// When its delivery is tried next.
    pub delivery_due: Option<SystemTime>,
}

/// Something that the user should know about a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobNotice {
    /// The job.
    pub job: String,
    /// Its name.
    pub name: String,
    /// The run, if it is about one.
    pub run: Option<String>,
    /// When.
    pub at: SystemTime,
    /// What happened, and what to do.
    pub text: String,
}

/// A job with what is derived from it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    /// The job.
    pub job: ScheduledJob,
    /// Its schedule in words.
    pub words: String,
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
    fn update<'a>(&'a self, job: &'a str, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>>;
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

/// Where a result is announced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnnounceTarget {
    /// The channel; the conversation itself, if absent.
    pub channel: Option<String>,
    /// The recipient on the channel.
    pub to: Option<String>,
    /// The conversation that scheduled the job.
    pub session: Option<String>,
}

/// A text that is to be announced, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Tells it from all others; a channel that has idempotency keys uses it as one.
    pub key: String,
    /// What it is about.
    pub title: String,
    /// The text.
    pub text: String,
}

/// What became of an announcement or a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// The recipient has it; where, in words.
    Yes(String),
    /// It was not sent: why, and whether a later try can help.
    No {
        /// Why.
        why: String,
        /// Whether a later try can help.
        retry: bool,
    },
    /// It may or may not have arrived; why that is not known.
    Unknown(String),
}

/// Announces texts to the user: in a conversation, as a notice, or on a channel.
pub trait Announce: Send + Sync {
    /// Announces a text.
    fn announce<'a>(&'a self, target: &'a AnnounceTarget, announcement: &'a Announcement) -> BoxFuture<'a, Delivered>;
}
