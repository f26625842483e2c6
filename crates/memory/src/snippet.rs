//! The part of a chunk that is shown.

use crate::question::ParsedQuestion;
use crate::words::{stem, words};

/// Characters of a snippet, about.
const MOST: usize = 700;

/// The lines of a chunk with most of the question, as much as is shown. Nothing is said of the rest: the citation names all lines.
pub(crate) fn snippet(text: &str, question: &ParsedQuestion) -> String {
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let wanted: Vec<&str> = question.groups.iter().flat_map(|group| group.spellings().map(|(word, _)| stem(word))).collect();
    let met = |line: &str| words(line).iter().filter(|word| wanted.contains(&stem(word))).count();
    let counts: Vec<usize> = lines.iter().map(|line| met(line)).collect();
    let (mut best, mut most_met) = (0, 0);
    for start in 0..lines.len() {
        let mut left = MOST;
        let mut found = 0;
        for (line, count) in lines[start..].iter().zip(&counts[start..]) {
            let length = line.chars().count();
            if length > left {
                break;
            }
            left -= length;
            found += count;
        }
        if found >= most_met && found > 0 {
            (best, most_met) = (start, found);
        }
    }
    // One line more for what it is about.
    let best = best.saturating_sub(1);
    let shown: String = lines[best..].concat();
    let head = if best > 0 { "…\n" } else { "" };
    format!("{head}{}", haft_text::truncate::ellipsize(shown.trim_end(), MOST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::WordGroup;

    #[test]
    fn a_snippet_shows_the_lines_that_were_asked_for() {
        let group = WordGroup { word: "needle".into(), corrections: vec![], weight: 1.0, frequency: 1 };
        let question = ParsedQuestion { groups: vec![group] };
        let text = format!("{}the needles are here\n{}", "hay hay hay hay\n".repeat(80), "straw\n".repeat(80));
        let shown = snippet(&text, &question);
        assert!(shown.contains("the needles are here") && shown.chars().count() <= MOST + 3, "{shown}");
        assert_eq!(snippet("short\n", &question), "short\n");
    }
}
