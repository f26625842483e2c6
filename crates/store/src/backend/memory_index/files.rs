//! What the index holds of files.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::MemoryDatabase;
use crate::backend::values::{nanoseconds_since_1970, time};
use crate::memory_store::terms_of;
use crate::{FileStamp, KnownFile, MemoryFiles, NewFile, StoreError};

impl MemoryFiles for MemoryDatabase {
    fn data_version(&self) -> Result<i64, StoreError> {
        let connection = self.connection();
        connection.pragma_query_value(None, "data_version", |row| row.get(0)).map_err(|error| self.failed(error))
    }

    fn changes(&self) -> Result<i64, StoreError> {
        let version = self.data_version()?;
        Ok(version.wrapping_mul(1 << 32).wrapping_add(i64::try_from(self.connection().total_changes()).unwrap_or(0)))
    }

    fn files(&self) -> Result<HashMap<String, KnownFile>, StoreError> {
        let connection = self.connection();
        let read = || -> rusqlite::Result<_> {
            let mut statement = connection.prepare_cached("SELECT path, size, modified, changed, checked, digest, note FROM files")?;
            let rows = statement.query_map([], |row| {
                let size = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
                let moment = |column| -> rusqlite::Result<_> { Ok(row.get::<_, Option<i64>>(column)?.map(time)) };
                let stamp = FileStamp { size, modified: moment(2)?, changed: moment(3)? };
                Ok((row.get(0)?, KnownFile { stamp, checked: row.get(4)?, digest: row.get(5)?, note: row.get(6)? }))
            })?;
            rows.collect::<rusqlite::Result<_>>()
        };
        read().map_err(|error| self.failed(error))
    }

    fn count(&self) -> Result<u64, StoreError> {
        let state = self.changes()?;
        let mut known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = known.filter(|(counted, _)| *counted == state) {
            return Ok(count);
        }
        let counted = self.connection().query_row("SELECT count(*) FROM chunks", [], |row| row.get::<_, i64>(0));
        let count = counted.map(i64::unsigned_abs).map_err(|error| self.failed(error))?;
        *known = Some((state, count));
        Ok(count)
    }

    fn put(&self, files: &[NewFile]) -> Result<(), StoreError> {
        self.write(|connection| {
            let mut terms = BTreeSet::new();
            for file in files {
                let writers = writers_of(connection, &file.path)?;
                remove_file(connection, &file.path)?;
                put_file(connection, file, &writers)?;
                terms.extend(terms_of(file));
            }
            put_terms(connection, &terms)
        })
    }

    fn touch(&self, files: &[(String, KnownFile)]) -> Result<(), StoreError> {
        self.write(|connection| {
            let sql = "UPDATE files SET size = ?2, modified = ?3, changed = ?4, checked = ?5 WHERE path = ?1";
            let mut update = connection.prepare_cached(sql)?;
            for (path, KnownFile { stamp, checked, .. }) in files {
                let (size, modified, changed) = columns(stamp);
                update.execute(params![path, size, modified, changed, checked])?;
            }
            Ok(())
        })
    }

    fn remove(&self, paths: &[String]) -> Result<(), StoreError> {
        self.write(|connection| paths.iter().try_for_each(|path| remove_file(connection, path)))
    }
}

impl MemoryDatabase {
    pub(super) fn write(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let write = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work(&transaction)?;
            transaction.commit()
        };
        write().map_err(|error| self.failed(error))
    }
}

fn remove_file(connection: &Connection, path: &str) -> rusqlite::Result<()> {
    let found = connection.prepare_cached("SELECT id FROM files WHERE path = ?1")?.query_row([path], |row| row.get::<_, i64>(0));
    let Some(id) = found.optional()? else { return Ok(()) };
    connection.prepare_cached("DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE file = ?1)")?.execute([id])?;
    connection.prepare_cached("DELETE FROM chunks WHERE file = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// The writers of the chunks that a file had: history forgets, and a chunk that did not change still has its writer.
fn writers_of(connection: &Connection, path: &str) -> rusqlite::Result<HashMap<[u8; 16], String>> {
    let sql = "SELECT chunks.digest, writer FROM chunks JOIN files ON files.id = file WHERE path = ?1 AND writer IS NOT NULL";
    connection.prepare_cached(sql)?.query_map([path], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn put_file(connection: &Connection, file: &NewFile, writers: &HashMap<[u8; 16], String>) -> rusqlite::Result<()> {
    let KnownFile { stamp, checked, digest, note } = &file.known;
    let (size, modified, changed) = columns(stamp);
    connection
        .prepare_cached("INSERT INTO files (path, size, modified, changed, checked, digest, note) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![file.path, size, modified, changed, checked, digest, note])?;
    let id = connection.last_insert_rowid();
    let sql = "INSERT INTO chunks (file, first, last, heading, text, digest, writer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut chunks = connection.prepare_cached(sql)?;
    let mut words = connection.prepare_cached("INSERT INTO words (rowid, body) VALUES (?1, ?2)")?;
    for chunk in &file.chunks {
        let (first, last) = (line(chunk.first), line(chunk.last));
        let writer = chunk.writer.as_ref().or_else(|| writers.get(&chunk.digest));
        chunks.execute(params![id, first, last, chunk.heading, chunk.text, chunk.digest, writer])?;
        words.execute(params![connection.last_insert_rowid(), chunk.words])?;
    }
    Ok(())
}

/// Size, time of the last change of content, time of the last change.
fn columns(stamp: &FileStamp) -> (i64, Option<i64>, Option<i64>) {
    let size = i64::try_from(stamp.size).unwrap_or(i64::MAX);
    (size, stamp.modified.map(nanoseconds_since_1970), stamp.changed.map(nanoseconds_since_1970))
}

fn line(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Words of files that are gone stay: they find nothing, and go with the next index.
fn put_terms(connection: &Connection, terms: &BTreeSet<&str>) -> rusqlite::Result<()> {
    let mut new = connection.prepare_cached("INSERT OR IGNORE INTO terms (term) VALUES (?1)")?;
    let mut grams = connection.prepare_cached("INSERT INTO grams (rowid, term) VALUES (?1, ?2)")?;
    for term in terms {
        if new.execute([term])? > 0 {
            grams.execute(params![connection.last_insert_rowid(), term])?;
        }
    }
    Ok(())
}
