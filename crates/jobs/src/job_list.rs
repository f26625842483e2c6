//! Background jobs: those of this process, and those of others that were adopted.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::{
    BoxFuture, Job, JobEnd, JobStatus, RunEffects, ToolError,
    ports::{JobRecord, JobRegistry, JobScope},
};
use tokio::sync::{OnceCell, watch};

use crate::changes::ChangeStore;
use crate::ipc::JobServer;
use crate::{orphans, remote_job};

/// Above this, the oldest job that has ended is dropped from the list.
const MAX_JOBS: usize = 64;

/// The list of background jobs. Clones share it, so that a session whose host is rebuilt keeps its jobs.
#[derive(Clone, Default)]
pub struct Jobs(Arc<JobTable>);

#[derive(Default)]
pub(crate) struct JobTable {
    /// Oldest first.
    jobs: Mutex<Vec<Arc<ListedJob>>>,
    records: Option<JobRecords>,
}

/// The registry of jobs across processes.
struct JobRecords {
    registry: Arc<dyn JobRegistry>,
    workspace: PathBuf,
    /// A private folder for the socket of the job server.
    folder: PathBuf,
    server: OnceCell<Option<JobServer>>,
}

/// A job under the name by which its session knows it.
pub(crate) struct ListedJob {
    job: Arc<dyn Job>,
    id: String,
    session: String,
    /// Its number in the registry.
    number: Option<u64>,
    /// Whether this process runs it.
    is_own: bool,
    /// What it had changed, if it was cut off.
    left: Option<Arc<RunEffects>>,
    /// Whether its session knows of its end.
    acknowledged: AtomicBool,
    /// Closed when its end is in the registry; absent if this process does not write it.
    end_stored: Option<watch::Receiver<()>>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Jobs").field(&self.0.jobs().len()).finish()
    }
}

impl Jobs {
    /// A list whose jobs are in a registry, where other processes that work in this folder find them. `folder` must be private:
    /// other processes of the user talk to this one through a socket in it.
    pub fn with_registry(registry: Arc<dyn JobRegistry>, workspace: &Path, folder: &Path) -> Self {
        let records = JobRecords { registry, workspace: workspace.to_owned(), folder: folder.to_owned(), server: OnceCell::new() };
        Self(Arc::new(JobTable { jobs: Mutex::default(), records: Some(records) }))
    }

    /// Lists a job, under the name that it has from now on.
    pub(crate) async fn keep(&self, job: Arc<dyn Job>) -> Arc<dyn Job> {
        job.keep_all_output();
        let number = self.register(&*job).await;
        let JobStatus { id, session, .. } = job.status();
        let end_stored = number.zip(self.0.records.as_ref()).map(|(number, records)| {
            let (stored, end_stored) = watch::channel(());
            tokio::spawn(store_end(Arc::clone(&job), number, Arc::clone(&records.registry), stored));
            end_stored
        });
        let id = number.map_or(id, job_name);
        let listed =
            Arc::new(ListedJob { job, id, session, number, is_own: true, left: None, acknowledged: AtomicBool::new(false), end_stored });
        self.list(Arc::clone(&listed));
        listed
    }

    fn list(&self, job: Arc<ListedJob>) {
        let mut jobs = self.0.jobs();
        if jobs.len() >= MAX_JOBS
            && let Some(ended) = jobs.iter().position(|listed| listed.has_ended())
        {
            jobs.remove(ended);
        }
        jobs.push(job);
    }

    /// Adds a job to the registry. A job that cannot be registered runs all the same.
    async fn register(&self, job: &dyn Job) -> Option<u64> {
        let JobRecords { registry, workspace, .. } = self.0.records.as_ref()?;
        let socket = self.server_socket().await?;
        let status = job.status();
        let record = JobRecord {
            number: 0,
            session: status.session,
            workspace: workspace.clone(),
            command: status.command,
            directory: status.directory,
            host: status.host,
            sandbox: status.sandbox,
            pid: status.pid,
            start_time: status.pid.and_then(orphans::start_time),
            started: status.started,
            socket,
            end: None,
            bytes: 0,
        };
        registry.begin(record).await.ok()
    }

    /// The socket of the job server, which is started for the first job; `None` if it cannot listen.
    async fn server_socket(&self) -> Option<PathBuf> {
        let JobRecords { folder, server, .. } = self.0.records.as_ref()?;
        let server = server.get_or_init(|| async { JobServer::start(folder, Arc::downgrade(&self.0)).ok() }).await;
        server.as_ref().map(|server| server.socket().to_owned())
    }

    /// Whether no further job can be listed: all listed ones still run.
    pub(crate) fn is_full(&self) -> bool {
        let jobs = self.0.jobs();
        jobs.len() >= MAX_JOBS && !jobs.iter().any(|job| job.has_ended())
    }

    pub(crate) fn of_session(&self, session: &str) -> Vec<Arc<dyn Job>> {
        let jobs = self.0.jobs();
        jobs.iter().filter(|job| job.session == session).map(|job| Arc::clone(job) as Arc<dyn Job>).collect()
    }

