//! The history and the sessions on a PostgreSQL server.
//!
//! # What is safe when
//!
//! - One thread of each process writes, in groups, as with SQLite (`sqlite.rs` says the rest): what resolves with `Ok` is committed, and
//!   survives whatever the server's own settings promise (`synchronous_commit`, which a standby may need).
//! - A server that restarts, fails over or has no connection left is waited for, at most [`PostgresOptions::patience`]. Then waiting
//!   callers get an error that says what to do; records of calls are kept and tried again.
//! - A connection that breaks while a group is committed leaves no doubt: the server is asked what became of the transaction.
//! - Rows that several processes change are locked in the order in which they are met, and of two transactions that wait for each
//!   other the server ends one, which is then made again.
//! - A process lives, for others, while the server has its connection (`presence.rs`). A write to a session that another process has
//!   claimed in the meantime is refused: the claim is read in the transaction that writes.

mod automation;
mod calls;
mod carried;
mod channel_rows;
mod channels;
mod claims;
mod copy;
mod database;
mod failure;
mod history;
mod jobs;
mod link;
mod memory;
mod messages;
mod migrate;
mod objects;
mod presence;
mod put_calls;
mod retention;
mod running;
mod server;
mod session_change;
mod session_rows;
mod sessions;
mod sub_agents;
mod tls;
mod todos;
mod usage;
mod work;
mod writer;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::BoxFuture;

pub use self::automation::PostgresAutomation;
pub use self::channels::PostgresChannels;
pub use self::copy::{CopiedKind, StoreCopy};
use self::database::{Database, Question};
pub use self::jobs::PostgresJobs;
pub use self::objects::PostgresObjects;
pub use self::retention::PostgresPruner;
pub use self::sessions::PostgresSessions;
pub use self::work::{DepositedWork, PostgresWork, SaidMessage, TenantLogin, TenantRole};
use super::write::StoreChange;
use crate::call_log::first_id;
use crate::{CallFilter, CallLog, CallRecord, CallRow, PreImageRecord, StoreError};

/// How a server is used.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// How long to wait for a server that restarts, fails over or is busy.
    pub patience: Duration,
    /// How long [`CallLog::append`] waits when too much is queued.
    pub append_patience: Duration,
    /// How many connections read; one more writes, and one says that this process lives.
    pub readers: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { patience: Duration::from_secs(10), append_patience: Duration::from_secs(5), readers: 3 }
    }
}

/// A [`CallLog`] on a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresLog {
    database: Arc<Database>,
}

impl PostgresLog {
    /// Connects to a server at an address such as `postgres://user@host/database`, and makes the tables if there are none.
    /// It blocks for as long as that takes.
    pub fn open(address: &str) -> Result<Self, StoreError> {
        Self::open_with(address, &PostgresOptions::default())
    }

    /// Opens it with other options.
    pub fn open_with(address: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        Ok(Self { database: Arc::new(Database::open(address, options)?) })
    }

    /// Bytes of everything in the schema, with its indexes.
    pub async fn size(&self) -> Result<u64, StoreError> {
        self.ask((), |link, ()| Box::pin(history::size(link))).await
    }

    /// Removes the schema of a tenant that an address has as its search path, with everything in it. It blocks.
    pub fn remove_schema(address: &str) -> Result<(), StoreError> {
        Database::remove_schema(address)
    }

    /// Which server and database, without the password.
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// The sessions on the same server.
    pub fn sessions(&self) -> PostgresSessions {
        PostgresSessions::new(Arc::clone(&self.database))
    }

    /// The jobs on the same server.
    pub fn jobs(&self) -> PostgresJobs {
        PostgresJobs::new(Arc::clone(&self.database))
    }

    /// What channels keep, on the same server.
    pub fn channels(&self) -> PostgresChannels {
        PostgresChannels::new(Arc::clone(&self.database))
    }

    /// The scheduled jobs on the same server.
    pub fn automation(&self) -> PostgresAutomation {
        PostgresAutomation::new(Arc::clone(&self.database))
    }

    /// Blobs on the same server.
    pub fn objects(&self) -> PostgresObjects {
        PostgresObjects::new(Arc::clone(&self.database))
    }

    /// Work of several machines on the same server.
    pub fn work(&self) -> PostgresWork {
        PostgresWork::new(Arc::clone(&self.database))
    }

    /// The index of memory of this name, on the same server. It blocks.
    pub fn memory(&self, name: &str) -> Result<Arc<dyn crate::MemoryStore>, StoreError> {
        Ok(Arc::new(memory::ServerMemory::open(Arc::clone(&self.database), name)?))
    }

    /// What removes old data, also the files in this folder.
    pub fn pruner(&self, folder: &Path) -> Result<PostgresPruner, StoreError> {
        PostgresPruner::new(Arc::clone(&self.database), folder)
    }

    async fn write(&self, change: StoreChange) -> Result<(), StoreError> {
        self.database.write(change).await.map(drop)
    }

    /// Asks the server, after everything queued before is written.
    async fn ask<A, T>(&self, about: A, question: Question<A, T>) -> Result<T, StoreError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.write(StoreChange::Nothing).await?;
        self.database.read(about, question).await
    }
}

impl CallLog for PostgresLog {
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
        Box::pin(self.ask(filter, |link, filter| Box::pin(history::list(link, filter))))
    }

    fn count_since(&self, since: SystemTime) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(self.ask(first_id(since), |link, first| Box::pin(history::count_since(link, first))))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>> {
        Box::pin(self.ask(id.to_owned(), |link, id| Box::pin(history::get(link, id))))
    }

    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        Box::pin(self.ask((), |link, ()| Box::pin(history::newest_undoable(link))))
    }

    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        Box::pin(self.ask(record.to_owned(), |link, record| Box::pin(history::pre_images(link, record))))
    }

    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        Box::pin(self.ask(session.to_owned(), |link, session| Box::pin(history::session_images(link, session))))
    }

    fn path_images<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        Box::pin(self.ask(path.to_owned(), |link, path| Box::pin(history::path_images(link, path))))
    }

    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, StoreError>> {
        Box::pin(self.ask((), |link, ()| Box::pin(history::changed_paths(link))))
    }

    fn take_interrupted(&self) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        Box::pin(async {
            let presences = Arc::clone(self.database.presences());
            let interrupted = self.database.read(presences, |link, presences| Box::pin(running::interrupted(link, presences))).await?;
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
