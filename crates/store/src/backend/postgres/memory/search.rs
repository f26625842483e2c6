//! Searches of the index: the server finds the chunks that have the words, and gives each its BM25 value.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use tokio_postgres::Row;

use super::ServerMemory;
use crate::backend::postgres::failure::Failure;
use crate::backend::postgres::link::{Columns, Link, Text, all, row};
use crate::backend::values::integer;
use crate::memory_store::{COUNTED, NEWEST};
use crate::{ChunkRow, GramQuery, MemorySearch, StoreError, WordQuery};

const LEXEMES: &str = "SELECT plainto_tsquery('haft_words', word)::text, tsvector_to_array(to_tsvector('haft_words', word)) \
     FROM unnest($1::text[]) WITH ORDINALITY AS asked (word, place) ORDER BY place";
const FREQUENCY: &str = "SELECT count(*) FROM (SELECT 1 FROM memory_chunks WHERE index = $1 AND body @@ plainto_tsquery('haft_words', $2) \
     LIMIT $3) AS found";
const TERMS: &str = "SELECT term FROM memory_terms WHERE index = $1 AND char_length(term)::bigint BETWEEN $2 AND $3 AND term LIKE ANY ($4) \
     AND EXISTS (SELECT 1 FROM unnest($4::text[], $5::text[]) AS pair (one, other) WHERE term LIKE one AND term LIKE other) LIMIT $6";
const TERMS_LIKE: &str = "SELECT term FROM memory_terms WHERE index = $1 AND term >= $2 AND term < $3 \
     AND char_length(term)::bigint BETWEEN $4 AND $5 LIMIT $6";
const CHUNKS: &str = "SELECT memory_chunks.id, path, modified, first, last, heading, text, writer FROM memory_chunks \
     JOIN memory_files ON memory_files.id = memory_chunks.file WHERE memory_chunks.index = $1";
/// So many chunks are compared by their BM25 values, at most.
const COMPARED: i64 = NEWEST;

/// In which order chunks are taken that are compared.
#[derive(Debug, Clone, Copy)]
enum FirstTaken {
    Best,
    Newest,
}

/// What is looked for: with an expression, among chunks that have so many words in the mean.
struct RankRequest {
    query: WordQuery,
    first: FirstTaken,
    chunks: u64,
    mean: f64,
    limit: usize,
}

impl ServerMemory {
    fn ranked(&self, query: &WordQuery, first: FirstTaken, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        let (chunks, mean) = self.chunks()?;
        let request = RankRequest { query: query.clone(), first, chunks, mean, limit };
        self.ask(request, |link, (index, request)| Box::pin(rank(link, *index, request)))
    }
}

/// BM25 with the constants of SQLite's FTS5. `$3` are the lexemes that count, `$4` the chunks, `$5` their words in the mean.
fn rank_sql(first: FirstTaken) -> String {
    let order = match first {
        FirstTaken::Best => "ts_rank(body, $2::text::tsquery) DESC, id DESC",
        FirstTaken::Newest => "id DESC",
    };
    format!(
        "WITH found AS MATERIALIZED (SELECT id, size, body FROM memory_chunks WHERE index = $1 AND body @@ $2::text::tsquery \
         ORDER BY {order} LIMIT {COMPARED}), \
         counted AS MATERIALIZED (SELECT lexeme, (SELECT count(*) FROM (SELECT 1 FROM memory_chunks WHERE index = $1 \
         AND body @@ quote_literal(lexeme)::tsquery LIMIT {COUNTED}) AS met)::float8 AS chunks FROM unnest($3::text[]) AS lexeme), \
         weighed AS MATERIALIZED (SELECT lexeme, ln(1 + greatest($4 - chunks + 0.5, 0.5) / (chunks + 0.5)) AS weight FROM counted) \
         SELECT id, sum(weight * cardinality(positions) * 2.2 / (cardinality(positions) + 1.2 * (0.25 + 0.75 * size / $5::float8)))::float8 AS value \
         FROM found, unnest(body) AS word (lexeme, positions, weights) JOIN weighed USING (lexeme) \
         GROUP BY id ORDER BY value DESC, id LIMIT $6"
    )
}

