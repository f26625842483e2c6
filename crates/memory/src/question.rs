//! A question, as it is searched: groups of words, of which each may be met by its corrections.

use std::collections::BTreeSet;

use haft_store::{MemoryStore, StoreError, WordQuery};
use haft_text::truncate::first_bytes;
use jiff::civil::Date;

use crate::dates::relative_date_words;
use crate::fuzzy::{self, Correction};
use crate::words::{is_common, words};

/// More of a question is not read.
const MOST_BYTES: usize = 4_096;
/// More words do not make it clearer.
const MOST_WORDS: usize = 32;
/// Words that were looked at as corrections, at most.
const CANDIDATES: usize = 4_000;
/// Two letters that change places in so short a word leave no trigram as it was.
const SHORT: usize = 7;
const SHORT_CANDIDATES: usize = 50_000;
/// Words that are corrected, at most: each takes a search.
const CORRECTED: usize = 6;

/// One word of a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WordGroup {
    pub(crate) word: String,
    /// Words that count in its place, because no chunk has it.
    pub(crate) corrections: Vec<Correction>,
    /// How much the word tells: rare words tell more.
    pub(crate) weight: f64,
    /// How many chunks have it.
    pub(crate) frequency: u64,
}

impl WordGroup {
    /// Every word that meets it, with how much that counts.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = (&str, f64)> {
        let own = std::iter::once((self.word.as_str(), 1.0)).filter(|_| self.corrections.is_empty());
        own.chain(self.corrections.iter().map(|correction| (correction.word.as_str(), correction.weight)))
    }

    fn words(&self) -> Vec<String> {
        self.spellings().map(|(word, _)| word.to_owned()).collect()
    }
}

/// A question that was understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ParsedQuestion {
    pub(crate) groups: Vec<WordGroup>,
}

/// The words of a question, each once; common ones only if there are no others.
pub(crate) fn question_words(text: &str, today: Date) -> Vec<String> {
    let text = match first_bytes(text, MOST_BYTES) {
        // The cut may fall into a word.
        head if head.len() < text.len() => head.rsplit_once(char::is_whitespace).map_or(head, |(whole, _)| whole),
        head => head,
    };
    let mut all = words(text);
    all.extend(relative_date_words(text, today));
    let mut seen = BTreeSet::new();
    all.retain(|word| seen.insert(word.clone()));
    let telling: Vec<String> = all.iter().filter(|word| !is_common(word)).cloned().collect();
    let mut chosen = if telling.is_empty() { all } else { telling };
    chosen.truncate(MOST_WORDS);
    chosen
}

impl ParsedQuestion {
    /// Reads a question: how common its words are, and what was meant by those that no chunk has.
    pub(crate) fn read(text: &str, today: Date, database: &dyn MemoryStore, chunks: u64) -> Result<Self, StoreError> {
        let mut groups = Vec::new();
        let mut corrected = 0;
        for word in question_words(text, today) {
            let mut frequency = database.frequency(&word)?;
            let mut corrections = Vec::new();
            if frequency == 0 && corrected < CORRECTED && fuzzy::is_correctable(&word) {
                corrected += 1;
                corrections = find_corrections(&word, database)?;
                frequency = u64::from(!corrections.is_empty());
            }
            groups.push(WordGroup { weight: weight(frequency, chunks), word, corrections, frequency });
        }
        Ok(Self { groups })
    }

    /// What chunks with all words meet; absent where some word is nowhere.
    pub(crate) fn every_word(&self) -> Option<WordQuery> {
        if self.groups.len() < 2 || self.groups.iter().any(|group| group.frequency == 0) {
            return None;
        }
        Some(WordQuery::Every(self.groups.iter().map(WordGroup::words).collect()))
    }

    /// Whether every word that is somewhere is nearly everywhere, so that no chunk fits much better than others.
    pub(crate) fn is_common(&self, counted: u64) -> bool {
        self.groups.iter().all(|group| group.frequency == 0 || group.frequency >= counted)
    }

    /// What chunks with any word meet. Very common words are left out if there are others: they match everything.
    pub(crate) fn any_word(&self, chunks: u64) -> Option<WordQuery> {
        let present = || self.groups.iter().filter(|group| group.frequency > 0);
        let too_common = (chunks / 20).max(200);
        let rare: Vec<Vec<String>> = present().filter(|group| group.frequency <= too_common).map(WordGroup::words).collect();
        let chosen = if rare.is_empty() { present().map(WordGroup::words).collect() } else { rare };
        (!chosen.is_empty()).then_some(WordQuery::Any(chosen))
    }
}

/// Inverse document frequency.
#[expect(clippy::cast_precision_loss, reason = "a weight")]
fn weight(frequency: u64, chunks: u64) -> f64 {
    (1.0 + chunks as f64 / (frequency as f64 + 1.0)).ln()
}

fn find_corrections(word: &str, database: &dyn MemoryStore) -> Result<Vec<Correction>, StoreError> {
    let Some((grams, characters)) = fuzzy::grams(word) else { return Ok(Vec::new()) };
    let mut candidates = database.terms(&grams, characters, CANDIDATES)?;
    let length = word.chars().count();
    if let Some(first) = word.chars().next().filter(|_| length <= SHORT) {
        candidates.extend(database.terms_like(first, length - 1..=length + 3, SHORT_CANDIDATES)?);
        candidates.sort();
        candidates.dedup();
    }
    let mut found = fuzzy::corrections(word, &candidates);
    // Words of files that are gone are still known.
    let mut present = Vec::new();
    for correction in found.drain(..) {
        if database.frequency(&correction.word)? > 0 {
            present.push(correction);
        }
    }
    Ok(present)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_question_are_those_that_tell_something() {
        let today = jiff::civil::date(2026, 11, 17);
        for (text, expected) in [
            ("What is the name of the database?", vec!["name", "database"]),
            ("what is it", vec!["what", "is", "it"]),
            ("database Database DATABASE", vec!["database"]),
            ("NEAR(\"a\" *)", vec!["near"]),
            ("?!* \" ' --", vec![]),
            ("", vec![]),
            ("yesterday", vec!["yesterday", "date20261116"]),
        ] {
            assert_eq!(question_words(text, today), expected, "{text}");
        }
        assert_eq!(question_words(&"word ".repeat(20_000), today), ["word"]);
        let many = (0..1000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
        assert_eq!(question_words(&many, today).len(), MOST_WORDS);
    }
}
