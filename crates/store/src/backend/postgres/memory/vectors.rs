//! Vectors of texts.

use std::collections::HashSet;

use super::ServerMemory;
use super::files::digest;
use crate::backend::postgres::failure::Failure;
use crate::backend::postgres::link::{Columns, Link, Text, all, execute, row, rows};
use crate::backend::values::integer;
use crate::memory_store::{MOST_REPEATS, is_worth_pruning, numbers, vector_bytes};
use crate::{MemoryFiles, MemoryVectors, MissingVectors, StoreError, StoredVector, VectorRow, VectorTask};

const DONE: &str = "SELECT (SELECT coalesce(max(chunk), 0) FROM memory_embedded WHERE index = $1 AND model = $2), \
     (SELECT coalesce(max(id), 0) FROM memory_chunks WHERE index = $1)";
const WITHOUT: &str = "FROM memory_chunks WHERE index = $1 AND id > $3 AND NOT EXISTS (SELECT 1 FROM memory_vectors \
     WHERE memory_vectors.index = $1 AND memory_vectors.digest = memory_chunks.digest AND model = $2)";
const PUT: &str = "INSERT INTO memory_vectors (index, digest, model, vector) SELECT $1, digest, $2, vector \
     FROM unnest($3::bytea[], $4::bytea[]) AS new (digest, vector) ON CONFLICT DO NOTHING";
const EMBEDDED: &str = "INSERT INTO memory_embedded (index, model, chunk) VALUES ($1, $2, $3) \
     ON CONFLICT (index, model) DO UPDATE SET chunk = greatest(memory_embedded.chunk, excluded.chunk)";
const PRUNE: &str = "DELETE FROM memory_vectors WHERE index = $1 AND (model <> $2 OR NOT EXISTS (SELECT 1 FROM memory_chunks \
     WHERE memory_chunks.index = $1 AND memory_chunks.digest = memory_vectors.digest))";
const READ: &str = "SELECT id, vector FROM memory_vectors WHERE index = $1 AND model = $2 AND id > $3 ORDER BY id LIMIT 4096";
const ONE: &str = "SELECT vector, memory_chunks.id FROM memory_vectors JOIN memory_chunks ON memory_chunks.index = memory_vectors.index \
     AND memory_chunks.digest = memory_vectors.digest WHERE memory_vectors.index = $1 AND memory_vectors.id = $2 LIMIT $3";

impl MemoryVectors for ServerMemory {
    fn missing_vectors(&self, model: &str, limit: usize) -> Result<Option<MissingVectors>, StoreError> {
        self.ask((model.to_owned(), limit), |link, (index, (model, limit))| Box::pin(missing(link, *index, model, *limit)))
    }

    fn count_missing(&self, model: &str) -> Result<u64, StoreError> {
        self.ask(model.to_owned(), |link, (index, model)| {
            Box::pin(async move {
                let (done, _) = read_progress(link, *index, model).await?;
                let counted = row(link, &format!("SELECT count(*) {WITHOUT}"), &[index, &Text(model), &done]).await?;
                counted.map_or(Ok(0), |row| row.number(0))
            })
        })
    }

    fn put_vectors(&self, model: &str, vectors: &[([u8; 16], Vec<f32>)], up_to: i64) -> Result<(), StoreError> {
        let vectors: (Vec<Vec<u8>>, Vec<Vec<u8>>) = vectors.iter().map(|(digest, vector)| (digest.to_vec(), vector_bytes(vector))).unzip();
        self.change((model.to_owned(), vectors, up_to), |link, (index, (model, (digests, vectors), up_to))| {
            Box::pin(async move {
                execute(link, PUT, &[index, &Text(model), digests, vectors]).await?;
                execute(link, EMBEDDED, &[index, &Text(model), up_to]).await.map(drop)
            })
        })
    }

