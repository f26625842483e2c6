//! Words of the index that were probably meant by a word that it does not have.

use haft_store::GramQuery;

use crate::words::stem;

/// Shorter words are not corrected: too many others are near.
const SHORTEST: usize = 4;
/// Words that were meant, at most.
const MOST: usize = 6;

/// A word that may have been meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Correction {
    pub(crate) word: String,
    /// How much a match of it counts, below 1.
    pub(crate) weight: f64,
}

/// Whether a word can be corrected.
pub(crate) fn is_correctable(word: &str) -> bool {
    word.chars().count() >= SHORTEST
        && word.chars().any(char::is_alphabetic)
        && !crate::words::is_ideographic(word.chars().next().unwrap_or(' '))
}

/// The trigrams that words near this one have, and how many characters they have. One typing error leaves two
/// neighbouring trigrams of a long word as they are, which is more selective than one.
pub(crate) fn grams(word: &str) -> Option<(GramQuery, std::ops::RangeInclusive<usize>)> {
    let chars: Vec<char> = word.chars().collect();
    if chars.len() < SHORTEST {
        return None;
    }
    let grams: Vec<String> = chars.windows(3).map(|gram| gram.iter().collect()).collect();
    let parts: GramQuery = grams.windows(if chars.len() >= 8 { 2 } else { 1 }).map(<[String]>::to_vec).collect();
    let reach = if chars.len() >= 8 { 2 } else { 1 };
    Some((parts, chars.len().saturating_sub(reach)..=chars.len() * 3))
}

/// The best of the candidates: those with few typing errors, then those that contain the word.
pub(crate) fn corrections(word: &str, candidates: &[String]) -> Vec<Correction> {
    let length = word.chars().count();
    let allowed = if length >= 8 { 2 } else { 1 };
    let mut found: Vec<(usize, Correction)> = Vec::new();
    for candidate in candidates {
        // Other endings are no typing errors.
        let distance = strsim::osa_distance(word, candidate).min(strsim::osa_distance(stem(word), stem(candidate)).max(1));
        if distance <= allowed && distance > 0 {
            let weight = if distance == 1 { 0.9 } else { 0.75 };
            found.push((distance, Correction { word: candidate.clone(), weight }));
        } else if candidate.contains(word) || (length >= 6 && candidate.chars().count() >= 5 && word.contains(candidate.as_str())) {
            found.push((allowed + 1, Correction { word: candidate.clone(), weight: 0.6 }));
        }
    }
    found.sort_by(|(one, a), (other, b)| one.cmp(other).then_with(|| a.word.cmp(&b.word)));
    // What is only contained counts where nothing is near.
    let nearest = found.first().map_or(0, |(distance, _)| *distance);
    found
        .into_iter()
        .filter(|(distance, _)| *distance <= nearest.max(allowed) || nearest > allowed)
        .take(MOST)
        .map(|(_, correction)| correction)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(word: &str, candidates: &[&str]) -> Vec<String> {
        let candidates: Vec<String> = candidates.iter().map(ToString::to_string).collect();
        corrections(word, &candidates).into_iter().map(|correction| correction.word).collect()
    }

    #[test]
    fn near_words_come_before_those_that_contain_the_word() {
        assert_eq!(best("databse", &["database", "databases", "data"]), ["database", "databases"]);
        assert_eq!(best("relase", &["releases", "phase"]), ["releases"]);
        assert_eq!(best("postgers", &["postgres", "progress"]), ["postgres"]);
        assert_eq!(best("konfig", &["konfiguration", "xyz"]), ["konfiguration"]);
        assert_eq!(best("abcd", &["wxyz"]), Vec::<String>::new());
    }

    #[test]
    fn expressions_hold_quoted_trigrams_alone() {
        assert_eq!(grams("abc"), None);
        assert_eq!(grams("abcde").unwrap().0, [["abc"], ["bcd"], ["cde"]]);
        assert_eq!(grams("abcdefgh").unwrap().0[0], ["abc", "bcd"]);
        assert!(is_correctable("datbase") && !is_correctable("1234") && !is_correctable("数据库连接") && !is_correctable("abc"));
    }
}
