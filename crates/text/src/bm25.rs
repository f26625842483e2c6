//! Search by BM25: documents are ranked by how often they have the words of a question, rare words first. No model is needed, and the
//! same question gives the same order.

use std::collections::HashMap;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Documents, by the words in them.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Word → the documents that have it, each with its weighted count.
    postings: HashMap<String, Vec<(u32, f32)>>,
    /// The weighted number of words of each document.
    lengths: Vec<f32>,
}

impl Index {
    /// Adds a document: its words, each with a weight. Returns its number, counted from 0.
    pub fn add(&mut self, words: impl IntoIterator<Item = (String, f32)>) -> usize {
        let number = self.lengths.len();
        let document = u32::try_from(number).unwrap_or(u32::MAX);
        let mut length = 0.0;
        for (word, weight) in words {
            length += weight;
            let postings = self.postings.entry(word).or_default();
            match postings.last_mut() {
                Some((last, count)) if *last == document => *count += weight,
                _ => postings.push((document, weight)),
            }
        }
        self.lengths.push(length);
        number
    }

    /// The score of each document; 0 where no word occurs. A word that is given twice counts twice.
    #[expect(clippy::cast_precision_loss, reason = "weights")]
    pub fn scores<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Vec<f32> {
        let documents = self.lengths.len() as f32;
        let average = (self.lengths.iter().sum::<f32>() / documents.max(1.0)).max(1.0);
        let mut scores = vec![0.0; self.lengths.len()];
        for postings in words.into_iter().filter_map(|word| self.postings.get(word)) {
            let holding = postings.len() as f32;
            let weight = (1.0 + (documents - holding + 0.5) / (holding + 0.5)).ln();
            for (document, count) in postings {
                let document = *document as usize;
                let norm = K1 * (1.0 - B + B * self.lengths[document] / average);
                scores[document] += weight * count * (K1 + 1.0) / (count + norm);
            }
        }
        scores
    }

    /// Whether a word occurs anywhere.
    pub fn knows(&self, word: &str) -> bool {
        self.postings.contains_key(word)
    }

    /// The words that contain a part of a word, in a stable order.
    pub fn containing(&self, part: &str) -> Vec<&str> {
        let mut words: Vec<&str> = self.postings.keys().map(String::as_str).filter(|word| word.contains(part)).collect();
        words.sort_unstable();
        words
    }
}

/// Words in lower case, without the endings that plurals and verbs have. Scripts without blanks count by character.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|ch: char| !ch.is_alphanumeric()).filter(|word| !word.is_empty()).flat_map(|word| {
        let ideographic = word.chars().any(|ch| matches!(ch, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'));
        if ideographic { word.chars().map(String::from).collect() } else { vec![stem(&word.to_lowercase())] }
    })
}

fn stem(word: &str) -> String {
    let ending = ["ing", "ies", "es", "ed", "s"].into_iter().find(|ending| word.ends_with(ending) && word.len() > ending.len() + 3);
    let Some(ending) = ending else { return word.to_owned() };
    let stem = word[..word.len() - ending.len()].to_owned();
    if ending == "ies" { stem + "y" } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(documents: &[&str]) -> Index {
        let mut index = Index::default();
        for document in documents {
            index.add(words(document).map(|word| (word, 1.0)));
        }
        index
    }

    /// The documents that have a word, the best first.
    fn ranked(index: &Index, question: &str) -> Vec<usize> {
        let asked: Vec<String> = words(question).collect();
        let scores = index.scores(asked.iter().map(String::as_str));
        let mut found: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        found.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
        found
    }

    #[test]
    fn rare_words_and_short_documents_come_first() {
        let index = index(&["read a file", "write a file", "read the news of the day", "sing", ""]);
        for (question, found) in
            [("file", vec![0, 1]), ("reading files", vec![0, 1, 2]), ("NEWS file", vec![2, 0, 1]), ("xylophone", vec![]), ("", vec![])]
        {
            assert_eq!(ranked(&index, question), found, "{question}");
        }
        assert_eq!(Index::default().scores(["x"]), [0.0; 0]);
    }

    #[test]
    fn a_weight_counts_like_so_many_occurrences() {
        let mut weighted = Index::default();
        weighted.add([("file".to_owned(), 3.0), ("old".to_owned(), 1.0)]);
        weighted.add([("other".to_owned(), 1.0)]);
        assert_eq!(weighted.scores(["file"]), index(&["file file old file", "other"]).scores(["file"]));
    }

    #[test]
    fn words_have_no_endings_and_parts_of_words_are_found() {
        assert_eq!(words("Reading stories, 图书 API_keys").collect::<Vec<_>>(), ["read", "story", "图", "书", "api", "keys"]);
        let index = index(&["calendar event", "calculate"]);
        assert_eq!(index.containing("cal"), ["calculate", "calendar"]);
        assert!(index.knows("event") && !index.knows("even"));
    }
}
