//! Vectors of chunks: 32-bit numbers as bytes, known by the model and by the hash of the text, so that a text that moved keeps its own.

use rusqlite::params;

use super::MemoryDatabase;
use crate::StoreError;

/// A text that has no vector of a model yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorTask {
    /// The hash of the text.
    pub digest: [u8; 16],
    /// The text.
    pub text: String,
}

/// A chunk and its vector.
#[derive(Debug)]
pub struct VectorRow<'a> {
    /// The number of the chunk.
    pub chunk: i64,
    /// The numbers, little-endian.
    pub bytes: &'a [u8],
}

impl MemoryDatabase {
    /// Texts without a vector of this model, and how many there are in all.
    pub fn missing_vectors(&self, model: &str, limit: usize) -> Result<(Vec<VectorTask>, u64), StoreError> {
        let connection = self.connection();
        let missing = "FROM chunks WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = chunks.digest AND model = ?1)";
        let read = || {
            let counted = connection
                .prepare_cached(&format!("SELECT count(DISTINCT digest) {missing}"))?
                .query_row([model], |row| row.get::<_, i64>(0))?;
            let sql = format!("SELECT digest, min(heading), min(text) {missing} GROUP BY digest LIMIT ?2");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![model, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                let (heading, text) = (row.get::<_, String>(1)?, row.get::<_, String>(2)?);
                Ok(VectorTask { digest: row.get(0)?, text: format!("{heading}\n{text}").trim().to_owned() })
            })?;
            Ok((rows.collect::<rusqlite::Result<_>>()?, counted.unsigned_abs()))
        };
        read().map_err(|error| self.failed(error))
    }

    /// Stores vectors of a model.
    pub fn put_vectors(&self, model: &str, vectors: &[([u8; 16], Vec<f32>)]) -> Result<(), StoreError> {
        self.write(|connection| {
            let mut put = connection.prepare_cached("INSERT OR REPLACE INTO vectors (digest, model, vector) VALUES (?1, ?2, ?3)")?;
            for (digest, vector) in vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                put.execute(params![digest, model, bytes])?;
            }
            Ok(())
        })
    }

    /// Removes vectors of other models, and those of texts that are gone.
    pub fn prune_vectors(&self, model: &str) -> Result<(), StoreError> {
        self.write(|connection| {
            let sql = "DELETE FROM vectors WHERE model <> ?1 OR digest NOT IN (SELECT digest FROM chunks)";
            connection.execute(sql, [model])?;
            Ok(())
        })
    }

    /// Removes all vectors of a model: they are of another dimension than those that it gives now.
    pub fn remove_vectors(&self, model: &str) -> Result<(), StoreError> {
        self.write(|connection| connection.execute("DELETE FROM vectors WHERE model = ?1", [model]).map(drop))
    }

    /// Calls `each` with the vector of every chunk that has one of this model.
    pub fn each_vector(&self, model: &str, mut each: impl FnMut(VectorRow<'_>)) -> Result<(), StoreError> {
        let connection = self.connection();
        let mut read = || {
            let sql = "SELECT chunks.id, vectors.vector FROM chunks JOIN vectors ON vectors.digest = chunks.digest AND model = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([model])?;
            while let Some(row) = rows.next()? {
                each(VectorRow { chunk: row.get(0)?, bytes: row.get_ref(1)?.as_blob()? });
            }
            Ok(())
        };
        read().map_err(|error: rusqlite::Error| self.failed(error))
    }

    /// The vector of a chunk.
    pub fn vector(&self, model: &str, chunk: i64) -> Result<Option<Vec<f32>>, StoreError> {
        use rusqlite::OptionalExtension;
        let sql = "SELECT vector FROM vectors JOIN chunks ON chunks.digest = vectors.digest WHERE chunks.id = ?1 AND model = ?2";
        let connection = self.connection();
        let find = || connection.prepare_cached(sql)?.query_row(params![chunk, model], |row| row.get::<_, Vec<u8>>(0)).optional();
        let bytes = find().map_err(|error| self.failed(error))?;
        Ok(bytes.map(|bytes| bytes.chunks_exact(4).map(|part| f32::from_le_bytes([part[0], part[1], part[2], part[3]])).collect()))
    }
}
