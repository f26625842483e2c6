//! The store of a program: in a file, or on a server if the user names one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "postgres")]
use std::sync::{Mutex, PoisonError, Weak};
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::JobRegistry;

#[cfg(feature = "postgres")]
use crate::PostgresLog;
use crate::{
    AutomationStore, BlobObjects, Blobs, CallFilter, CallLog, CallRecord, CallRow, ChannelStore, FileBlobs, MemoryDatabase, OpenedLog,
    OpenedMemory, PreImageRecord, SessionStore, SqliteCallLog, StoreError, StorePruner,
};

/// What the address of a server begins with.
const SERVERS: [&str; 2] = ["postgres://", "postgresql://"];

/// Everything that is kept, whatever keeps it.
#[derive(Debug, Clone)]
pub enum StateStore {
    /// In a file.
    Sqlite(Arc<SqliteCallLog>),
    /// On a server.
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresLog>),
}

/// A store that was opened.
#[derive(Debug)]
pub struct OpenedState {
    /// The store.
    pub store: StateStore,
    /// A notice to the user: a damaged database was set aside and a new one started.
    pub notice: Option<String>,
}

/// The store on the server that this process uses: whatever opens it again shares its connections.
#[cfg(feature = "postgres")]
static SHARED: Mutex<Vec<(String, Weak<PostgresLog>)>> = Mutex::new(Vec::new());

impl StateStore {
    /// Opens the store at an address such as `postgres://user@host/database`; without one, the file in the folder.
    pub fn open(address: Option<&str>, folder: &Path) -> Result<OpenedState, StoreError> {
        match address.filter(|address| !address.is_empty()) {
            None => {
                let OpenedLog { log, notice } = SqliteCallLog::open(folder)?;
                Ok(OpenedState { store: Self::Sqlite(Arc::new(log)), notice })
            }
            Some(address) if SERVERS.iter().any(|scheme| address.starts_with(scheme)) => {
                Ok(OpenedState { store: Self::server(address)?, notice: None })
            }
            Some(address) => {
                // What stands before a colon is a scheme; the rest may hold a password.
                let scheme = address.split_once(':').map_or("it", |(scheme, _)| scheme);
                Err(StoreError::WrongAddress(format!("{scheme} is no kind of server that haft knows")))
            }
        }
    }

    #[cfg(feature = "postgres")]
    fn server(address: &str) -> Result<Self, StoreError> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|(_, store)| store.strong_count() > 0);
        if let Some(store) = shared.iter().find(|(known, _)| known == address).and_then(|(_, store)| store.upgrade()) {
            return Ok(Self::Postgres(store));
        }
        let store = Arc::new(PostgresLog::open(address)?);
        shared.push((address.to_owned(), Arc::downgrade(&store)));
        Ok(Self::Postgres(store))
    }

    #[cfg(not(feature = "postgres"))]
    fn server(_address: &str) -> Result<Self, StoreError> {
        Err(StoreError::Unsupported(
            "HAFT_STORE names a PostgreSQL server, which this build does not speak to: build it with `cargo build --release --features \
             postgres`, or unset HAFT_STORE",
        ))
    }

    /// Removes the schema that an address names as the first of its search path, with everything in it.
    #[cfg(feature = "postgres")]
    pub fn remove_schema(address: &str) -> Result<(), StoreError> {
        PostgresLog::remove_schema(address)
    }

    /// Removes the schema that an address names.
    #[cfg(not(feature = "postgres"))]
    pub fn remove_schema(address: &str) -> Result<(), StoreError> {
        Self::server(address).map(drop)
    }

    fn log(&self) -> &dyn CallLog {
        match self {
            Self::Sqlite(log) => &**log,
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => &**log,
        }
    }

    /// Where it is, for people: a file, or a server without the password.
    pub fn place(&self) -> String {
        match self {
            Self::Sqlite(log) => log.path().display().to_string(),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => log.name().to_owned(),
        }
    }

    /// The sessions.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        match self {
            Self::Sqlite(log) => Arc::new(log.sessions()),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => Arc::new(log.sessions()),
        }
    }

    /// The background jobs.
    pub fn jobs(&self) -> Arc<dyn JobRegistry> {
        match self {
            Self::Sqlite(log) => Arc::new(log.jobs()),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => Arc::new(log.jobs()),
        }
    }

    /// What channels keep.
    pub fn channels(&self) -> Arc<dyn ChannelStore> {
        match self {
            Self::Sqlite(log) => Arc::new(log.channels()),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => Arc::new(log.channels()),
        }
    }

    /// The scheduled jobs.
    pub fn automation(&self) -> Arc<dyn AutomationStore> {
        match self {
            Self::Sqlite(log) => Arc::new(log.automation()),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => Arc::new(log.automation()),
        }
    }

    /// Pre-images and spills: in files of this folder, and on the server if there is one. The name is that of the spills' session.
    pub fn blobs(&self, folder: &Path, session: &str) -> Result<Arc<dyn Blobs>, StoreError> {
        let files = FileBlobs::open(folder)?.of_session(session)?;
        match self {
            Self::Sqlite(_) => Ok(Arc::new(files)),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => shared_blobs(files, Arc::new(log.objects())),
        }
    }

    /// The same with other objects in place of the server's table.
    pub fn blobs_in(objects: Arc<dyn BlobObjects>, folder: &Path, session: &str) -> Result<Arc<dyn Blobs>, StoreError> {
        shared_blobs(FileBlobs::open(folder)?.of_session(session)?, objects)
    }

    /// Bytes on a server. Those of a file are where the file is.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "a server is asked"))]
    pub async fn server_bytes(&self) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(_) => Ok(0),
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => log.size().await,
        }
    }

    /// Adds processor time of commands, in hundredths of a second, to that of a day on a server; returns how much the day has. `None` for a
    /// file, where one machine counts.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "a server is asked"))]
    pub async fn add_processor_time(&self, day: &str, ticks: u64) -> Result<Option<u64>, StoreError> {
        match self {
            Self::Sqlite(_) => {
                let _ = (day, ticks);
                Ok(None)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => log.work().add_processor_time(day, ticks).await.map(Some),
        }
    }

    /// Counts one more call of a day on a server, where so many are known, unless that is more than its limit; whether it was counted. `None`
    /// for a file, where one process counts.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "a server is asked"))]
    pub async fn count_call(&self, day: &str, known: u64, limit: u64) -> Result<Option<bool>, StoreError> {
        match self {
            Self::Sqlite(_) => {
                let _ = (day, known, limit);
                Ok(None)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(log) => log.work().count_call(day, known, limit).await.map(Some),
        }
    }

    /// Reads a whole file; says what is damaged, if anything. A server looks after itself.
    pub async fn find_damage(&self) -> Result<Option<String>, StoreError> {
        match self {
            Self::Sqlite(log) => log.find_damage().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(None),
        }
    }
}

/// With the spills that another machine wrote for this session, if this one has none yet.
fn shared_blobs(files: FileBlobs, objects: Arc<dyn BlobObjects>) -> Result<Arc<dyn Blobs>, StoreError> {
    let blobs = Arc::new(crate::SharedBlobs::new(files, objects));
    let is_new = blobs.spill_folder().read_dir().is_ok_and(|mut entries| entries.next().is_none());
    if is_new {
        let shared = Arc::clone(&blobs);
        crate::backend::waited(move || Box::pin(async move { shared.bring_spills().await }))?;
    }
    Ok(blobs)
}

impl CallLog for StateStore {
    fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        self.log().append(record)
    }

    fn append_with(&self, texts: usize, make: Box<dyn FnOnce() -> CallRow + Send>) -> Result<(), StoreError> {
        self.log().append_with(texts, make)
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.log().flush()
    }

    fn keep(&self, image: PreImageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.log().keep(image)
    }

    fn keep_all(&self, images: Vec<PreImageRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.log().keep_all(images)
    }

    fn withdraw<'a>(&'a self, record: &'a str, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        self.log().withdraw(record, path, after)
    }

    fn list(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.log().list(filter)
    }

    fn count_since(&self, since: SystemTime) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.log().count_since(since)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<CallRecord, StoreError>> {
        self.log().get(id)
    }

    fn newest_undoable(&self) -> BoxFuture<'_, Result<Option<CallRecord>, StoreError>> {
        self.log().newest_undoable()
    }

    fn pre_images<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.log().pre_images(record)
    }

    fn session_images<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.log().session_images(session)
    }

    fn path_images<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<PreImageRecord>, StoreError>> {
        self.log().path_images(path)
    }

    fn changed_paths(&self) -> BoxFuture<'_, Result<std::collections::HashSet<PathBuf>, StoreError>> {
        self.log().changed_paths()
    }

    fn take_interrupted(&self) -> BoxFuture<'_, Result<Vec<CallRecord>, StoreError>> {
        self.log().take_interrupted()
    }

    fn settle_interrupted<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.log().settle_interrupted(record)
    }

    fn mark_undone<'a>(&'a self, record: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.log().mark_undone(record)
    }
}

