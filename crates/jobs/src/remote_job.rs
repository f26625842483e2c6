//! Jobs that another process runs or ran.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use haft_contract::{
    BoxFuture, Job, JobEnd, JobStatus, SpillFile, ToolError,
    ports::{JobRecord, JobRegistry, JobScope},
};
use haft_text::base64;

use crate::ipc::{JobReply, JobRequest, JobSnapshot, send_request};
use crate::orphans;
use crate::output::OutputBuffer;

/// How much is read of the beginning and of the end of a spill.
const SPILL_EXCERPT: u64 = 64 * 1024;

/// Opens a job by its record: through its supervisor while that lives, else as an orphan, else as it ended.
pub(crate) async fn open(record: JobRecord, registry: &Arc<dyn JobRegistry>) -> Arc<dyn Job> {
    if let Some(end) = record.end.clone() {
        return Arc::new(RemoteJob::ended(record, end).await);
    }
    let job = RemoteJob::new(record, JobSource::Supervisor(Arc::clone(registry)));
    if job.fetch(false).await {
        return Arc::new(job);
    }
    let record = job.record;
    if let Some(pidfd) = orphans::open_orphan(&record) {
        return Arc::new(RemoteJob::new(record, JobSource::Orphan(pidfd)));
    }
    // If its real end was stored since the list was read, that one stays.
    drop(registry.end(record.number, lost_job_end(), 0).await);
    let end = stored_end(&record, &**registry).await.unwrap_or_else(lost_job_end);
    Arc::new(RemoteJob::ended(record, end).await)
}

/// The end of a job in the registry.
async fn stored_end(record: &JobRecord, registry: &dyn JobRegistry) -> Option<JobEnd> {
    let records = registry.list(JobScope::Session(record.session.clone())).await.ok()?;
    records.into_iter().find(|other| other.number == record.number)?.end
}

/// Where the state of a job comes from.
enum JobSource {
    /// The process that runs it; when that has ended, the registry.
    Supervisor(Arc<dyn JobRegistry>),
    /// The kernel: its supervisor has ended, and it still runs.
    Orphan(OwnedFd),
    /// It has ended.
    Record,
}

struct RemoteJob {
    record: JobRecord,
    source: JobSource,
    state: Mutex<RemoteState>,
}

#[derive(Default)]
struct RemoteState {
    output: OutputBuffer,
    end: Option<JobEnd>,
    has_terminal: bool,
}

impl RemoteJob {
    fn new(record: JobRecord, source: JobSource) -> Self {
        Self { record, source, state: Mutex::default() }
    }

    async fn ended(record: JobRecord, end: JobEnd) -> Self {
        let job = Self::new(record, JobSource::Record);
        job.set_end(end).await;
        job
    }

    fn state(&self) -> MutexGuard<'_, RemoteState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches its state from its supervisor; `false` if that does not answer.
    async fn fetch(&self, wait: bool) -> bool {
        let request = JobRequest::Snapshot { job: self.record.number, seen: self.state().output.total(), wait };
        let Ok(JobReply::Snapshot(snapshot)) = send_request(&self.record.socket, &request).await else { return false };
        self.apply(snapshot);
        true
    }

    fn apply(&self, snapshot: JobSnapshot) {
        let mut state = self.state();
        for (from, bytes) in snapshot.chunks() {
            state.output.push_at(from, &bytes);
        }
        let spill = snapshot.spill.map(|(path, bytes)| SpillFile { path, bytes });
        state.end = snapshot.end.map(|end| JobEnd { spill, ..end });
        state.has_terminal = snapshot.has_terminal;
    }

    /// Sets its end, with an excerpt of its output from the spill.
    async fn set_end(&self, end: JobEnd) {
        let spill = end.spill.clone();
        let excerpt = tokio::task::spawn_blocking(move || spill.and_then(|spill| read_excerpt(&spill).ok())).await;
        let mut state = self.state();
        for (from, bytes) in excerpt.ok().flatten().into_iter().flatten() {
            state.output.push_at(from, &bytes);
        }
        state.end.get_or_insert(end);
    }