async fn rank(link: &Link, index: i64, request: &RankRequest) -> Result<Vec<(i64, f64)>, Failure> {
    let (groups, joint) = match &request.query {
        WordQuery::Every(groups) => (groups, " & "),
        WordQuery::Any(groups) => (groups, " | "),
    };
    let (mut expressions, mut lexemes) = (Vec::new(), BTreeSet::new());
    for group in groups {
        let words: Vec<Text<'_>> = group.iter().map(|word| Text(word)).collect();
        let asked = all(link, LEXEMES, &[&words], |row| Ok((row.text(0)?, row.try_get::<_, Vec<String>>(1)?))).await?;
        let (parts, found): (Vec<String>, Vec<Vec<String>>) = asked.into_iter().filter(|(part, _)| !part.is_empty()).unzip();
        lexemes.extend(found.into_iter().flatten());
        if !parts.is_empty() {
            expressions.push(format!("({})", parts.iter().map(|part| format!("({part})")).collect::<Vec<_>>().join(" | ")));
        }
    }
    if expressions.is_empty() {
        return Ok(Vec::new());
    }
    let (expression, lexemes): (String, Vec<String>) = (expressions.join(joint), lexemes.into_iter().collect());
    #[expect(clippy::cast_precision_loss, reason = "a weight")]
    let chunks = request.chunks as f64;
    let values: super::super::link::Values<'_> =
        &[&index, &Text(&expression), &lexemes, &chunks, &request.mean.max(1.0), &integer(request.limit)];
    all(link, &rank_sql(request.first), values, |row| Ok((row.signed(0)?, row.try_get(1)?))).await
}

impl MemorySearch for ServerMemory {
    fn find(&self, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        self.ranked(query, FirstTaken::Best, limit)
    }

    fn find_newest(&self, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError> {
        self.ranked(query, FirstTaken::Newest, limit)
    }

    fn frequency(&self, word: &str) -> Result<u64, StoreError> {
        self.ask(word.to_owned(), |link, (index, word)| {
            Box::pin(
                async move { row(link, FREQUENCY, &[index, &Text(word), &integer(COUNTED)]).await?.map_or(Ok(0), |row| row.number(0)) },
            )
        })
    }

    fn terms(&self, grams: &GramQuery, characters: RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError> {
        let pattern = |gram: Option<&String>| format!("%{}%", gram.map_or("", String::as_str).replace(['%', '_', '\\'], ""));
        let patterns: (Vec<String>, Vec<String>) = grams.iter().map(|grams| (pattern(grams.first()), pattern(grams.last()))).unzip();
        self.ask((patterns, characters, limit), |link, (index, ((one, other), characters, limit))| {
            Box::pin(async move {
                let (least, most) = (integer(*characters.start()), integer(*characters.end()));
                all(link, TERMS, &[index, &least, &most, one, other, &integer(*limit)], |row| row.text(0)).await
            })
        })
    }

    fn terms_like(&self, first: char, characters: RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError> {
        let bounds = (first.to_string(), char::from_u32(u32::from(first) + 1).unwrap_or(char::MAX).to_string());
        self.ask((bounds, characters, limit), |link, (index, ((start, end), characters, limit))| {
            Box::pin(async move {
                let (least, most) = (integer(*characters.start()), integer(*characters.end()));
                all(link, TERMS_LIKE, &[index, &Text(start), &Text(end), &least, &most, &integer(*limit)], |row| row.text(0)).await
            })
        })
    }

    fn chunk(&self, id: i64) -> Result<Option<ChunkRow>, StoreError> {
        self.ask(id, |link, (index, id)| {
            Box::pin(async move {
                let found = row(link, &format!("{CHUNKS} AND memory_chunks.id = $2"), &[index, id]).await?;
                found.as_ref().map(chunk_row).transpose()
            })
        })
    }

    fn each_chunk(&self, each: &mut dyn FnMut(ChunkRow)) -> Result<(), StoreError> {
        let rows = self.ask((), |link, (index, ())| {
            Box::pin(async move { all(link, &format!("{CHUNKS} ORDER BY path, first, memory_chunks.id"), &[index], chunk_row).await })
        })?;
        rows.into_iter().for_each(each);
        Ok(())
    }
}

fn chunk_row(row: &Row) -> Result<ChunkRow, Failure> {
    let line = |column| Ok::<_, Failure>(usize::try_from(row.number(column)?).unwrap_or(1));
    Ok(ChunkRow {
        id: row.signed(0)?,
        path: row.text(1)?,
        modified: row.maybe_time(2)?,
        first: line(3)?,
        last: line(4)?,
        heading: row.text(5)?,
        text: row.text(6)?,
        writer: row.maybe_text(7)?,
    })
}
