//! A scheduled job: what it does, where, and who gets its results.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::{JobSchedule, ScheduleText, read_by_name};
use crate::settings::named_enum;

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

read_by_name!(JobTarget, DeliveryMode, MissedRuns, OverlapRule);
