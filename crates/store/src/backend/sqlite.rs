//! The history in one SQLite file, `haft.db` in the store's folder.
//!
//! # What is safe when
//!
//! - The database is in WAL mode with `synchronous = FULL`: a committed transaction survives the end of the process and
//!   of the machine, and several processes may use one folder at once.
//! - One thread writes. [`append`](CallLog::append) only queues; the thread takes everything that is queued, at the
//!   latest a few milliseconds after the first record, and commits it as one transaction. A crash loses at most what was
//!   queued in that time, and never half of a group.
//! - [`flush`](CallLog::flush), [`keep`](CallLog::keep) and [`mark_undone`](CallLog::mark_undone) wake the thread at once
//!   and resolve after the commit that contains them, so everything before them is on disk too. Whoever must know that
//!   an intent is on disk before a side effect appends it and flushes, or keeps a pre-image of that call.
//! - A group that cannot be written now (the database is locked, the disk is full) is held and tried again, every second
//!   and at every flush. Until then each `append` and `flush` reports why. A record that cannot be written at all is
//!   given up alone, and the next `append` or `flush` says so.
//! - Memory is bounded: at most 4096 records or 64 MB wait. When that is reached `append` waits up to
//!   [`SqliteOptions::append_patience`] for room, then it refuses the record with [`StoreError::Full`].
//! - Dropping the log writes what is queued and ends the thread. It cannot report a failure: flush first to learn of one.
//! - Reads use a connection of their own and flush first, so they see everything queued before.

mod failure;
mod item;
mod migrate;
mod open;
mod queue;
mod reader;
mod rows;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use haft_contract::BoxFuture;
use rusqlite::Connection;

use self::item::Change;
use self::queue::Queue;
use super::blocking::blocking;
use crate::{CallFilter, CallLog, CallRecord, PreImageRecord, StoreError};

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

/// A database that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The history.
    pub log: SqliteCallLog,
    /// What the person should be told: that a damaged database was set aside and a new one started.
    pub notice: Option<String>,
}

/// A [`CallLog`] in a SQLite file.
pub struct SqliteCallLog {
    path: PathBuf,
    queue: Arc<Queue>,
    reader: Arc<Mutex<Connection>>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteCallLog {
    /// Opens `haft.db` in a folder, creating both, private to this person.
    pub fn open(folder: &Path) -> Result<Opened, StoreError> {
        Self::open_with(folder, &SqliteOptions::default())
    }

    /// Opens it with other options.
    pub fn open_with(folder: &Path, options: &SqliteOptions) -> Result<Opened, StoreError> {
        let open::Connections { writer, reader, path, notice } = open::open(folder, options.busy_timeout)?;
        let queue = Arc::new(Queue::new(path.clone(), options.append_patience));
        let for_writer = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("haft-store".into());
        let writer = thread.spawn(move || writer::run(writer, for_writer)).map_err(|error| StoreError::io(&path, error))?;
        let log = Self { path, queue, reader: Arc::new(Mutex::new(reader)), writer: Some(writer) };
        Ok(Opened { log, notice })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn written(&self, change: Change) -> Result<(), StoreError> {
        let Some(outcome) = self.queue.request(change)? else { return Ok(()) };
        outcome.await.unwrap_or_else(|_| Err(StoreError::Closed("its writer ended before this was written".into())))
    }

    /// Asks the reader, after everything queued before is written.
    async fn ask<T, Q>(&self, question: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.written(Change::Nothing).await?;
        let reader = Arc::clone(&self.reader);
        let answer = blocking(move || question(&reader.lock().unwrap_or_else(PoisonError::into_inner))).await;
        answer
            .map_err(|error| match error {
                StoreError::Database(source) => StoreError::database(&self.path, source),
                other => other,
            })
            .inspect_err(|error| {
                if matches!(error, StoreError::Damaged { .. }) {
                    open::suspect(&self.path);
                }
            })
    }
}

impl fmt::Debug for SqliteCallLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteCallLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for SqliteCallLog {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // It ends with an error only if it panicked, and then whoever waited was told.
            writer.join().ok();
        }
    }
}

impl CallLog for SqliteCallLog {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        self.queue.append(record)
    }

    fn append_with(&self, make: Box<dyn FnOnce() -> CallRecord + Send>) -> Result<(), StoreError> {
        self.queue.append_with(make)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.written(Change::Nothing))
    }

    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.written(Change::Image(image)))
    }

    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.written(Change::Withdrawn { record: record.into(), path: path.into(), after: after.map(Into::into) }))
    }

    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        Box::pin(self.ask(move |connection| Ok(reader::list(connection, &filter)?)))
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

    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.written(Change::Undone(record.to_owned())))
    }
}
