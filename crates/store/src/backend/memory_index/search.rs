//! Searches of the index.

use rusqlite::{OptionalExtension, params};

use super::MemoryDatabase;
use crate::backend::values::time;
use crate::memory_store::{COUNTED, NEWEST};
use crate::{ChunkRow, GramQuery, MemorySearch, StoreError, WordQuery};

impl MemorySearch for MemoryDatabase {
    fn find(&self, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        self.ranked("SELECT rowid, -rank FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT ?2", query, limit)
    }

    fn find_newest(&self, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        let newest = format!("SELECT rowid AS id, rank AS place FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT {NEWEST}");
        self.ranked(&format!("SELECT id, -place FROM ({newest}) ORDER BY place LIMIT ?2"), query, limit)
    }

    fn frequency(&self, word: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 LIMIT ?2)";
        let connection = self.connection();
        let count = || connection.prepare_cached(sql)?.query_row(params![quoted(word), COUNTED.cast_signed()], |row| row.get::<_, i64>(0));
        count().map(i64::unsigned_abs).map_err(|error| self.failed(error))
    }

    fn terms(&self, grams: &GramQuery, characters: std::ops::RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT terms.term FROM grams JOIN terms ON terms.id = grams.rowid WHERE grams MATCH ?1 \
             AND length(terms.term) BETWEEN ?2 AND ?3 LIMIT ?4";
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let connection = self.connection();
        let find = || {
            let mut statement = connection.prepare_cached(sql)?;
            let bounds = params![gram_expression(grams), whole(*characters.start()), whole(*characters.end()), whole(limit)];
            let rows = statement.query_map(bounds, |row| row.get(0))?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(|error| self.failed(error))
    }

    fn terms_like(&self, first: char, characters: std::ops::RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError> {
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

    fn chunk(&self, id: i64) -> Result<Option<ChunkRow>, StoreError> {
        let sql = "SELECT chunks.id, files.path, files.modified, first, last, heading, text, writer FROM chunks \
             JOIN files ON files.id = chunks.file WHERE chunks.id = ?1";
        let connection = self.connection();
        let find = || connection.prepare_cached(sql)?.query_row([id], row).optional();
        find().map_err(|error| self.failed(error))
    }

    fn each_chunk(&self, each: &mut dyn FnMut(ChunkRow)) -> Result<(), StoreError> {
        let sql = "SELECT chunks.id, files.path, files.modified, first, last, heading, text, writer FROM chunks \
             JOIN files ON files.id = chunks.file ORDER BY files.path, first, chunks.id";
        let connection = self.connection();
        let mut read = || {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], row)?;
            rows.into_iter().try_for_each(|row| row.map(&mut *each))
        };
        read().map_err(|error| self.failed(error))
    }
}

impl MemoryDatabase {
    fn ranked(&self, sql: &str, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        let connection = self.connection();
        let find = || {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement
                .query_map(params![expression(query), i64::try_from(limit).unwrap_or(i64::MAX)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()
        };
        find().map_err(|error| self.failed(error))
    }
}

/// A word as FTS5 takes it: in quotes nothing is syntax. Our words have no quotes in them.
fn quoted(word: impl AsRef<str>) -> String {
    format!("\"{}\"", word.as_ref().replace('"', ""))
}

/// Groups of which each is met by any of its words.
fn expression(query: &WordQuery) -> String {
    let (groups, joint) = match query {
        WordQuery::Every(groups) => (groups, " AND "),
        WordQuery::Any(groups) => (groups, " OR "),
    };
    let group = |words: &Vec<String>| format!("({})", words.iter().map(quoted).collect::<Vec<_>>().join(" OR "));
    groups.iter().map(group).collect::<Vec<_>>().join(joint)
}

fn gram_expression(grams: &GramQuery) -> String {
    let all = |grams: &Vec<String>| format!("({})", grams.iter().map(quoted).collect::<Vec<_>>().join(" AND "));
    grams.iter().map(all).collect::<Vec<_>>().join(" OR ")
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
