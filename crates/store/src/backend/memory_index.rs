//! The index of memory files: SQLite FTS5, derived from the files alone. It can be deleted at any time; what is damaged or of another
//! version is replaced by an empty one, which the next search fills again.

mod files;
mod search;
mod vectors;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::folder::PrivateFolder;
use crate::{MemoryStore, OpenedMemory, StoreError};

/// The folder of the indexes in the data folder.
const FOLDER: &str = "memory";
/// The version of the schema and of how texts are cut and split into words: another one starts anew.
pub(super) const FORMAT: i64 = 2;
/// How long another process may hold the index.
const PATIENCE: Duration = Duration::from_secs(2);
const STATEMENTS: usize = 32;
/// Pages that SQLite may hold in memory, in KiB.
const CACHE_KIB: i64 = 8 * 1024;
const WAL_KEPT: i64 = 4 << 20;
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

/// `words` has the words of each chunk as they are searched, `terms` each different word once, for words with typing errors. `embedded`
/// has, for each model, the number up to which every chunk has a vector: numbers are never given twice, so later ones are greater.
const SCHEMA: &str = "
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, modified INTEGER, \
    changed INTEGER, checked INTEGER NOT NULL, digest BLOB NOT NULL, note TEXT);
CREATE TABLE chunks (id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, \
    heading TEXT NOT NULL, text TEXT NOT NULL, digest BLOB NOT NULL, writer TEXT);
CREATE INDEX chunks_of_files ON chunks (file);
CREATE INDEX chunks_of_digests ON chunks (digest);
CREATE VIRTUAL TABLE words USING fts5(body, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE grams USING fts5(term, content='', detail=none, columnsize=0, tokenize='trigram');
CREATE TABLE vectors (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL, \
    UNIQUE (digest, model));
CREATE TABLE embedded (model TEXT PRIMARY KEY, chunk INTEGER NOT NULL) WITHOUT ROWID;
";

/// An open index.
pub struct MemoryDatabase {
    connection: Mutex<Connection>,
    path: PathBuf,
    /// How many chunks there were at which state: counting them takes longer than finding some.
    counted: Mutex<Option<(i64, u64)>>,
}

haft_contract::opaque_debug!(MemoryDatabase: path = path);

impl MemoryDatabase {
    /// Opens the index of this name in the data folder, and creates it. One that is damaged or of another version is replaced.
    pub fn open(data_folder: &Path, name: &str) -> Result<OpenedMemory, StoreError> {
        let folder = PrivateFolder::open(data_folder)?.folder(FOLDER)?;
        let file = format!("{name}.db");
        let path = folder.path().join(&file);
        let Some(_lock) = folder.lock(PATIENCE)? else { return Err(StoreError::Locked { path }) };
        let reason = match connect(&folder, &file, &path) {
            Ok(connection) => return Ok(OpenedMemory { database: Arc::new(Self::over(connection, path)), notice: None }),
            Err(error @ StoreError::Damaged { .. }) => format!("the index of memory was damaged and is built anew ({error})"),
            Err(StoreError::Newer { .. }) => "the index of memory is of another version of haft and is built anew".to_owned(),
            Err(error) => return Err(error),
        };
        remove(&folder, &file)?;
        let connection = connect(&folder, &file, &path)?;
        Ok(OpenedMemory { database: Arc::new(Self::over(connection, path)), notice: Some(reason) })
    }

    /// An index in memory, which is gone with the process: for when none can be opened.
    pub fn temporary() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let failed = |error| StoreError::database(&path, error);
        let mut connection = Connection::open_in_memory().map_err(failed)?;
        prepare(&mut connection).map_err(failed)?;
        Ok(Self::over(connection, path))
    }

    fn over(connection: Connection, path: PathBuf) -> Self {
        Self { connection: Mutex::new(connection), path, counted: Mutex::default() }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, error)
    }
}

impl MemoryStore for MemoryDatabase {
    /// What cannot be removed is replaced when it is opened.
    fn discard(&self) {
        for end in COMPANIONS {
            let mut name = self.path.as_os_str().to_owned();
            name.push(end);
            std::fs::remove_file(PathBuf::from(name)).ok();
        }
    }
}

/// Removes an index that cannot be used: the files that it was made of are still there.
fn remove(folder: &PrivateFolder, file: &str) -> Result<(), StoreError> {
    for end in COMPANIONS {
        let name = format!("{file}{end}");
        let failed = |error| StoreError::io(&folder.path().join(&name), error);
        if folder.stat(&name).map_err(failed)?.is_some() {
            folder.remove(&name).map_err(failed)?;
        }
    }
    Ok(())
}

fn connect(folder: &PrivateFolder, file: &str, path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::io(path, error);
    if folder.stat(file).map_err(failed)?.is_none() {
        folder.create(file).map_err(failed)?;
    }
    COMPANIONS.iter().try_for_each(|end| folder.narrow(&format!("{file}{end}")).map(drop))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).map_err(|error| StoreError::database(path, error))?;
    let version = prepare(&mut connection).map_err(|error| StoreError::database(path, error))?;
    if version != FORMAT {
        return Err(StoreError::Newer { path: path.to_owned(), found: version, known: FORMAT });
    }
    Ok(connection)
}

/// Settings and schema; returns the version that the index has now. It is derived, so a commit need not be on disk when it returns.
fn prepare(connection: &mut Connection) -> rusqlite::Result<i64> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT, |_| Ok(()))?;
    if tables == 0 {
        let transaction = connection.transaction()?;
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        transaction.commit()?;
    }
    // A damaged schema or page shows in what every search reads.
    connection.query_row("SELECT count(*) FROM words WHERE words MATCH 'x'", [], |_| Ok(()))?;
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
