//! Jobs as they are remembered beyond the process that runs them.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::{BoxFuture, ExecHost, JobEnd, ToolError};

/// A job that went on after its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Given by the registry, and never given again; 0 before that.
    pub number: u64,
    /// The session that it belongs to.
    pub session: String,
    /// The folder that the session works in.
    pub workspace: PathBuf,
    /// The line that it runs.
    pub line: String,
    /// Where it runs.
    pub directory: PathBuf,
    /// On which machine, behind which walls.
    pub host: ExecHost,
    /// Behind which walls, in words.
    pub walls: String,
    /// The process that was started.
    pub pid: Option<u32>,
    /// When that process began, as the system counts: tells it from a later one of the same number.
    pub born: Option<u64>,
    /// When it was started.
    pub started: SystemTime,
    /// The socket of the process that runs it, and answers for it while it lives.
    pub keeper: PathBuf,
    /// How it ended; absent while it runs, or if nobody saw its end.
    pub end: Option<JobEnd>,
    /// Bytes of output, once it has ended.
    pub bytes: u64,
}

/// Whose jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobScope {
    /// Of one session.
    Session(String),
    /// Of every session that works in this folder.
    Workspace(PathBuf),
}

/// Remembers jobs, for whoever comes after the process that runs them.
pub trait JobRegistry: Send + Sync {
    /// Remembers a job, and gives it its number.
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>>;
    /// Remembers how a job ended, and how much it wrote; of several ends the first one counts.
    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>>;
    /// The jobs that are remembered, oldest first.
    fn list(&self, scope: JobScope) -> BoxFuture<'_, Result<Vec<JobRecord>, ToolError>>;
    /// Forgets a job.
    fn forget(&self, number: u64) -> BoxFuture<'_, Result<(), ToolError>>;
}
