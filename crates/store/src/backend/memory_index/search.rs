//! Searches of the index.

use rusqlite::{OptionalExtension, params};

use super::{ChunkRow, MemoryDatabase};
use crate::StoreError;
use crate::backend::values::time;

/// So many of the newest chunks are compared by their values where nearly all match.
const NEWEST: i64 = 2048;

impl MemoryDatabase {
    /// A word is counted up to here: a more common one says nothing.
    pub const COUNTED: u64 = 4096;

    /// The chunks that an FTS5 expression matches, each with its BM25 value, where more is better; the best first.
    pub fn find(&self, expression: &str, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        self.ranked("SELECT rowid, -rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT ?2", expression, limit)
    }

    /// As [`find`](Self::find), among the chunks that were indexed last: for expressions that nearly all chunks match, of which the best
    /// are not much better.
    pub fn find_newest(&self, expression: &str, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        let newest = format!("SELECT rowid AS id, rank AS place FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT {NEWEST}");
        self.ranked(&format!("SELECT id, -place FROM ({newest}) ORDER BY place LIMIT ?2"), expression, limit)
    }

    fn ranked(&self, sql: &str, expression: &str, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        let connection = self.connection();
        let find = || {
            let mut statement = connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![expression, i64::try_from(limit).unwrap_or(i64::MAX)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(|error| self.failed(error))
    }

    /// About how many chunks an FTS5 expression matches: exact up to some thousands.
    pub fn frequency(&self, expression: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)";
        let connection = self.connection();
        let count =
            || connection.prepare_cached(sql)?.query_row(params![expression, Self::COUNTED.cast_signed()], |row| row.get::<_, i64>(0));
        count().map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }

    /// Words of the index that an FTS5 expression of trigrams matches and that have so many characters.
    pub fn terms(&self, grams: &str, characters: std::ops::RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT terms.term FROM grams JOIN terms ON terms.id = grams.rowid WHERE grams MATCH ?1 \
             AND length(terms.term) BETWEEN ?2 AND ?3 LIMIT ?4";
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let connection = self.connection();
        let find = || {
            let mut statement = connection.prepare_cached(sql)?;
            let bounds = params![grams, whole(*characters.start()), whole(*characters.end()), whole(limit)];
            let rows = statement.query_map(bounds, |row| row.get(0))?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(|error| self.failed(error))
    }

    /// Words of the index with this first character that have so many characters: a short word may share no trigram with its correction.
    pub fn terms_like(&self, first: char, characters: std::ops::RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT term FROM terms WHERE term >= ?1 AND term < ?2 AND length(term) BETWEEN ?3 AND ?4 LIMIT ?5";
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (start, end) = (first.to_string(), char::from_u32(u32::from(first) + 1).unwrap_or(char::MAX).to_string());
        let connection = self.connection();
        let find = || {
            let mut statement = connection.prepare_cached(sql)?;
            let bounds = params![start, end, whole(*characters.start()), whole(*characters.end()), whole(limit)];
            let rows = statement.query_map(bounds, |row| row.get(0))?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(|error| self.failed(error))
    }

    /// A chunk by its number.
    pub fn chunk(&self, id: i64) -> Result<Option<ChunkRow>, StoreError> {
        let sql = "SELECT chunks.id, files.path, files.modified, first, last, heading, text, writer FROM chunks \
             JOIN files ON files.id = chunks.file WHERE chunks.id = ?1";
        let connection = self.connection();
        let find = || connection.prepare_cached(sql)?.query_row([id], row).optional();
        find().map_err(|error| self.failed(error))
    }

    /// Calls `each` with every chunk, file by file, from the first line to the last.
    pub fn each_chunk(&self, mut each: impl FnMut(ChunkRow)) -> Result<(), StoreError> {
        let sql = "SELECT chunks.id, files.path, files.modified, first, last, heading, text, writer FROM chunks \
             JOIN files ON files.id = chunks.file ORDER BY files.path, first, chunks.id";
        let connection = self.connection();
        let mut read = || {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], row)?;
            rows.into_iter().try_for_each(|row| row.map(&mut each))
        };
        read().map_err(|error| self.failed(error))
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<ChunkRow> {
    let line = |column| -> rusqlite::Result<usize> { Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(1)) };
    Ok(ChunkRow {
        id: row.get(0)?,
        path: row.get(1)?,
        modified: row.get::<_, Option<i64>>(2)?.map(time),
        first: line(3)?,
        last: line(4)?,
        heading: row.get(5)?,
        text: row.get(6)?,
        writer: row.get(7)?,
    })
}
