//! Vectors of texts: 32-bit numbers as bytes, known by the model and by the hash of the text, so that a text that moved keeps its own.

use rusqlite::{Connection, params};

use super::MemoryDatabase;
use crate::StoreError;

/// A text that many chunks repeat is found in so many of them.
const MOST_REPEATS: i64 = 8;

/// A text that has no vector of a model yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorTask {
    /// The hash of the text.
    pub digest: [u8; 16],
    /// The text.
    pub text: String,
}

/// Texts without a vector, and what has vectors once these have theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingVectors {
    /// The texts, each once.
    pub tasks: Vec<VectorTask>,
    /// Up to this number every chunk has a vector then.
    pub up_to: i64,
    /// Whether there are no others.
    pub is_last: bool,
}

/// A vector in the index.
#[derive(Debug)]
pub struct VectorRow<'a> {
    /// Its number: later ones are greater.
    pub id: i64,
    /// The numbers, little-endian.
    pub bytes: &'a [u8],
}

/// The vector of a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredVector {
    /// Its numbers.
    pub numbers: Vec<f32>,
    /// The chunks that have the text.
    pub chunks: Vec<i64>,
}

impl MemoryDatabase {
    /// The next texts without a vector of this model; `None` if it is known that there are none.
    pub fn missing_vectors(&self, model: &str, limit: usize) -> Result<Option<MissingVectors>, StoreError> {
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

    /// How many chunks have no vector of this model.
    pub fn count_missing(&self, model: &str) -> Result<u64, StoreError> {
        let connection = self.connection();
        let sql = "SELECT count(*) FROM chunks WHERE id > ?2 \
             AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest AND model = ?1)";
        let count = || connection.prepare_cached(sql)?.query_row(params![model, embedded(&connection, model)?], |row| row.get::<_, i64>(0));
        count().map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }

    /// Stores vectors of a model, with which every chunk up to a number has one.
    pub fn put_vectors(&self, model: &str, vectors: &[([u8; 16], Vec<f32>)], up_to: i64) -> Result<(), StoreError> {
        self.write(|connection| {
            let mut put = connection.prepare_cached("INSERT OR IGNORE INTO vectors (digest, model, vector) VALUES (?1, ?2, ?3)")?;
            for (digest, vector) in vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                put.execute(params![digest, model, bytes])?;
            }
            let sql = "INSERT INTO embedded (model, chunk) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET chunk = max(chunk, excluded.chunk)";
            connection.prepare_cached(sql)?.execute(params![model, up_to]).map(drop)
        })
    }

    /// Removes vectors of other models and of texts that are gone, if they have become more than those of the texts that are there.
    /// Returns whether it did.
    pub fn prune_vectors(&self, model: &str) -> Result<bool, StoreError> {
        let chunks = i64::try_from(self.count()?).unwrap_or(i64::MAX);
        let stored = self.connection().query_row("SELECT count(*) FROM vectors", [], |row| row.get::<_, i64>(0));
        if stored.map_err(|error| self.failed(error))? <= chunks.saturating_mul(2).saturating_add(1_000) {
            return Ok(false);
        }
        self.write(|connection| {
            connection.execute("DELETE FROM vectors WHERE model <> ?1 OR digest NOT IN (SELECT digest FROM chunks)", [model])?;
            connection.execute("DELETE FROM embedded WHERE model <> ?1", [model]).map(drop)
        })?;
        Ok(true)
    }

    /// Removes all vectors of a model: they are of another dimension than those that it gives now.
    pub fn remove_vectors(&self, model: &str) -> Result<(), StoreError> {
        self.write(|connection| {
            connection.execute("DELETE FROM vectors WHERE model = ?1", [model])?;
            connection.execute("DELETE FROM embedded WHERE model = ?1", [model]).map(drop)
        })
    }

    /// How many vectors of this model there are.
    pub fn count_vectors(&self, model: &str) -> Result<usize, StoreError> {
        let connection = self.connection();
        let sql = "SELECT count(*) FROM vectors WHERE model = ?1";
        let count = || connection.prepare_cached(sql)?.query_row([model], |row| row.get::<_, i64>(0));
        Ok(usize::try_from(count().map_err(|error| self.failed(error))?).unwrap_or(0))
    }

    /// Calls `each` with every vector of this model whose number is greater than one.
    pub fn each_vector(&self, model: &str, after: i64, mut each: impl FnMut(VectorRow<'_>)) -> Result<(), StoreError> {
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

    /// A vector, and the chunks that have its text; `None` if it is gone.
    pub fn vector(&self, id: i64) -> Result<Option<StoredVector>, StoreError> {
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

/// The numbers of a vector as it is stored.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|part| f32::from_le_bytes(*part))
}

/// The number up to which every chunk has a vector.
fn embedded(connection: &Connection, model: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce(max(chunk), 0) FROM embedded WHERE model = ?1";
    connection.prepare_cached(sql)?.query_row([model], |row| row.get(0))
}

fn last_chunk(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT coalesce(max(id), 0) FROM chunks")?.query_row([], |row| row.get(0))
}
