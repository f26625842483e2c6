//! Port for programs and jobs.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{JobScope, Journal};
use crate::{BoxFuture, ChangeSets, CommandRequest, DirectChanges, ErrorKind, Exec, Job, JobOptions, JobStatus, ShellCommand, ToolError};

/// A program to run, and how.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// What runs, exactly as planned.
    pub exec: Exec,
    /// Values of the environment variables that the plan names.
    pub environment: Vec<(String, String)>,
    /// Its standard input; nothing by default.
    pub input: Option<Vec<u8>>,
    /// How many bytes of each stream are kept.
    pub output_limit: usize,
    /// How long it may run.
    pub timeout: Duration,
}

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// Its exit code, or `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Whether anything was cut.
    pub truncated: bool,
    /// Whether its time was up.
    pub timed_out: bool,
}

/// Limits of a helper process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HelperLimits {
    /// Bytes of memory.
    pub memory: u64,
    /// How long it may run.
    pub time: Duration,
    /// How many bytes of each stream are kept.
    pub output: usize,
}

/// The result of a helper process, and the sandbox it ran in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperOutput {
    /// How it ended.
    pub output: ProcessOutput,
    /// The sandbox backend; `none` where the user turned the sandbox off.
    pub sandbox: String,
    /// What this backend does not enforce, and why no better one was used; empty where it enforces everything.
    pub gaps: Vec<String>,
}

/// Records what changes since a checkpoint.
pub trait ChangeRecorder: Send {
    /// Records the changes, and describes them.
    fn finish(self: Box<Self>) -> BoxFuture<'static, DirectChanges>;
}

/// Runs programs. None outlives its call, except a job that is kept.
pub trait ProcessRunner: Send + Sync {
    /// Runs one to its end, its timeout, or the cancellation.
    fn run(&self, command: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, Result<ProcessOutput, ToolError>>;
    /// Runs a helper process: this program, started again to parse data that may be hostile. It has no access to the session's
    /// files and no network, so it needs no plan. A required sandbox that is not available is an error, as for a command.
    fn run_helper(
        &self,
        name: &'static str,
        input: Vec<u8>,
        limits: HelperLimits,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<HelperOutput, ToolError>> {
        let _ = (name, input, limits, cancel);
        Box::pin(std::future::ready(Err(ToolError::new(ErrorKind::SandboxUnavailable, "This host starts no helpers."))))
    }
    /// Plans a command: the programs it runs, the files it writes, the hosts it reaches. What cannot be analysed is
    /// [`Effect::Unknown`](crate::Effect::Unknown), in a sandbox [`Effect::Contained`](crate::Effect::Contained). What no shell can
    /// read is an error, and outside a sandbox a command beyond the limits of the analysis.
    fn plan(&self, request: &CommandRequest) -> Result<ShellCommand, ToolError> {
        let _ = request;
        Err(no_shell())
    }
    /// Starts a planned command. Dropping the last handle of a job that was not kept ends it.
    fn start<'a>(&'a self, command: &'a ShellCommand, options: JobOptions) -> BoxFuture<'a, Result<Arc<dyn Job>, ToolError>> {
        let _ = (command, options);
        Box::pin(std::future::ready(Err(no_shell())))
    }
    /// Takes a checkpoint of the files that a planned command can change directly, and records the changes in this journal when it
    /// is finished or dropped; `None` if this host takes none.
    fn checkpoint<'a>(&'a self, command: &'a ShellCommand, journal: Arc<dyn Journal>) -> BoxFuture<'a, Option<Box<dyn ChangeRecorder>>> {
        let _ = (command, journal);
        Box::pin(std::future::ready(None))
    }
    /// Staged changes, if this host supports them.
    fn change_sets(&self) -> Option<&dyn ChangeSets> {
        None
    }
    /// Lets a job continue after its call, under the name that the result has. It is listed until it is forgotten.
    fn keep(&self, job: Arc<dyn Job>) -> BoxFuture<'_, Arc<dyn Job>> {
        Box::pin(std::future::ready(job))
    }
    /// Lists the jobs of this scope that other processes run, or ran, with those of a session.
    fn adopt<'a>(&'a self, session: &'a str, scope: JobScope) -> BoxFuture<'a, Result<(), ToolError>> {
        let _ = (session, scope);
        Box::pin(std::future::ready(Ok(())))
    }
    /// The kept jobs of a session that have ended and were not returned or acknowledged before.
    fn end_notices(&self, session: &str) -> Vec<JobStatus> {
        let _ = session;
        Vec::new()
    }
    /// Whether a call waits for the exit of its command by default, because no later call can follow it.
    fn waits_for_exit(&self) -> bool {
        false
    }
    /// The kept jobs of a session, oldest first.
    fn jobs(&self, session: &str) -> Vec<Arc<dyn Job>> {
        let _ = session;
        Vec::new()
    }
    /// Removes what was kept for the commands of a session that ends with this process: its temporary files and its network. Blocks.
    fn end_session(&self, session: &str) {
        let _ = session;
    }
    /// Removes a kept job; one that still runs is ended.
    fn forget<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        let _ = (session, id);
        Box::pin(std::future::ready(()))
    }
}

fn no_shell() -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, "This host runs no commands.")
}
