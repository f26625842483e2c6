//! The open database: one thread that writes, and one connection that reads, from the first question on. The history and the sessions share it.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::owners::Owners;
use super::{SqliteOptions, open, writer};
use crate::backend::blocking::blocking;
use crate::backend::write::{ChangeAnswer, StoreChange, WriteQueue};
use crate::error::SqlFault;
use crate::{StoreError, StoreRevision, error};

/// The file that was opened: SQLite continues to write to one that is deleted, and nobody would ever read that.
pub(super) struct DatabaseFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl DatabaseFile {
    pub(super) fn new(path: &Path) -> Result<Self, StoreError> {
        let identity = identity(path).map_err(|error| StoreError::io(path, error))?;
        Ok(Self { path: path.to_owned(), identity })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if another file, or none, is in its place.
    pub(super) fn check(&self) -> rusqlite::Result<()> {
        if identity(&self.path).is_ok_and(|found| found == self.identity) { Ok(()) } else { Err(error::moved()) }
    }
}

fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    let metadata = path.symlink_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

pub(super) struct Database {
    file: Arc<DatabaseFile>,
    busy_timeout: Duration,
    queue: Arc<WriteQueue>,
    owners: Arc<Owners>,
    /// Once something was asked.
    reader: Arc<Mutex<Option<Connection>>>,
    writer: Option<JoinHandle<()>>,
    /// Whether no call was noted as running when it was opened, until somebody asks.
    none_running: AtomicBool,
    /// The index of the write-ahead log, which every process maps.
    log_index: OnceLock<Option<File>>,
}

impl Database {
    /// Opens it; the second part is a notice to the user.
    pub(super) fn open(folder: &Path, options: &SqliteOptions) -> Result<(Self, Option<String>), StoreError> {
        let open::OpenDatabase { writer: connection, folder, path, notice, none_running } = open::open(folder, options.busy_timeout)?;
        let queue = Arc::new(WriteQueue::new(path.clone(), options.append_patience));
        let owners = Arc::new(Owners::new(folder, options.busy_timeout));
        let (for_writer, its_owners) = (Arc::clone(&queue), Arc::clone(&owners));
        let file = Arc::new(DatabaseFile::new(&path)?);
        let for_checks = Arc::clone(&file);
        // Asked when it was opened: most starts need no reader at all.
        let none_running = AtomicBool::new(none_running);
        let thread = std::thread::Builder::new().name("haft-store".into());
        let writer = thread
            .spawn(move || writer::run(connection, for_writer, &its_owners, &for_checks))
            .map_err(|error| StoreError::io(&path, error))?;
        let (busy_timeout, reader, log_index) = (options.busy_timeout, Arc::default(), OnceLock::new());
        Ok((Self { file, busy_timeout, queue, owners, reader, writer: Some(writer), none_running, log_index }, notice))
    }

    /// Whether no call was noted as running when the database was opened. Known once: later, others may have begun some.
    pub(super) fn takes_none_running(&self) -> bool {
        self.none_running.swap(false, Ordering::Relaxed)
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn queue(&self) -> &WriteQueue {
        &self.queue
    }

    pub(super) fn owners(&self) -> &Arc<Owners> {
        &self.owners
    }

    /// The header of the index of the write-ahead log: it counts transactions, and holds a checksum of the last. SQLite's documentation
    /// describes it as part of the file format, and the connections of this process keep the file in its place.
    pub(super) fn revision(&self) -> Option<StoreRevision> {
        let mut name = self.path().to_owned().into_os_string();
        name.push("-shm");
        let index = self.log_index.get_or_init(|| File::open(name).ok()).as_ref()?;
        let mut header = [0; 48];
        index.read_exact_at(&mut header, 0).ok()?;
        // Without a log there is nothing that would count.
        (header != [0; 48]).then_some(StoreRevision(header))
    }

    /// Resolves when a change is on disk.
    pub(super) async fn write(&self, change: StoreChange) -> ChangeAnswer {
        let Some(answer) = self.queue.request(change)? else { return Ok(0) };
        answer.await.unwrap_or_else(|_| Err(StoreError::Closed("its writer ended before this was written".into())))
    }

    /// Queries the reader.
    pub(super) async fn read<T, Q>(&self, question: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, SqlFault> + Send + 'static,
    {
        let (reader, file, busy_timeout) = (Arc::clone(&self.reader), Arc::clone(&self.file), self.busy_timeout);
        let asking = blocking(move || {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = match &mut *reader {
                Some(connection) => connection,
                none => none.insert(open::open_reader(&file, busy_timeout)?),
            };
            Ok(question(connection))
        });
        let answer = asking.await?.map_err(|fault| fault.in_file(self.path()));
        answer.inspect_err(|error| {
            if matches!(error, StoreError::Damaged { .. }) {
                open::suspect(self.path());
            }
        })
    }
}

haft_contract::opaque_debug!(Database: path = file.path);

impl Drop for Database {
    fn drop(&mut self) {
        self.queue.close();
        // An answer of the writer may wake, and so drop, the last task that holds the database: the writer cannot wait for itself.
        if let Some(writer) = self.writer.take_if(|writer| writer.thread().id() != std::thread::current().id()) {
            // It ends with an error only if it panicked, and then waiting callers got an error.
            writer.join().ok();
        }
    }
}
