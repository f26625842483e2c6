//! One search of the index.

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use haft_contract::ports::{MemoryHit, MemoryQuery, MemorySource, MemoryWriter};
use haft_store::{MemoryStore, StoreError, WordQuery};
use jiff::civil::Date;

use crate::question::ParsedQuestion;
use crate::rank::{self, RankedChunk, WantedStems};
use crate::snippet::snippet;

/// Chunks that are ranked, at most.
const CANDIDATES: usize = 100;
/// Chunks that have all words, from which on it is not looked for those that have some.
const ENOUGH: usize = 30;

/// What a search is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchSettings {
    pub(crate) half_life_days: f64,
    pub(crate) diversity: f64,
    pub(crate) now: SystemTime,
    pub(crate) today: Date,
}

/// The vectors nearest to the question: chunks and cosines, the nearest first.
pub(crate) type NearChunks = Vec<(i64, f64)>;

/// Finds the best chunks of visible files.
pub(crate) fn search(
    database: &dyn MemoryStore,
    query: &MemoryQuery,
    visible: &HashSet<String>,
    near: &NearChunks,
    settings: SearchSettings,
) -> Result<Vec<MemoryHit>, StoreError> {
    let chunks = database.count()?;
    let question = ParsedQuestion::read(&query.query, settings.today, database, chunks)?;
    let found = find(database, &question, chunks)?;
    let best = found.iter().map(|(_, value)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let values: HashMap<i64, f64> = found.iter().copied().collect();
    let cosines: HashMap<i64, f64> = near.iter().copied().collect();
    let (mut candidates, wanted) = (Vec::new(), WantedStems::from_question(&question));
    let mut seen = HashSet::new();
    for id in found.iter().map(|(id, _)| *id).chain(near.iter().map(|(id, _)| *id)).filter(|id| seen.insert(*id)) {
        let Some(row) = database.chunk(id)?.filter(|row| visible.contains(&row.path)) else { continue };
        let mut candidate = RankedChunk::new(row);
        candidate.score_text(&wanted, values.get(&id).copied().unwrap_or_default() / best);
        candidate.cosine = cosines.get(&id).copied().unwrap_or_default();
        candidates.push(candidate);
    }
    let by_vectors: Vec<i64> = near.iter().map(|(id, _)| *id).collect();
    rank::order(&mut candidates, &by_vectors);
    rank::decay(&mut candidates, settings.half_life_days, settings.now);
    candidates.retain(|candidate| candidate.score() >= query.min_score);
    let chosen = rank::choose(candidates, query.max_results, settings.diversity);
    Ok(chosen.iter().map(|candidate| hit(candidate, &question)).collect())
}

/// Chunks with all words; if those are few, also chunks with some.
fn find(database: &dyn MemoryStore, question: &ParsedQuestion, chunks: u64) -> Result<Vec<(i64, f64)>, StoreError> {
    let is_common = question.is_common(database.counted());
    let ranked = |query: WordQuery| if is_common { database.find_newest(&query, CANDIDATES) } else { database.find(&query, CANDIDATES) };
    let mut found = question.every_word().map_or_else(|| Ok(Vec::new()), ranked)?;
    if found.len() < ENOUGH
        && let Some(query) = question.any_word(chunks)
    {
        let known: HashSet<i64> = found.iter().map(|(id, _)| *id).collect();
        found.extend(ranked(query)?.into_iter().filter(|(id, _)| !known.contains(id)));
    }
    Ok(found)
}

fn hit(candidate: &RankedChunk, question: &ParsedQuestion) -> MemoryHit {
    let row = &candidate.row;
    MemoryHit {
        path: row.path.clone(),
        start_line: row.first,
        end_line: row.last,
        score: (candidate.score() * 1000.0).round() / 1000.0,
        snippet: snippet(&row.text, question),
        source: MemorySource::Memory,
        modified: row.modified,
        writer: writer(row.writer.as_deref()),
    }
}

/// The writer as it is stored. One that cannot be read is not trusted.
pub(crate) fn writer(stored: Option<&str>) -> MemoryWriter {
    let Some(stored) = stored else { return MemoryWriter::default() };
    serde_json::from_str(stored).unwrap_or(MemoryWriter { is_tainted: true, is_mixed: true, ..MemoryWriter::default() })
}