    /// The ended jobs of a session that it does not know of yet; from now on it does.
    pub(crate) fn end_notices(&self, session: &str) -> Vec<JobStatus> {
        let jobs = self.0.jobs();
        let ended = jobs.iter().filter(|job| job.session == session && job.has_ended());
        ended.filter(|job| !job.acknowledged.swap(true, Ordering::Relaxed)).map(|job| job.status()).collect()
    }

    pub(crate) async fn forget(&self, session: &str, id: &str) {
        let removed: Vec<Arc<ListedJob>> = self.0.jobs().extract_if(.., |job| job.session == session && job.id == id).collect();
        for job in removed.iter().filter(|job| job.is_own) {
            job.kill().await;
        }
        let numbers = removed.iter().filter_map(|job| job.number);
        for (number, records) in numbers.zip(self.0.records.iter().cycle()) {
            // A record that cannot be removed expires.
            drop(records.registry.forget(number).await);
        }
    }

    /// Lists the jobs of this scope that other processes run or ran, for a session.
    pub(crate) async fn adopt(&self, session: &str, scope: JobScope, changes: &ChangeStore) -> Result<(), ToolError> {
        let Some(JobRecords { registry, .. }) = &self.0.records else { return Ok(()) };
        for record in registry.list(scope).await? {
            let (number, was_running) = (record.number, record.end.is_none());
            if self.0.jobs().iter().any(|job| job.number == Some(number)) {
                continue;
            }
            let (owner, command) = (record.session.clone(), record.command.clone());
            let job = remote_job::open(record, registry).await;
            let is_lost = job.status().end.is_some_and(|end| end.lost);
            let set = is_lost.then(|| changes.of_command(&owner, &command)).flatten();
            let left = set.map(|set| Arc::new(RunEffects { changes: Some(Ok(set)), ..RunEffects::default() }));
            let (id, session) = (job_name(number), session.to_owned());
            let acknowledged = AtomicBool::new(!was_running);
            let listed = ListedJob { job, id, session, number: Some(number), is_own: false, left, acknowledged, end_stored: None };
            self.list(Arc::new(listed));
        }
        Ok(())
    }
}

impl JobTable {
    fn jobs(&self) -> MutexGuard<'_, Vec<Arc<ListedJob>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job of this process by its number.
    pub(crate) fn own_job(&self, number: u64) -> Option<Arc<dyn Job>> {
        self.jobs().iter().find(|job| job.is_own && job.number == Some(number)).map(|job| Arc::clone(&job.job))
    }
}

impl Drop for JobTable {
    fn drop(&mut self) {
        let jobs = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner);
        // No one can follow them any more. `kill` requests the end at once; nothing waits for it here.
        jobs.iter().filter(|job| job.is_own).for_each(|job| drop(job.kill()));
    }
}

impl ListedJob {
    fn has_ended(&self) -> bool {
        self.job.status().end.is_some()
    }
}

impl Job for ListedJob {
    fn is_acknowledged(&self) -> bool {
        self.acknowledged.load(Ordering::Relaxed)
    }
    fn status(&self) -> JobStatus {
        JobStatus { id: self.id.clone(), session: self.session.clone(), ..self.job.status() }
    }
    fn wait_for_output(&self, seen: u64) -> BoxFuture<'_, ()> {
        self.job.wait_for_output(seen)
    }
    /// Resolves when its end is in the registry too: the caller may exit then.
    fn wait(&self) -> BoxFuture<'_, JobEnd> {
        Box::pin(async {
            let end = self.job.wait().await;
            if let Some(end_stored) = &self.end_stored {
                // Nothing is ever sent: the channel closes.
                drop(end_stored.clone().changed().await);
            }
            end
        })
    }
    fn elapse(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.job.elapse(time)
    }
    fn head(&self) -> Vec<u8> {
        self.job.head()
    }
    fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.job.output(from, most)
    }
    fn write<'a>(&'a self, input: &'a [u8], end: bool) -> BoxFuture<'a, Result<(), ToolError>> {
        self.job.write(input, end)
    }
    fn kill(&self) -> BoxFuture<'_, ()> {
        self.job.kill()
    }
    fn has_terminal(&self) -> bool {
        self.job.has_terminal()
    }
    fn run_effects(&self) -> Option<Arc<RunEffects>> {
        self.job.run_effects().or_else(|| self.left.clone())
    }
    fn acknowledge(&self) {
        self.acknowledged.store(true, Ordering::Relaxed);
    }
}

fn job_name(number: u64) -> String {
    format!("job-{number}")
}

/// Stores how a job ended. If that fails, its exit status is unknown to others.
async fn store_end(job: Arc<dyn Job>, number: u64, registry: Arc<dyn JobRegistry>, stored: watch::Sender<()>) {
    let end = job.wait().await;
    drop(registry.end(number, end, job.status().bytes).await);
    drop(stored);
}