/// Opens the index of memory of this name: on the server at an address, or without one in the folder. It blocks.
pub fn open_memory(address: Option<&str>, folder: &Path, name: &str) -> Result<OpenedMemory, StoreError> {
    if address.is_none_or(str::is_empty) {
        return MemoryDatabase::open(folder, name);
    }
    match StateStore::open(address, folder)?.store {
        StateStore::Sqlite(_) => MemoryDatabase::open(folder, name),
        #[cfg(feature = "postgres")]
        StateStore::Postgres(log) => Ok(OpenedMemory { database: log.memory(name)?, notice: None }),
    }
}

/// Finds and removes old data of a store.
#[derive(Debug)]
pub enum StatePruner {
    /// Of a file.
    Sqlite(Box<StorePruner>),
    /// Of a server.
    #[cfg(feature = "postgres")]
    Postgres(crate::PostgresPruner),
}

impl StatePruner {
    /// For the store that [`StateStore::open`] opens.
    pub fn open(address: Option<&str>, folder: &Path) -> Result<Self, StoreError> {
        if address.is_none_or(str::is_empty) {
            return Ok(Self::Sqlite(Box::new(StorePruner::open(folder)?)));
        }
        match StateStore::open(address, folder)?.store {
            StateStore::Sqlite(_) => Ok(Self::Sqlite(Box::new(StorePruner::open(folder)?))),
            #[cfg(feature = "postgres")]
            StateStore::Postgres(log) => Ok(Self::Postgres(log.pruner(folder)?)),
        }
    }

    /// Removes blobs from these objects, too, in place of the table of a server.
    #[must_use]
    pub fn with_objects(self, objects: Arc<dyn BlobObjects>) -> Self {
        match self {
            Self::Sqlite(store) => Self::Sqlite(Box::new(store.with_objects(objects))),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => Self::Postgres(store.with_objects(objects)),
        }
    }

    /// The workspaces in which a background job runs.
    pub fn workspaces_in_use(&self) -> Result<Vec<PathBuf>, StoreError> {
        match self {
            Self::Sqlite(store) => store.workspaces_in_use(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.workspaces_in_use(),
        }
    }

    /// Gives the space of deleted rows back to the system, if it is worth it; says how many bytes. A server does so by itself.
    pub fn compact(&self) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite(store) => store.compact(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(0),
        }
    }
}
