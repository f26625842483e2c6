//! A job as a call may use it: for what its plan names, and no longer than the call lasts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde::ser::SerializeMap;
use tokio_util::sync::CancellationToken;

use crate::capability::{ended, unplanned};
use crate::{BoxFuture, DirectChanges, Exec, ExecHost, Job, JobEnd, JobStatus, RunEffects, ToolError};

/// What a call does with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobAccess {
    /// Reads its state and its output.
    Read,
    /// Gives it input, and reads.
    Write,
    /// Ends or forgets it, and reads.
    End,
}

impl JobAccess {
    const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write to",
            Self::End => "end",
        }
    }
}

/// A job that a plan names, as it was when the call was planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobUse {
    /// Its name.
    pub id: String,
    /// What the call does with it.
    pub access: JobAccess,
    /// The command that it runs.
    pub command: String,
    /// Where it runs.
    pub host: ExecHost,
}

impl Serialize for JobUse {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let effect = match self.access {
            JobAccess::Read => "read_job",
            JobAccess::Write => "write_job",
            JobAccess::End => "end_job",
        };
        map.serialize_entry("effect", effect)?;
        map.serialize_entry("job", &self.id)?;
        map.serialize_entry("command", &self.command)?;
        map.serialize_entry("host", self.host.as_str())?;
        map.end()
    }
}

/// A job within a call. Every operation that the plan does not name, or that comes after the call, reaches nothing: it is an
/// error, or as if the job had ended without output.
#[derive(Clone)]
pub struct JobHandle {
    job: Arc<dyn Job>,
    call: CancellationToken,
    uses: HandleUse,
}

/// What a handle is good for.
#[derive(Clone)]
enum HandleUse {
    /// For everything: the call started it, or resumed what it had planned to start.
    Started(Arc<StartedJob>),
    /// For what a plan names.
    Planned(JobAccess),
}

/// A job that was started through a call.
struct StartedJob {
    program: Exec,
    session: String,
    /// Whether it continues after its call: then only a plan that names it may end it.
    is_kept: AtomicBool,
}

crate::opaque_debug!(JobHandle);

impl JobHandle {
    pub(crate) fn started(job: Arc<dyn Job>, program: Exec, session: String, call: CancellationToken) -> Self {
        let started = StartedJob { program, session, is_kept: AtomicBool::new(false) };
        Self { job, call, uses: HandleUse::Started(Arc::new(started)) }
    }
    pub(crate) fn planned(job: Arc<dyn Job>, access: JobAccess, call: CancellationToken) -> Self {
        Self { job, call, uses: HandleUse::Planned(access) }
    }

    /// The same job for another call, if it was started with this program for this session.
    pub(crate) fn resume(&self, program: &Exec, session: &str, call: CancellationToken) -> Option<Self> {
        match &self.uses {
            HandleUse::Started(started) if started.program == *program && started.session == session => {
                Some(Self { job: Arc::clone(&self.job), call, uses: self.uses.clone() })
            }
            _ => None,
        }
    }

    /// The job itself, to be kept by the host. From now on no handle of its start may end it after the call.
    pub(crate) fn into_kept(self) -> Result<Arc<dyn Job>, ToolError> {
        match &self.uses {
            HandleUse::Started(started) => started.is_kept.store(true, Ordering::Relaxed),
            HandleUse::Planned(_) => return Err(unplanned("keep", &self.job.status().id)),
        }
        Ok(self.job)
    }

    fn check(&self, access: JobAccess) -> Result<(), ToolError> {
        if self.call.is_cancelled() {
            return Err(ended());
        }
        match &self.uses {
            HandleUse::Started(_) => Ok(()),
            HandleUse::Planned(planned) if access == JobAccess::Read || access == *planned => Ok(()),
            HandleUse::Planned(_) => Err(unplanned(access.verb(), &self.job.status().id)),
        }
    }

    fn is_alive(&self) -> bool {
        !self.call.is_cancelled()
    }

    /// A call that is cancelled must still be able to end the job that it started.
    fn may_end(&self) -> bool {
        let is_own = matches!(&self.uses, HandleUse::Started(started) if !started.is_kept.load(Ordering::Relaxed));
        is_own || self.check(JobAccess::End).is_ok()
    }
}

impl Job for JobHandle {
    fn status(&self) -> JobStatus {
        if self.is_alive() { self.job.status() } else { JobStatus { id: self.job.status().id, ..unknown_status() } }
    }

    fn wait_for_output(&self, seen: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Its status shows whether there is any.
            self.call.run_until_cancelled(self.job.wait_for_output(seen)).await.unwrap_or_default();
        })
    }

    fn wait(&self) -> BoxFuture<'_, JobEnd> {
        Box::pin(async move { self.call.run_until_cancelled(self.job.wait()).await.unwrap_or_else(unknown_end) })
    }

    fn elapse(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.job.elapse(time)
    }

    fn head(&self) -> Vec<u8> {
        if self.is_alive() { self.job.head() } else { Vec::new() }
    }

    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        if self.is_alive() { self.job.output(from, most) } else { (from, Vec::new()) }
    }

    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.check(JobAccess::Write)?;
            self.job.write(input, end).await
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        if self.may_end() { self.job.kill() } else { Box::pin(std::future::ready(())) }
    }

    fn acknowledge(&self) {
        if self.is_alive() {
            self.job.acknowledge();
        }
    }

    fn run_effects(&self) -> Option<Arc<RunEffects>> {
        self.job.run_effects().filter(|_| self.is_alive())
    }

    fn record_changes(&self) -> BoxFuture<'_, Option<DirectChanges>> {
        Box::pin(std::future::ready(None))
    }

    fn final_cwd(&self) -> Option<PathBuf> {
        self.job.final_cwd().filter(|_| self.is_alive())
    }

    fn has_terminal(&self) -> bool {
        self.is_alive() && self.job.has_terminal()
    }
}

fn unknown_end() -> JobEnd {
    JobEnd { lost: true, ..JobEnd::unknown(SystemTime::UNIX_EPOCH) }
}

fn unknown_status() -> JobStatus {
    JobStatus {
        id: String::new(),
        session: String::new(),
        command: String::new(),
        directory: PathBuf::new(),
        host: ExecHost::default(),
        sandbox: String::new(),
        pid: None,
        started: SystemTime::UNIX_EPOCH,
        end: Some(unknown_end()),
        bytes: 0,
        kept_from: 0,
    }
}