    fn prune_vectors(&self, model: &str) -> Result<bool, StoreError> {
        let stored = self.ask((), |link, (index, ())| {
            Box::pin(async move {
                let counted = row(link, "SELECT count(*) FROM memory_vectors WHERE index = $1", &[index]).await?;
                counted.map_or(Ok(0), |row| row.number(0))
            })
        })?;
        if !is_worth_pruning(stored, self.count()?) {
            return Ok(false);
        }
        self.change(model.to_owned(), |link, (index, model)| {
            Box::pin(async move {
                execute(link, PRUNE, &[index, &Text(model)]).await?;
                execute(link, "DELETE FROM memory_embedded WHERE index = $1 AND model <> $2", &[index, &Text(model)]).await.map(drop)
            })
        })?;
        Ok(true)
    }

    fn remove_vectors(&self, model: &str) -> Result<(), StoreError> {
        self.change(model.to_owned(), |link, (index, model)| {
            Box::pin(async move {
                execute(link, "DELETE FROM memory_vectors WHERE index = $1 AND model = $2", &[index, &Text(model)]).await?;
                execute(link, "DELETE FROM memory_embedded WHERE index = $1 AND model = $2", &[index, &Text(model)]).await.map(drop)
            })
        })
    }

    fn count_vectors(&self, model: &str) -> Result<usize, StoreError> {
        let counted = self.ask(model.to_owned(), |link, (index, model)| {
            Box::pin(async move {
                let sql = "SELECT count(*) FROM memory_vectors WHERE index = $1 AND model = $2";
                row(link, sql, &[index, &Text(model)]).await?.map_or(Ok(0), |row| row.number(0))
            })
        })?;
        Ok(usize::try_from(counted).unwrap_or(0))
    }

    fn each_vector(&self, model: &str, after: i64, each: &mut dyn FnMut(VectorRow<'_>)) -> Result<(), StoreError> {
        let mut after = after;
        loop {
            let found = self.ask((model.to_owned(), after), |link, (index, (model, after))| {
                let read = |row: &tokio_postgres::Row| Ok((row.signed(0)?, row.try_get::<_, Vec<u8>>(1)?));
                Box::pin(async move { all(link, READ, &[index, &Text(model), after], read).await })
            })?;
            let Some((last, _)) = found.last() else { return Ok(()) };
            after = *last;
            for (id, bytes) in &found {
                each(VectorRow { id: *id, bytes });
            }
        }
    }

    fn vector(&self, id: i64) -> Result<Option<StoredVector>, StoreError> {
        self.ask(id, |link, (index, id)| {
            Box::pin(async move {
                let mut found = StoredVector::default();
                for row in rows(link, ONE, &[index, id, &MOST_REPEATS]).await? {
                    if found.chunks.is_empty() {
                        found.numbers = numbers(row.try_get(0)?).collect();
                    }
                    found.chunks.push(row.signed(1)?);
                }
                Ok(Some(found).filter(|found| !found.chunks.is_empty()))
            })
        })
    }
}

/// The number up to which every chunk has a vector, and the last one.
async fn read_progress(link: &Link, index: i64, model: &str) -> Result<(i64, i64), Failure> {
    row(link, DONE, &[&index, &Text(model)]).await?.map_or(Ok((0, 0)), |row| Ok((row.signed(0)?, row.signed(1)?)))
}

async fn missing(link: &Link, index: i64, model: &str, limit: usize) -> Result<Option<MissingVectors>, Failure> {
    let (done, last) = read_progress(link, index, model).await?;
    if done >= last {
        return Ok(None);
    }
    let sql = format!("SELECT id, digest, heading, text {WITHOUT} ORDER BY id LIMIT $4");
    let found = rows(link, &sql, &[&index, &Text(model), &done, &integer(limit)]).await?;
    let mut missing = MissingVectors { tasks: Vec::new(), up_to: last, is_last: true };
    if let Some(row) = found.get(limit.saturating_sub(1)) {
        (missing.up_to, missing.is_last) = (row.signed(0)?, false);
    }
    let mut seen = HashSet::new();
    for row in &found {
        let digest = digest(row, 1)?;
        if seen.insert(digest) {
            missing.tasks.push(VectorTask { digest, text: format!("{}\n{}", row.text(2)?, row.text(3)?).trim().to_owned() });
        }
    }
    Ok(Some(missing))
}