    /// Resolves when its state has changed.
    async fn update(&self) {
        match &self.source {
            JobSource::Supervisor(registry) => {
                if !self.fetch(true).await {
                    // It may have ended, and its supervisor too, before that could answer.
                    let end = stored_end(&self.record, &**registry).await;
                    self.set_end(end.unwrap_or_else(lost_job_end)).await;
                }
            }
            JobSource::Orphan(pidfd) => {
                orphans::wait_for_orphan(pidfd).await;
                self.set_end(lost_job_end()).await;
            }
            JobSource::Record => self.set_end(lost_job_end()).await,
        }
    }

    fn end(&self) -> Option<JobEnd> {
        self.state().end.clone()
    }

    fn takes_no_input(&self) -> ToolError {
        ToolError::execution(format!("Job {} takes no input: the haft that ran it has ended. 'kill' ends it.", self.record.number))
    }
}

impl Job for RemoteJob {
    fn status(&self) -> JobStatus {
        let (record, state) = (&self.record, self.state());
        JobStatus {
            id: String::new(),
            session: record.session.clone(),
            command: record.command.clone(),
            directory: record.directory.clone(),
            host: record.host,
            sandbox: record.sandbox.clone(),
            pid: record.pid,
            started: record.started,
            end: state.end.clone(),
            bytes: state.output.total(),
            kept_from: state.output.kept_from(),
        }
    }

    fn wait_for_output(&self, seen: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while self.end().is_none() && self.state().output.total() <= seen {
                self.update().await;
            }
        })
    }

    fn wait(&self) -> BoxFuture<'_, JobEnd> {
        Box::pin(async move {
            loop {
                if let Some(end) = self.end() {
                    return end;
                }
                self.update().await;
            }
        })
    }

    /// Another process asks its questions.
    fn elapse(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn head(&self) -> Vec<u8> {
        self.state().output.head()
    }

    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.state().output.from(from, most)
    }

    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            if !matches!(self.source, JobSource::Supervisor(_)) {
                return Err(self.takes_no_input());
            }
            let request = JobRequest::Write { job: self.record.number, input: base64::encode(input), end };
            match send_request(&self.record.socket, &request).await {
                Ok(JobReply::Failed(why)) => Err(ToolError::execution(why)),
                Ok(_) => Ok(()),
                Err(_) => Err(self.takes_no_input()),
            }
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match &self.source {
                JobSource::Supervisor(_) => {
                    // A supervisor that does not answer has ended, and the job with it: waiting shows that.
                    drop(send_request(&self.record.socket, &JobRequest::Kill { job: self.record.number }).await);
                    self.wait().await;
                }
                JobSource::Orphan(pidfd) => {
                    orphans::kill_orphan(self.record.pid, pidfd).await;
                    self.state().end.get_or_insert_with(|| JobEnd { killed: true, lost: false, ..lost_job_end() });
                }
                JobSource::Record => {}
            }
        })
    }

    fn has_terminal(&self) -> bool {
        self.state().has_terminal
    }
}

/// The beginning and the end of a spill, with their positions.
fn read_excerpt(spill: &SpillFile) -> std::io::Result<[(u64, Vec<u8>); 2]> {
    let mut file = File::open(&spill.path)?;
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    file.by_ref().take(SPILL_EXCERPT).read_to_end(&mut head)?;
    let from = file.metadata()?.len().saturating_sub(SPILL_EXCERPT).max(head.len() as u64);
    file.seek(SeekFrom::Start(from))?;
    file.take(SPILL_EXCERPT).read_to_end(&mut tail)?;
    Ok([(0, head), (from, tail)])
}

/// An end with an unknown exit status.
fn lost_job_end() -> JobEnd {
    JobEnd { lost: true, ..JobEnd::unknown(SystemTime::now()) }
}
