//! A run of a job, and what became of it.

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{JobDelivery, read_by_name};
use crate::settings::named_enum;

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

read_by_name!(RunState, DeliveryState, RunTrigger);
