//! What of the store is old: calls, sessions, pre-images and spills, and which of it is in use.
//!
//! It has a connection of its own and works beside the thread that writes, in small transactions.

mod blobs;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Prunable, StoredEntry};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

pub(in crate::backend) use self::blobs::BlobFiles;
use super::owners::Owners;
use super::rows::number;
use super::{claims, open, running};
use crate::backend::blob_entries::BlobEntries;
use crate::backend::folder::PrivateFolder;
use crate::backend::values::{path, time};
use crate::error::SqlFault;
use crate::{BlobObjects, StoreError};

/// How long to wait for another process that holds the database.
const PATIENCE: Duration = Duration::from_secs(5);
/// A file is written anew only if at least this many pages of it are unused.
const MIN_FREE_PAGES: i64 = 256;

/// Calls, without what they point to. No column is read: `octet_length` needs the head of a row alone.
const CALLS: &str = "SELECT rowid, started, octet_length(decision) + octet_length(effects) + octet_length(arguments) + octet_length(summary) \
     + coalesce(octet_length(original_arguments), 0), session, id FROM calls";

const SESSIONS: &str = "SELECT id, updated, \
     (SELECT coalesce(sum(octet_length(body)), 0) FROM messages WHERE session = sessions.id) + \
     (SELECT coalesce(sum(octet_length(body)), 0) FROM messages_replaced WHERE session = sessions.id) FROM sessions";

const PRE_IMAGES_IN_USE: &str =
    "SELECT content, session, calls.id FROM pre_images JOIN calls ON calls.id = record WHERE content IS NOT NULL";

/// Finds and removes old data of a store.
pub struct StorePruner {
    connection: Connection,
    owners: Owners,
    folder: PrivateFolder,
    path: PathBuf,
    objects: Option<Arc<dyn BlobObjects>>,
}

haft_contract::opaque_debug!(StorePruner: path = path);

impl StorePruner {
    /// Opens the store in a folder.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let own = PrivateFolder::open(folder)?;
        let open::OpenDatabase { writer, folder, path, .. } = open::open(folder, PATIENCE)?;
        // What was deleted must not remain in free pages.
        writer.pragma_update_and_check(None, "secure_delete", true, |_| Ok(())).map_err(|error| StoreError::database(&path, error))?;
        Ok(Self { connection: writer, owners: Owners::new(folder, PATIENCE), folder: own, path, objects: None })
    }

    /// Removes what is kept in these objects, too.
    #[must_use]
    pub fn with_objects(mut self, objects: Arc<dyn BlobObjects>) -> Self {
        self.objects = Some(objects);
        self
    }

    /// The history of calls.
    pub fn history(&self) -> impl Prunable<Error = StoreError> + '_ {
        Calls(self)
    }

    /// The sessions with their messages.
    pub fn sessions(&self) -> impl Prunable<Error = StoreError> + '_ {
        Sessions(self)
    }

    /// The contents of files from before changes. Without it a change cannot be undone any more; history still has the call.
    pub fn pre_images(&self) -> Result<impl Prunable<Error = StoreError>, StoreError> {
        let in_use = self.pre_images_in_use().map_err(|fault| self.failed(fault))?;
        Ok(BlobEntries::new(BlobFiles::pre_images(&self.folder, in_use), self.objects.clone()))
    }

    /// Output that was too large for the model.
    pub fn spills(&self) -> Result<impl Prunable<Error = StoreError>, StoreError> {
        let in_use = self.sessions_in_use().map_err(|fault| self.failed(fault))?;
        Ok(BlobEntries::new(BlobFiles::spills(&self.folder, &in_use), self.objects.clone()))
    }

    /// The workspaces in which a background job runs.
    pub fn workspaces_in_use(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.workspaces_of_jobs().map_err(|fault| self.failed(fault))
    }

    fn workspaces_of_jobs(&self) -> Result<Vec<PathBuf>, SqlFault> {
        let mut statement = self.connection.prepare("SELECT DISTINCT workspace FROM jobs WHERE ended IS NULL")?;
        let rows = statement.query_map([], |row| Ok(path(row.get(0)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Gives the space of deleted rows back to the system, if it is worth it; says how many bytes. If another process uses the
    /// database now, it stays as it is: the space is used again.
    pub fn compact(&self) -> Result<u64, StoreError> {
        self.vacuum().map_err(|fault| self.failed(fault))
    }

    fn vacuum(&self) -> Result<u64, SqlFault> {
        let count = |pragma: &str| self.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let (free, all, size) = (count("freelist_count")?, count("page_count")?, count("page_size")?);
        if free < MIN_FREE_PAGES || free < all / 4 || self.connection.execute_batch("VACUUM").is_err() {
            return Ok(0);
        }
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok();
        Ok((all - count("page_count")?).max(0).unsigned_abs() * size.unsigned_abs())
    }

    /// The sessions that a living process has claimed.
    fn sessions_in_use(&self) -> Result<HashSet<String>, SqlFault> {
        claims::in_use(&self.connection, &self.owners)
    }

    /// The contents that calls of living processes need.
    fn pre_images_in_use(&self) -> Result<HashSet<String>, SqlFault> {
        let (sessions, running) = (self.sessions_in_use()?, running::in_use(&self.connection, &self.owners)?);
        let mut statement = self.connection.prepare(PRE_IMAGES_IN_USE)?;
        let rows = statement.query_map([], |row| Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?)))?;
        let is_used = |(_, session, call): &(String, String, String)| sessions.contains(session) || running.contains(call);
        let used = rows.filter(|row| row.as_ref().map_or(true, is_used)).map(|row| row.map(|(content, ..)| content));
        Ok(used.collect::<rusqlite::Result<_>>()?)
    }

    fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        transaction.map_err(|error| StoreError::database(&self.path, error))
    }

    fn failed(&self, fault: SqlFault) -> StoreError {
        fault.in_file(&self.path)
    }
}

