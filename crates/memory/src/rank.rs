//! Ranks what was found: by how much of the question it has, fused with the order by vectors, with age and diversity as settings.

use std::collections::{HashMap, HashSet};

use haft_store::ChunkRow;

use crate::question::ParsedQuestion;
use crate::words::{each_word, stem};

/// The constant of reciprocal rank fusion: how little the very first places count more than the next.
const FUSION: f64 = 60.0;
/// The share of the score that says how much of the question a chunk has; the rest is how well, by BM25.
const COVERAGE: f64 = 0.75;

/// A chunk on its way to the answer.
#[derive(Debug, Clone)]
pub(crate) struct RankedChunk {
    pub(crate) row: ChunkRow,
    /// How well it fits by words, from 0 to 1.
    pub(crate) text: f64,
    /// The cosine with the question, if vectors were compared.
    pub(crate) cosine: f64,
    /// By what it is ordered.
    pub(crate) order: f64,
}

impl RankedChunk {
    pub(crate) fn new(row: ChunkRow) -> Self {
        Self { row, text: 0.0, cosine: 0.0, order: 0.0 }
    }

    fn each_stem(&self, mut each: impl FnMut(&str)) {
        for part in [self.row.path.as_str(), self.row.heading.as_str(), self.row.text.as_str()] {
            each_word(part, |word| each(stem(word)));
        }
    }

    /// Stems of its words.
    fn stems(&self) -> HashSet<String> {
        let mut stems = HashSet::new();
        self.each_stem(|stem| {
            stems.insert(stem.to_owned());
        });
        stems
    }

    /// How well it fits, from 0 to 1.
    pub(crate) fn score(&self) -> f64 {
        self.text.max(self.cosine).clamp(0.0, 1.0)
    }

    /// Scores it by its words; `share` is its BM25 value as a share of the best.
    pub(crate) fn score_text(&mut self, wanted: &WantedStems<'_>, share: f64) {
        let mut best = vec![0.0_f64; wanted.weights.len()];
        self.each_stem(|stem| {
            for (group, worth) in wanted.stems.get(stem).into_iter().flatten() {
                best[*group] = best[*group].max(*worth);
            }
        });
        let met: f64 = best.iter().zip(&wanted.weights).map(|(best, weight)| best * weight).sum();
        let all: f64 = wanted.weights.iter().sum();
        let coverage = if all > 0.0 { met / all } else { 0.0 };
        self.text = if met > 0.0 { COVERAGE * coverage + (1.0 - COVERAGE) * share } else { 0.0 };
    }
}

/// The stems that meet the words of a question.
pub(crate) struct WantedStems<'q> {
    /// For each stem, the groups that it meets, and how much that counts.
    stems: HashMap<&'q str, Vec<(usize, f64)>>,
    /// How much each group tells.
    weights: Vec<f64>,
}

impl<'q> WantedStems<'q> {
    pub(crate) fn from_question(question: &'q ParsedQuestion) -> Self {
        let mut stems: HashMap<&str, Vec<(usize, f64)>> = HashMap::new();
        for (at, group) in question.groups.iter().enumerate() {
            for (word, worth) in group.spellings() {
                stems.entry(stem(word)).or_default().push((at, worth));
            }
        }
        Self { stems, weights: question.groups.iter().map(|group| group.weight).collect() }
    }
}

/// Orders by words alone, or by words and vectors together.
pub(crate) fn order(candidates: &mut [RankedChunk], by_vectors: &[i64]) {
    candidates.sort_by(|one, other| other.text.total_cmp(&one.text).then(one.row.id.cmp(&other.row.id)));
    if by_vectors.is_empty() {
        for candidate in candidates.iter_mut() {
            candidate.order = candidate.text;
        }
        return;
    }
    let by_words: Vec<i64> = candidates.iter().filter(|candidate| candidate.text > 0.0).map(|candidate| candidate.row.id).collect();
    let fused = fuse(&[&by_words, by_vectors]);
    for candidate in candidates.iter_mut() {
        candidate.order = fused.get(&candidate.row.id).copied().unwrap_or_default();
    }
    sort_by_order(candidates);
}

fn sort_by_order(candidates: &mut [RankedChunk]) {
    candidates.sort_by(|one, other| {
        let order = other.order.total_cmp(&one.order).then(other.score().total_cmp(&one.score()));
        order.then(one.row.id.cmp(&other.row.id))
    });
}

