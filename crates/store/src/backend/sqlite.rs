//! The history and the sessions in one SQLite file, `haft.db` in the store's folder.
//!
//! # What is safe when
//!
//! - The database is in WAL mode with `synchronous = FULL`: a committed transaction survives the end of the process and
//!   of the machine, and several processes may use one folder at once.
//! - One thread writes. [`append`](CallLog::append) only queues; the thread takes what is queued, at the
//!   latest a few milliseconds after the first record, and commits it as one transaction. A crash loses at most what was
//!   queued in that time, and never half of a group.
//! - [`flush`](CallLog::flush), [`keep`](CallLog::keep) and [`mark_undone`](CallLog::mark_undone) wake the thread at once
//!   and resolve after the commit that contains them, so everything before them is on disk too. A caller that needs
//!   an intent on disk before a side effect appends it and flushes, or keeps a pre-image of that call.
//! - A group that cannot be written now (the database is locked, the disk is full) is held and tried again, every second
//!   and at every flush. Until then each `append` and `flush` reports why. A record that cannot be written at all is
//!   given up alone, and the next `append` or `flush` says so.
//! - Memory is bounded: where the thread keeps up, 1 or 1.5 MB wait and half a MB is being written, because `append` lets it catch up. Where the disk or another process holds it up, at most 4096 records or 64 MB wait. When that is reached `append` waits up
//!   to [`SqliteOptions::append_patience`] for space, then it refuses the record with [`StoreError::Full`].
//! - Dropping the log, its sessions and their claims writes what is queued and ends the thread. That cannot report a
//!   failure: flush first to learn of one.
//! - Reads use a connection of their own and flush first, so they see everything queued before.
//! - Every change of a session has a waiting caller. It joins the group that is written next, with the history,
//!   and resolves after that commit; what fails is not tried again behind its caller's back. So reads of sessions need no
//!   flush, and work when nothing can be written.

mod automation;
mod channels;
mod claims;
mod database;
mod failure;
mod jobs;
mod messages;
mod migrate;
mod open;
mod owners;
mod reader;
mod retention;
mod rows;
mod running;
mod salvage;
mod session_change;
mod session_rows;
mod sessions;
mod sub_agents;
mod taint;
mod todos;
mod usage;
mod writer;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;
use rusqlite::Connection;

pub use self::automation::SqliteAutomation;
pub use self::channels::SqliteChannels;
use self::database::Database;
pub use self::jobs::SqliteJobs;
#[cfg(all(test, feature = "postgres"))]
pub(super) use self::migrate::known_version;
pub(super) use self::retention::BlobFiles;
pub use self::retention::StorePruner;
pub use self::sessions::SqliteSessionStore;
#[cfg(feature = "postgres")]
pub(super) use self::{
    automation::{KEPT_NOTICES, KEPT_RUNS, KEPT_RUNS_OF_ALL},
    channels::{MOST_OUTGOING, SEEN_AGE, outgoing_record},
    jobs::{JOB_RETENTION, MAX_LISTED_JOBS, jobs_not_kept},
    sub_agents::INTERRUPTED,
};
use super::write::StoreChange;
use crate::call_log::first_id;
use crate::error::SqlFault;
use crate::{CallFilter, CallLog, CallRecord, CallRow, PreImageRecord, StoreError};

/// How long to wait for others.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// How long to wait for another process that holds the database.
    pub busy_timeout: Duration,
    /// How long [`CallLog::append`] waits when too much is queued.
    pub append_patience: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5), append_patience: Duration::from_secs(1) }
    }
}

/// An opened database.
#[derive(Debug)]
pub struct OpenedLog {
    /// The history.
    pub log: SqliteCallLog,
    /// A notice to the user: a damaged database was set aside and a new one started.
    pub notice: Option<String>,
}

/// A [`CallLog`] in a SQLite file.
#[derive(Debug)]
pub struct SqliteCallLog {
    database: Arc<Database>,
}

impl SqliteCallLog {
    /// Opens `haft.db` in a folder, creating both, private to this user.
    pub fn open(folder: &Path) -> Result<OpenedLog, StoreError> {
        Self::open_with(folder, &SqliteOptions::default())
    }