/// A text, also of a damaged row.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
}

struct Calls<'a>(&'a StorePruner);

impl Calls<'_> {
    fn read(&self) -> Result<Vec<StoredEntry<i64>>, SqlFault> {
        let Self(store) = self;
        let (sessions, running) = (store.sessions_in_use()?, running::in_use(&store.connection, &store.owners)?);
        let mut statement = store.connection.prepare(CALLS)?;
        let mut rows = statement.query([])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            let in_use = sessions.contains(&text(row, 3)?) || running.contains(&text(row, 4)?);
            entries.push(StoredEntry { key: row.get(0)?, written: time(row.get(1)?), bytes: number(row, 2)?, in_use });
        }
        Ok(entries)
    }

    fn delete(&self, keys: &[i64]) -> Result<(), SqlFault> {
        let transaction = self.0.begin()?;
        let mut delete = transaction.prepare_cached("DELETE FROM calls WHERE rowid = ?1")?;
        keys.iter().try_for_each(|key| delete.execute([key]).map(drop))?;
        drop(delete);
        Ok(transaction.commit()?)
    }
}

impl Prunable for Calls<'_> {
    type Key = i64;
    type Error = StoreError;

    fn entries(&self) -> Result<Vec<StoredEntry<i64>>, StoreError> {
        self.read().map_err(|error| self.0.failed(error))
    }

    fn remove(&self, keys: Vec<i64>) -> Result<(), StoreError> {
        self.delete(&keys).map_err(|error| self.0.failed(error))
    }
}

struct Sessions<'a>(&'a StorePruner);

impl Sessions<'_> {
    fn read(&self) -> Result<Vec<StoredEntry<String>>, SqlFault> {
        let in_use = self.0.sessions_in_use()?;
        let mut statement = self.0.connection.prepare(SESSIONS)?;
        let entry = |row: &Row<'_>| {
            let key = text(row, 0)?;
            let in_use = in_use.contains(&key);
            Ok(StoredEntry { key, written: time(row.get(1)?), bytes: number(row, 2)?, in_use })
        };
        Ok(statement.query_map([], entry)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Nobody can claim a session within the transaction, so one that is free then is not in use.
    fn delete(&self, keys: &[String]) -> Result<(), SqlFault> {
        let Self(store) = self;
        let transaction = store.begin()?;
        for key in keys {
            match claims::refuse_others(&transaction, &store.owners, key) {
                Ok(()) => drop(transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([key])?),
                Err(SqlFault::Store(StoreError::Busy { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Prunable for Sessions<'_> {
    type Key = String;
    type Error = StoreError;

    fn entries(&self) -> Result<Vec<StoredEntry<String>>, StoreError> {
        self.read().map_err(|error| self.0.failed(error))
    }

    fn remove(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.delete(&keys).map_err(|error| self.0.failed(error))
    }
}