/// Reciprocal rank fusion.
#[expect(clippy::cast_precision_loss, reason = "a rank")]
fn fuse(lists: &[&[i64]]) -> HashMap<i64, f64> {
    let mut fused = HashMap::new();
    for list in lists {
        for (rank, id) in list.iter().enumerate() {
            *fused.entry(*id).or_insert(0.0) += 1.0 / (FUSION + rank as f64 + 1.0);
        }
    }
    fused
}

/// Lets old notes count less: half as much after so many days.
pub(crate) fn decay(candidates: &mut [RankedChunk], half_life_days: f64, now: std::time::SystemTime) {
    if half_life_days <= 0.0 {
        return;
    }
    for candidate in candidates.iter_mut() {
        let age = candidate.row.modified.and_then(|modified| now.duration_since(modified).ok()).unwrap_or_default();
        let factor = 0.5_f64.powf(age.as_secs_f64() / 86_400.0 / half_life_days);
        candidate.text *= factor;
        candidate.cosine *= factor;
        candidate.order *= factor;
    }
    sort_by_order(candidates);
}

/// Chooses so many, the best first; with diversity (0 to 1) one that repeats what was chosen comes later.
pub(crate) fn choose(mut candidates: Vec<RankedChunk>, most: usize, diversity: f64) -> Vec<RankedChunk> {
    if diversity <= 0.0 {
        candidates.truncate(most);
        return candidates;
    }
    let best = candidates.first().map_or(1.0, |first| first.order).max(f64::MIN_POSITIVE);
    let mut candidates: Vec<(RankedChunk, HashSet<String>)> = candidates
        .into_iter()
        .map(|candidate| {
            let stems = candidate.stems();
            (candidate, stems)
        })
        .collect();
    let mut chosen: Vec<(RankedChunk, HashSet<String>)> = Vec::new();
    while chosen.len() < most && !candidates.is_empty() {
        let value = |(candidate, stems): &(RankedChunk, HashSet<String>)| {
            let repeated = chosen.iter().map(|(_, other)| similarity(stems, other)).fold(0.0, f64::max);
            (1.0 - diversity) * candidate.order / best - diversity * repeated
        };
        let values: Vec<f64> = candidates.iter().map(value).collect();
        let next = (0..values.len()).rev().max_by(|one, other| values[*one].total_cmp(&values[*other])).unwrap_or(0);
        chosen.push(candidates.remove(next));
    }
    chosen.into_iter().map(|(candidate, _)| candidate).collect()
}

/// The share of words that two sets have in common.
#[expect(clippy::cast_precision_loss, reason = "a share")]
pub(crate) fn similarity(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn candidate(id: i64, text: &str, score: f64, modified: SystemTime) -> RankedChunk {
        let row = ChunkRow {
            id,
            path: "memory/a.md".into(),
            modified: Some(modified),
            first: 1,
            last: 1,
            heading: String::new(),
            text: text.into(),
            writer: None,
        };
        RankedChunk { text: score, order: score, ..RankedChunk::new(row) }
    }

    fn ids(candidates: &[RankedChunk]) -> Vec<i64> {
        candidates.iter().map(|candidate| candidate.row.id).collect()
    }

    #[test]
    fn fusion_prefers_what_both_lists_have() {
        let now = SystemTime::now();
        let mut all = vec![candidate(1, "a", 0.9, now), candidate(2, "b", 0.8, now), candidate(3, "c", 0.0, now)];
        order(&mut all, &[2, 3]);
        assert_eq!(ids(&all), [2, 1, 3]);
        order(&mut all, &[]);
        assert_eq!(ids(&all), [1, 2, 3]);
    }

    #[test]
    fn age_halves_the_score_and_diversity_puts_repeats_last() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 100);
        let old = now - Duration::from_hours(24 * 30);
        let mut all = vec![candidate(1, "red green", 0.9, old), candidate(2, "blue", 0.5, now)];
        decay(&mut all, 0.0, now);
        assert_eq!(ids(&all), [1, 2], "off");
        decay(&mut all, 30.0, now);
        assert_eq!((ids(&all), (all[1].text * 100.0).round()), (vec![2, 1], 45.0));
        let repeats = || {
            vec![candidate(1, "red green blue", 0.9, now), candidate(2, "red green blue", 0.89, now), candidate(3, "black white", 0.6, now)]
        };
        assert_eq!(ids(&choose(repeats(), 2, 0.0)), [1, 2]);
        assert_eq!(ids(&choose(repeats(), 2, 0.5)), [1, 3]);
    }
}
