//! The jobs that go on after their calls: those of this process, and those of others that were found.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Job, JobEnd, JobRecord, JobRegistry, JobScope, JobStatus, ToolError};
use tokio::sync::{OnceCell, watch};

use super::desk::Desk;
use super::named::Named;
use super::{found, outlived};

/// How many are listed; the oldest that has ended gives way first.
const MOST: usize = 64;

/// The jobs that go on after their calls. Clones are the same list, so that a session whose host is built anew keeps its jobs.
#[derive(Clone, Default)]
pub struct Jobs(Arc<Book>);

#[derive(Default)]
pub(super) struct Book {
    /// Oldest first.
    entries: Mutex<Vec<Arc<Entry>>>,
    records: Option<Records>,
}

/// Where jobs are remembered beyond this process.
struct Records {
    registry: Arc<dyn JobRegistry>,
    workspace: PathBuf,
    /// A private folder for the socket at which others ask for the jobs of this process.
    folder: PathBuf,
    desk: OnceCell<Option<Desk>>,
}

/// A job on the list.
pub(super) struct Entry {
    pub(super) job: Named,
    /// Its number in the registry.
    pub(super) number: Option<u64>,
    /// Whether this process runs it.
    own: bool,
    /// Whether its session knows of its end.
    told: AtomicBool,
    /// Closed when it is remembered how it ended; absent if that is not for this process to do.
    noting: Option<watch::Receiver<()>>,
}

impl Entry {
    pub(super) fn acknowledge(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Resolves when it has ended and that is remembered: whoever waits may end this process.
    pub(super) async fn ended(&self) -> JobEnd {
        let end = self.job.inner.ended().await;
        if let Some(noting) = &self.noting {
            // Nothing is ever sent.
            drop(noting.clone().changed().await);
        }
        end
    }
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Jobs").field(&self.entries().len()).finish()
    }
}

