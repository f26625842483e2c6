//! What the index holds of files.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;

use tokio_postgres::Row;

use super::ServerMemory;
use crate::backend::postgres::failure::Failure;
use crate::backend::postgres::link::{Columns, Link, Text, all, execute, row};
use crate::backend::values::{integer, nanoseconds_since_1970};
use crate::memory_store::terms_of;
use crate::{FileStamp, KnownFile, MemoryFiles, NewChunk, NewFile, StoreError};

const FILES: &str = "SELECT path, size, modified, changed, checked, digest, note FROM memory_files WHERE index = $1";
const COUNT: &str = "SELECT count(*), coalesce(avg(size), 1)::float8 FROM memory_chunks WHERE index = $1";
const TOUCH: &str = "UPDATE memory_files SET size = $3, modified = $4, changed = $5, checked = $6 WHERE index = $1 AND path = $2";
const REMOVE: &str = "DELETE FROM memory_files WHERE index = $1 AND path = ANY($2)";
const WRITERS: &str = "SELECT memory_chunks.digest, writer FROM memory_chunks JOIN memory_files ON memory_files.id = file \
     WHERE memory_files.index = $1 AND path = $2 AND writer IS NOT NULL";
const PUT_FILE: &str = "INSERT INTO memory_files (index, path, size, modified, changed, checked, digest, note) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id";
const PUT_CHUNKS: &str = "INSERT INTO memory_chunks (index, file, first, last, heading, text, digest, writer, size, body) \
     SELECT $1, $2, first, last, heading, text, digest, writer, size, to_tsvector('haft_words', words) \
     FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::bigint[], $10::text[]) \
     WITH ORDINALITY AS new (first, last, heading, text, digest, writer, size, words, place) ORDER BY place";
const PUT_TERMS: &str = "INSERT INTO memory_terms (index, term) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING";

impl MemoryFiles for ServerMemory {
    fn data_version(&self) -> Result<i64, StoreError> {
        self.read_own_version()
    }

    fn changes(&self) -> Result<i64, StoreError> {
        self.version()
    }

    fn files(&self) -> Result<HashMap<String, KnownFile>, StoreError> {
        let files = self.ask((), |link, (id, ())| Box::pin(async move { all(link, FILES, &[id], known_file).await }))?;
        Ok(files.into_iter().collect())
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.chunks().map(|(count, _)| count)
    }

    fn put(&self, files: &[NewFile]) -> Result<(), StoreError> {
        self.change(files.to_vec(), |link, (id, files)| Box::pin(put(link, *id, files)))
    }

    fn touch(&self, files: &[(String, KnownFile)]) -> Result<(), StoreError> {
        self.change(files.to_vec(), |link, (id, files)| {
            Box::pin(async move {
                for (path, KnownFile { stamp, checked, .. }) in files {
                    let (size, modified, changed) = columns(stamp);
                    execute(link, TOUCH, &[id, &Text(path), &size, &modified, &changed, checked]).await?;
                }
                Ok(())
            })
        })
    }

    fn remove(&self, paths: &[String]) -> Result<(), StoreError> {
        self.change(paths.to_vec(), |link, (id, paths)| {
            Box::pin(async move {
                let paths: Vec<Text<'_>> = paths.iter().map(|path| Text(path)).collect();
                execute(link, REMOVE, &[id, &paths]).await.map(drop)
            })
        })
    }
}

impl ServerMemory {
    /// How many chunks there are, and how many words they have in the mean. Counting takes longer than finding some.
    pub(super) fn chunks(&self) -> Result<(u64, f64), StoreError> {
        let state = self.version()?;
        let mut known = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count, mean)) = known.filter(|(counted, ..)| *counted == state) {
            return Ok((count, mean));
        }
        let (count, mean) = self.ask((), |link, (id, ())| {
            Box::pin(async move {
                let Some(found) = row(link, COUNT, &[id]).await? else { return Ok((0, 1.0)) };
                Ok((found.number(0)?, found.try_get::<_, f64>(1)?))
            })
        })?;
        *known = Some((state, count, mean));
        Ok((count, mean))
    }
}

fn known_file(row: &Row) -> Result<(String, KnownFile), Failure> {
    let stamp = FileStamp { size: row.number(1)?, modified: row.maybe_time(2)?, changed: row.maybe_time(3)? };
    Ok((row.text(0)?, KnownFile { stamp, checked: row.signed(4)?, digest: digest(row, 5)?, note: row.maybe_text(6)? }))
}

/// A hash as it is stored.
pub(super) fn digest(row: &Row, column: usize) -> Result<[u8; 16], Failure> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|error| Failure::unreadable("digest", error))
}

async fn put(link: &Link, index: i64, files: &[NewFile]) -> Result<(), Failure> {
    let mut terms = BTreeSet::new();
    for file in files {
        let writers = all(link, WRITERS, &[&index, &Text(&file.path)], |row| Ok((digest(row, 0)?, row.text(1)?))).await?;
        execute(link, REMOVE, &[&index, &vec![Text(&file.path)]]).await?;
        put_file(link, index, file, &writers.into_iter().collect()).await?;
        terms.extend(terms_of(file));
    }
    let terms: Vec<Text<'_>> = terms.into_iter().map(Text).collect();
    execute(link, PUT_TERMS, &[&index, &terms]).await.map(drop)
}

async fn put_file(link: &Link, index: i64, file: &NewFile, writers: &HashMap<[u8; 16], String>) -> Result<(), Failure> {
    let KnownFile { stamp, checked, digest, note } = &file.known;
    let (size, modified, changed) = columns(stamp);
    let values: super::super::link::Values<'_> =
        &[&index, &Text(&file.path), &size, &modified, &changed, checked, &&digest[..], &note.as_deref().map(Text)];
    let id = row(link, PUT_FILE, values).await?.map_or(Ok(0), |row| row.signed(0))?;
    if file.chunks.is_empty() {
        return Ok(());
    }
    let lines = |of: fn(&NewChunk) -> usize| -> Vec<i64> { file.chunks.iter().map(|chunk| integer(of(chunk))).collect() };
    let texts = |of: fn(&NewChunk) -> &String| -> Vec<Text<'_>> { file.chunks.iter().map(|chunk| Text(of(chunk))).collect() };
    let digests: Vec<&[u8]> = file.chunks.iter().map(|chunk| &chunk.digest[..]).collect();
    let writer = |chunk: &NewChunk| chunk.writer.as_deref().or_else(|| writers.get(&chunk.digest).map(String::as_str)).map(str::to_owned);
    let kept: Vec<Option<String>> = file.chunks.iter().map(writer).collect();
    let kept: Vec<Option<Text<'_>>> = kept.iter().map(|writer| writer.as_deref().map(Text)).collect();
    let (headings, bodies, words) = (texts(|chunk| &chunk.heading), texts(|chunk| &chunk.text), texts(|chunk| &chunk.words));
    let (first, last, sizes) = (lines(|chunk| chunk.first), lines(|chunk| chunk.last), lines(|chunk| chunk.words.split(' ').count()));
    execute(link, PUT_CHUNKS, &[&index, &id, &first, &last, &headings, &bodies, &digests, &kept, &sizes, &words]).await.map(drop)
}

/// Size, time of the last change of content, time of the last change.
fn columns(stamp: &FileStamp) -> (i64, Option<i64>, Option<i64>) {
    (integer(stamp.size), stamp.modified.map(nanoseconds_since_1970), stamp.changed.map(nanoseconds_since_1970))
}
