//! Port for the registry of background jobs, which outlives the process that runs them.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::{BoxFuture, ExecHost, JobEnd, ToolError};

/// A job that continues after its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Assigned by the registry, and never reused; 0 before that.
    pub number: u64,
    /// The session that it belongs to.
    pub session: String,
    /// The folder that the session works in.
    pub workspace: PathBuf,
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
    /// Kernel start time of that process: tells it from a later one with the same pid.
    pub start_time: Option<u64>,
    /// When it was started.
    pub started: SystemTime,
    /// The socket of its supervisor, the process that runs it.
    pub socket: PathBuf,
    /// How it ended; absent while it runs, or if its end was not observed.
    pub end: Option<JobEnd>,
    /// Bytes of output, once it has ended.
    pub bytes: u64,
}

/// Which jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobScope {
    /// Of one session.
    Session(String),
    /// Of every session that works in this folder.
    Workspace(PathBuf),
}

/// Stores background jobs for other processes, and for later ones.
pub trait JobRegistry: Send + Sync {
    /// Adds a job, and returns its number.
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>>;
    /// Stores how a job ended, and how much it wrote; only the first end of a job counts.
    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>>;
    /// The jobs of a scope, oldest first.
    fn list(&self, scope: JobScope) -> BoxFuture<'_, Result<Vec<JobRecord>, ToolError>>;
    /// Removes a job.
    fn forget(&self, number: u64) -> BoxFuture<'_, Result<(), ToolError>>;
}