impl Jobs {
    /// A list that is remembered beyond this process, for whoever works in this folder. The other folder must be private: in
    /// it lies the socket at which other processes ask for the jobs of this one.
    pub fn remembered(registry: Arc<dyn JobRegistry>, workspace: &Path, folder: &Path) -> Self {
        let records = Records { registry, workspace: workspace.to_owned(), folder: folder.to_owned(), desk: OnceCell::new() };
        Self(Arc::new(Book { entries: Mutex::default(), records: Some(records) }))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a job, under the name that it has from now on.
    pub(super) async fn keep(&self, job: Arc<dyn Job>) -> Arc<dyn Job> {
        job.outlive();
        let number = self.remember(&*job).await;
        let status = job.status();
        let id = number.map_or(status.id, name);
        let noting = number.zip(self.0.records.as_ref()).map(|(number, records)| {
            let (noted, noting) = watch::channel(());
            tokio::spawn(note(Arc::clone(&job), number, Arc::clone(&records.registry), noted));
            noting
        });
        let job = Named::new(job, id, status.session);
        let entry = Arc::new(Entry { job, number, own: true, told: AtomicBool::new(false), noting });
        self.list(Arc::clone(&entry));
        entry
    }

    fn list(&self, entry: Arc<Entry>) {
        let mut entries = self.entries();
        if entries.len() >= MOST
            && let Some(ended) = entries.iter().position(|entry| entry.job.status().end.is_some())
        {
            entries.remove(ended);
        }
        entries.push(entry);
    }

    /// Its number in the registry, if there is one, and it can be written. A job that cannot be remembered goes on all the same.
    async fn remember(&self, job: &dyn Job) -> Option<u64> {
        let Records { registry, workspace, .. } = self.0.records.as_ref()?;
        let keeper = self.desk().await?;
        let status = job.status();
        let record = JobRecord {
            number: 0,
            session: status.session,
            workspace: workspace.clone(),
            line: status.line,
            directory: status.directory,
            host: status.host,
            walls: status.walls,
            pid: status.pid,
            born: status.pid.and_then(outlived::born),
            started: status.started,
            keeper,
            end: None,
            bytes: 0,
        };
        registry.begin(record).await.ok()
    }

    /// Where others ask for the jobs of this process; nowhere, if no socket can be had.
    async fn desk(&self) -> Option<PathBuf> {
        let Records { folder, desk, .. } = self.0.records.as_ref()?;
        let opened = desk.get_or_init(|| async { Desk::open(folder, Arc::downgrade(&self.0)).ok() }).await;
        opened.as_ref().map(|desk| desk.socket().to_owned())
    }

    /// Whether another one has room: all that are kept still run.
    pub(super) fn is_full(&self) -> bool {
        let entries = self.entries();
        entries.len() >= MOST && entries.iter().all(|entry| entry.job.status().end.is_none())
    }

    pub(super) fn of(&self, session: &str) -> Vec<Arc<dyn Job>> {
        let of_session = |entry: &&Arc<Entry>| entry.job.session() == session;
        self.entries().iter().filter(of_session).map(|entry| Arc::clone(entry) as Arc<dyn Job>).collect()
    }

    /// Ends of which a session does not know yet; from now on it does.
    pub(super) fn notices(&self, session: &str) -> Vec<JobStatus> {
        let entries = self.entries();
        let ended = entries.iter().filter(|entry| entry.job.session() == session && entry.job.status().end.is_some());
        ended.filter(|entry| !entry.told.swap(true, Ordering::Relaxed)).map(|entry| entry.job.status()).collect()
    }

    pub(super) async fn forget(&self, session: &str, id: &str) {
        let mut gone = Vec::new();
        self.entries().retain(|entry| {
            let stays = entry.job.session() != session || entry.job.id() != id;
            gone.extend((!stays).then(|| Arc::clone(entry)));
            stays
        });
        for entry in gone.iter().filter(|entry| entry.own) {
            entry.job.inner.kill().await;
        }
        let numbers = gone.iter().filter_map(|entry| entry.number);
        for (number, records) in numbers.zip(self.0.records.iter().cycle()) {
            // What is remembered although it was to be forgotten is swept later.
            drop(records.registry.forget(number).await);
        }
    }

    /// Lists the jobs of this scope that other processes run or ran, for a session.
    pub(super) async fn adopt(&self, session: &str, scope: JobScope) -> Result<(), ToolError> {
        let Some(Records { registry, .. }) = &self.0.records else { return Ok(()) };
        for record in registry.list(scope).await? {
            let (number, is_new) = (record.number, record.end.is_none());
            if self.entries().iter().any(|entry| entry.number == Some(number)) {
                continue;
            }
            let job = found::job(record, registry).await;
            let job = Named::new(job, name(number), session.to_owned());
            // That it ended unseen is news.
            self.list(Arc::new(Entry { job, number: Some(number), own: false, told: AtomicBool::new(!is_new), noting: None }));
        }
        Ok(())
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        let entries = self.entries.get_mut().unwrap_or_else(PoisonError::into_inner);
        // They end with whoever could follow them. Nobody waits here, and nobody need: they are asked at once.
        entries.iter().filter(|entry| entry.own).for_each(|entry| drop(entry.job.inner.kill()));
    }
}

impl Book {
    /// A job of this process by its number.
    pub(super) fn own(&self, number: u64) -> Option<Arc<dyn Job>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| entry.own && entry.number == Some(number)).map(|entry| Arc::clone(&entry.job.inner))
    }
}

fn name(number: u64) -> String {
    format!("job-{number}")
}

/// Remembers how a job ended. That it cannot be written shows later: then nobody saw its end.
async fn note(job: Arc<dyn Job>, number: u64, registry: Arc<dyn JobRegistry>, noted: watch::Sender<()>) {
    let end = job.ended().await;
    drop(registry.end(number, end, job.status().bytes).await);
    drop(noted);
}
