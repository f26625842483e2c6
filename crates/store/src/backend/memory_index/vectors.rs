//! Vectors of texts: 32-bit numbers as bytes, known by the model and by the hash of the text, so that a text that moved keeps its own.

use rusqlite::{Connection, params};

use super::MemoryDatabase;
use crate::memory_store::{MOST_REPEATS, is_worth_pruning, numbers, vector_bytes};
use crate::{MemoryFiles, MemoryVectors, MissingVectors, StoreError, StoredVector, VectorRow, VectorTask};

impl MemoryVectors for MemoryDatabase {
    fn missing_vectors(&self, model: &str, limit: usize) -> Result<Option<MissingVectors>, StoreError> {
        let connection = self.connection();
        let read = || -> rusqlite::Result<_> {
            let (done, last) = (embedded(&connection, model)?, last_chunk(&connection)?);
            if done >= last {
                return Ok(None);
            }
            let sql = "SELECT id, digest, heading, text FROM chunks WHERE id > ?2 \
                 AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest AND model = ?1) ORDER BY id LIMIT ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![model, done, i64::try_from(limit).unwrap_or(i64::MAX)])?;
            let (mut missing, mut found) = (MissingVectors { tasks: Vec::new(), up_to: last, is_last: true }, 0);
            let mut seen = std::collections::HashSet::new();
            while let Some(row) = rows.next()? {
                found += 1;
                if found == limit {
                    (missing.up_to, missing.is_last) = (row.get(0)?, false);
                }
                let digest = row.get(1)?;
                if seen.insert(digest) {
                    let text = format!("{}\n{}", row.get::<_, String>(2)?, row.get::<_, String>(3)?);
                    missing.tasks.push(VectorTask { digest, text: text.trim().to_owned() });
                }
            }
            Ok(Some(missing))
        };
        read().map_err(|error| self.failed(error))
    }

    fn count_missing(&self, model: &str) -> Result<u64, StoreError> {
        let connection = self.connection();
        let sql = "SELECT count(*) FROM chunks WHERE id > ?2 \
             AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest AND model = ?1)";
        let count = || connection.prepare_cached(sql)?.query_row(params![model, embedded(&connection, model)?], |row| row.get::<_, i64>(0));
        count().map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }

    fn put_vectors(&self, model: &str, vectors: &[([u8; 16], Vec<f32>)], up_to: i64) -> Result<(), StoreError> {
        self.write(|connection| {
            let mut put = connection.prepare_cached("INSERT OR IGNORE INTO vectors (digest, model, vector) VALUES (?1, ?2, ?3)")?;
            for (digest, vector) in vectors {
                put.execute(params![digest, model, vector_bytes(vector)])?;
            }
            let sql = "INSERT INTO embedded (model, chunk) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET chunk = max(chunk, excluded.chunk)";
            connection.prepare_cached(sql)?.execute(params![model, up_to]).map(drop)
        })
    }

    fn prune_vectors(&self, model: &str) -> Result<bool, StoreError> {
        let stored = self.connection().query_row("SELECT count(*) FROM vectors", [], |row| row.get::<_, i64>(0));
        let stored = stored.map_err(|error| self.failed(error))?;
        if !is_worth_pruning(stored.unsigned_abs(), self.count()?) {
            return Ok(false);
        }
        self.write(|connection| {
            connection.execute("DELETE FROM vectors WHERE model <> ?1 OR digest NOT IN (SELECT digest FROM chunks)", [model])?;
            connection.execute("DELETE FROM embedded WHERE model <> ?1", [model]).map(drop)
        })?;
        Ok(true)
    }

    fn remove_vectors(&self, model: &str) -> Result<(), StoreError> {
        self.write(|connection| {
            connection.execute("DELETE FROM vectors WHERE model = ?1", [model])?;
            connection.execute("DELETE FROM embedded WHERE model = ?1", [model]).map(drop)
        })
    }

    fn count_vectors(&self, model: &str) -> Result<usize, StoreError> {
        let connection = self.connection();
        let sql = "SELECT count(*) FROM vectors WHERE model = ?1";
        let count = || connection.prepare_cached(sql)?.query_row([model], |row| row.get::<_, i64>(0));
        Ok(usize::try_from(count().map_err(|error| self.failed(error))?).unwrap_or(0))
    }

    fn each_vector(&self, model: &str, after: i64, each: &mut dyn FnMut(VectorRow<'_>)) -> Result<(), StoreError> {
        let connection = self.connection();
        let mut read = || {
            let sql = "SELECT id, vector FROM vectors WHERE id > ?2 AND model = ?1 ORDER BY id";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![model, after])?;
            while let Some(row) = rows.next()? {
                each(VectorRow { id: row.get(0)?, bytes: row.get_ref(1)?.as_blob()? });
            }
            Ok(())
        };
        read().map_err(|error: rusqlite::Error| self.failed(error))
    }

    fn vector(&self, id: i64) -> Result<Option<StoredVector>, StoreError> {
        let connection = self.connection();
        let read = || -> rusqlite::Result<_> {
            let sql = "SELECT vector, chunks.id FROM vectors JOIN chunks ON chunks.digest = vectors.digest WHERE vectors.id = ?1 LIMIT ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([id, MOST_REPEATS])?;
            let mut found = StoredVector::default();
            while let Some(row) = rows.next()? {
                if found.chunks.is_empty() {
                    found.numbers = numbers(row.get_ref(0)?.as_blob()?).collect();
                }
                found.chunks.push(row.get(1)?);
            }
            Ok(Some(found).filter(|found| !found.chunks.is_empty()))
        };
        read().map_err(|error| self.failed(error))
    }
}

/// The number up to which every chunk has a vector.
fn embedded(connection: &Connection, model: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce(max(chunk), 0) FROM embedded WHERE model = ?1";
    connection.prepare_cached(sql)?.query_row([model], |row| row.get(0))
}

fn last_chunk(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(id), 0) FROM chunks")?.query_row([], |row| row.get(0))
}