    /// Opens it with other options.
    pub fn open_with(folder: &Path, options: &SqliteOptions) -> Result<OpenedLog, StoreError> {
        let (database, notice) = Database::open(folder, options)?;
        Ok(OpenedLog { log: Self { database: Arc::new(database) }, notice })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// The sessions in the same database.
    pub fn sessions(&self) -> SqliteSessionStore {
        SqliteSessionStore::new(Arc::clone(&self.database))
    }

    /// Reads the whole database; says what is damaged, if anything. The next start then recovers what can be read.
    pub async fn find_damage(&self) -> Result<Option<String>, StoreError> {
        let path = self.path().to_owned();
        self.ask(move |connection| Ok(open::find_damage(connection, &path)?)).await
    }

    /// The jobs in the same database.
    pub fn jobs(&self) -> SqliteJobs {
        SqliteJobs::new(Arc::clone(&self.database))
    }

    /// What channels keep, in the same database.
    pub fn channels(&self) -> SqliteChannels {
        SqliteChannels::new(Arc::clone(&self.database))
    }
    /// The scheduled jobs in the same database.
    pub fn automation(&self) -> SqliteAutomation {
        SqliteAutomation::new(Arc::clone(&self.database))
    }

    async fn write(&self, change: StoreChange) -> Result<(), StoreError> {
        self.database.write(change).await.map(drop)
    }

    /// Queries the reader, after everything queued before is written.
    async fn ask<T, Q>(&self, question: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, SqlFault> + Send + 'static,
    {
        self.write(StoreChange::Nothing).await?;
        self.database.read(question).await
    }
}

impl CallLog for SqliteCallLog {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        self.database.queue().append(record)
    }

    fn append_with(&self, texts: usize, make: Box<dyn FnOnce() -> CallRow + Send>) -> Result<(), StoreError> {
        self.database.queue().append_with(texts, make)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(StoreChange::Nothing))
    }

    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(StoreChange::Images(vec![image])))
    }

    fn keep_all(&self, images: Vec<PreImageRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.write(StoreChange::Images(images)))
    }

    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.write(StoreChange::Withdrawn { record: record.into(), path: path.into(), after: after.map(Into::into) }))
    }

    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        Box::pin(async move {
            let wanted = filter.clone();
            match self.ask(move |connection| Ok(reader::list(connection, &wanted)?)).await {
                Err(StoreError::Damaged { .. }) => self.ask(move |connection| Ok(reader::list_readable(connection, &filter)?)).await,
                calls => calls,
            }
        })
    }

    fn count_since(&self, since: SystemTime) -> BoxFuture<'_, Result<u64, StoreError>> {
        let first = first_id(since);
        Box::pin(self.ask(move |connection| Ok(reader::count_since(connection, &first)?)))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.ask(move |connection| reader::get(connection, &id)))
    }

    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        Box::pin(self.ask(|connection| Ok(reader::newest_undoable(connection)?)))
    }

    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        let record = record.to_owned();
        Box::pin(self.ask(move |connection| Ok(reader::pre_images(connection, &record)?)))
    }

    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.ask(move |connection| Ok(reader::session_images(connection, &session)?)))
    }

    fn path_images<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        let path = path.to_owned();
        Box::pin(self.ask(move |connection| Ok(reader::path_images(connection, &path)?)))
    }

    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, StoreError>> {
        Box::pin(self.ask(|connection| Ok(reader::changed_paths(connection)?)))
    }

    fn take_interrupted(&self) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        Box::pin(async {
            if self.database.takes_none_running() {
                return Ok(Vec::new());
            }
            let owners = Arc::clone(self.database.owners());
            let interrupted = self.database.read(move |connection| running::interrupted(connection, &owners)).await?;
            let mut taken = Vec::new();
            for (record, ended) in interrupted {
                if self.database.write(StoreChange::TakeInterrupted { record: record.clone(), ended }).await? == 1 {
                    taken.push(self.get(&record).await?);
                }
            }
            Ok(taken)
        })
    }

    fn settle_interrupted<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.write(StoreChange::SettleInterrupted(record.to_owned())))
    }

    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.write(StoreChange::Undone(record.to_owned())))
    }
}
