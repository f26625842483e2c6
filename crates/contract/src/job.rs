//! Jobs: commands that run, or have run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::ports::{EgressGate, Journal};
use crate::{AppliedChanges, BoxFuture, ChangeSet, DirectChanges, ExecHost, RunEffects, SpillFile, SpillWriter, ToolError};

/// How a planned command is started.
#[derive(Default)]
pub struct JobOptions {
    /// The session that the job belongs to: no other sees it.
    pub session: String,
    /// When it is ended; never by default.
    pub timeout: Option<Duration>,
    /// Columns and rows of its terminal; without, it gets pipes.
    pub terminal: Option<(u16, u16)>,
    /// Whether its input stays open for [`Job::write`].
    pub input: bool,
    /// Receives all of its output.
    pub spill: Option<Box<dyn SpillWriter>>,
    /// Receives its standard error, which is not part of its output then. A job with a terminal has no such stream.
    pub error_output: Option<Box<dyn SpillWriter>>,
    /// Decides on connections that the plan does not name; without it, they are refused.
    pub egress: Option<Arc<dyn EgressGate>>,
    /// Whether it is meant to continue after its call: then repositories are read-only for it.
    pub background: bool,
    /// Whether later calls give it work: then each of them records its own changes.
    pub serves_calls: bool,
    /// Receives the pre-images of the files that it changes directly. Set by the capability.
    pub journal: Option<Arc<dyn Journal>>,
}

crate::opaque_debug!(JobOptions: session = session, timeout = timeout);

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct JobEnd {
    /// Its exit code; absent if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether its timeout ended it.
    pub timed_out: bool,
    /// Whether a kill request ended it.
    pub killed: bool,
    /// Whether its exit status is unknown because the process that ran it ended first.
    #[serde(default)]
    pub lost: bool,
    /// When.
    pub at: SystemTime,
    /// Why its sandbox could not be set up; then the command did not run.
    pub not_run: Option<String>,
    /// Resources used by it and all children it waited for, where the machine counts them.
    pub usage: Option<JobUsage>,
    /// Whether the spill holds only the beginning of the output.
    #[serde(default)]
    pub cut: bool,
    /// All of its output, if there was any and it could be stored.
    #[serde(skip)]
    pub spill: Option<SpillFile>,
}

/// Resources used by a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobUsage {
    /// Peak memory of one of its processes, in bytes, where it is known.
    pub max_memory: Option<u64>,
    /// Processor time in its own code.
    pub user: Duration,
    /// Processor time in the kernel on its behalf.
    pub system: Duration,
}

impl JobEnd {
    /// An end of which only the time is known.
    pub const fn unknown(at: SystemTime) -> Self {
        Self {
            code: None,
            signal: None,
            timed_out: false,
            killed: false,
            lost: false,
            at,
            not_run: None,
            usage: None,
            cut: false,
            spill: None,
        }
    }
}

impl JobEnd {
    /// Whether its staged changes are applied: not if it was interrupted, or a program of it did not run.
    pub fn has_completed(&self) -> bool {
        self.not_run.is_none() && !self.timed_out && !self.killed && !self.lost && !matches!(self.code, Some(126 | 127))
    }
}

impl std::fmt::Display for JobEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            _ if self.not_run.is_some() => f.write_str("it was not run"),
            _ if self.timed_out => f.write_str("its time was up"),
            _ if self.killed => f.write_str("it was killed"),
            _ if self.lost => f.write_str("exit status unknown"),
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("without an exit code"),
        }
    }
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStatus {
    /// Its name.
    pub id: String,
    /// The session that it belongs to.
    pub session: String,
    /// The command that it runs.
    pub command: String,
    /// Its working directory.
    pub directory: PathBuf,
    /// Where it runs.
    pub host: ExecHost,
    /// The sandbox backend.
    pub sandbox: String,
    /// The process that was started.
    pub pid: Option<u32>,
    /// When.
    pub started: SystemTime,
    /// How it ended; absent while it runs.
    pub end: Option<JobEnd>,
    /// Bytes of output so far.
    pub bytes: u64,
    /// Start of the output that is still in memory, besides the beginning; what lies between is only in the spill.
    pub kept_from: u64,
}

/// Applies the staged changes of a job that ended after its call, by the checks and the writer of a call.
pub trait ChangeApplier: Send + Sync {
    /// Applies a set path by path. What the rules do not let through stays staged.
    fn apply<'a>(&'a self, set: &'a ChangeSet) -> BoxFuture<'a, Result<AppliedChanges, ToolError>>;
}

/// A command that runs, or has run. Both of its output streams are one, in the order in which they were written.
pub trait Job: Send + Sync {
    /// Its state.
    fn status(&self) -> JobStatus;
    /// Resolves when there is more than `seen` bytes of output, or when it has ended.
    fn wait_for_output(&self, seen: u64) -> BoxFuture<'_, ()>;
    /// Resolves when it has ended and all of its output is here.
    fn wait(&self) -> BoxFuture<'_, JobEnd>;
    /// Resolves when so much time has passed for it: the time in which the user is asked about a connection of it does not count.
    fn elapse(&self, time: Duration) -> BoxFuture<'_, ()>;
    /// The first bytes of the output.
    fn head(&self) -> Vec<u8>;
    /// Output from a position, and its actual start: what is no longer in memory is skipped.
    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>);
    /// Writes to its input, and closes the input if `end` is set.
    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Ends it with all its descendants, and waits until they have ended.
    fn kill(&self) -> BoxFuture<'_, ()>;
    /// Stores all of its output, however little, because it continues after its call.
    fn keep_all_output(&self) {}
    /// Records that the session knows of its end.
    fn acknowledge(&self) {}
    /// Whether the session knows of its end.
    fn is_acknowledged(&self) -> bool {
        true
    }
    /// What the run changed; `None` while it runs.
    fn run_effects(&self) -> Option<Arc<RunEffects>> {
        None
    }
    /// Records its direct changes so far, because it continues after its call; `None` if none are recorded. For the capability.
    fn record_changes(&self) -> BoxFuture<'_, Option<DirectChanges>> {
        Box::pin(std::future::ready(None))
    }
    /// Applies its staged changes when it ends, because it continues after its call. For the capability.
    fn apply_at_end(&self, applier: Arc<dyn ChangeApplier>) -> BoxFuture<'_, ()> {
        drop(applier);
        Box::pin(std::future::ready(()))
    }
    /// The directory in which its shell ended, if that was tracked. The command can forge it.
    fn final_cwd(&self) -> Option<PathBuf> {
        None
    }
    /// Whether its input is a terminal, which interprets control keys.
    fn has_terminal(&self) -> bool {
        false
    }
}
