//! The parts of a text that a question is about, by BM25: no model is needed, and the same question gives the same parts.

use haft_text::bm25::{Index, words};

/// Shorter blocks are joined with the next one.
const BLOCK_CHARS: usize = 400;
const MAX_BLOCKS: usize = 20_000;

/// Words that say nothing about what is asked.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "all",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "by",
    "can",
    "do",
    "does",
    "extract",
    "find",
    "for",
    "from",
    "get",
    "give",
    "has",
    "have",
    "how",
    "i",
    "in",
    "information",
    "is",
    "it",
    "its",
    "list",
    "me",
    "of",
    "on",
    "or",
    "page",
    "please",
    "return",
    "say",
    "says",
    "show",
    "summarize",
    "summary",
    "tell",
    "text",
    "that",
    "the",
    "their",
    "there",
    "this",
    "to",
    "was",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "why",
    "will",
    "with",
    "you",
];

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage<'a> {
    /// The part, as it is in the text.
    pub text: &'a str,
    /// The line that it begins on, counted from 1.
    pub line: usize,
}

/// The parts that fit a question best, in the order of the text, of `budget` characters together. Empty if no word of the question
/// occurs.
pub fn find_passages<'a>(text: &'a str, question: &str, budget: usize) -> Vec<Passage<'a>> {
    let blocks = blocks(text);
    let asked: Vec<String> = words(question).filter(|word| !STOP_WORDS.contains(&word.as_str())).collect();
    let mut index = Index::default();
    for block in &blocks {
        index.add(words(block.text).map(|word| (word, 1.0)));
    }
    let scores = index.scores(asked.iter().map(String::as_str));
    let mut ranked: Vec<usize> = (0..blocks.len()).filter(|at| scores[*at] > 0.0).collect();
    ranked.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
    let mut left = budget;
    let mut chosen: Vec<usize> = ranked.into_iter().take_while(|at| take(&mut left, blocks[*at].text.len())).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|at| blocks[at].clone()).collect()
}

/// The first one is taken whatever its size.
fn take(left: &mut usize, size: usize) -> bool {
    let fits = *left > 0;
    *left = left.saturating_sub(size);
    fits
}

/// Paragraphs, each with the heading before it, and small ones together.
fn blocks(text: &str) -> Vec<Passage<'_>> {
    let mut blocks = Vec::new();
    let (mut start, mut start_line, mut line, mut at) = (0, 1, 1, 0);
    for part in text.split_inclusive("\n\n") {
        at += part.len();
        let is_heading = part.starts_with('#');
        let before = &text[start..at - part.len()];
        if is_heading && !before.trim().is_empty() {
            push(&mut blocks, before, start_line);
            (start, start_line) = (at - part.len(), line);
        }
        line += part.matches('\n').count();
        if at - start >= BLOCK_CHARS && !is_heading {
            push(&mut blocks, &text[start..at], start_line);
            (start, start_line) = (at, line);
        }
    }
    push(&mut blocks, &text[start..], start_line);
    blocks
}

fn push<'a>(blocks: &mut Vec<Passage<'a>>, text: &'a str, line: usize) {
    let trimmed = text.trim();
    if !trimmed.is_empty() && blocks.len() < MAX_BLOCKS {
        blocks.push(Passage { text: trimmed, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article() -> String {
        let filler = |topic: &str| format!("A paragraph about {topic}, long enough to stand alone. ").repeat(10);
        format!(
            "# Guide\n\n{}\n\n## Pricing\n\nThe licence costs 30 euros a year, and updates are free.\n\n{}\n\n## Limits\n\n{}",
            filler("gardening"),
            filler("shipping"),
            filler("weather")
        )
    }

    #[test]
    fn the_block_that_has_the_rare_words_comes_first() {
        let text = article();
        let found = find_passages(&text, "What does the licence cost?", 200);
        assert_eq!(found.len(), 1);
        assert!(found[0].text.starts_with("## Pricing\n\nThe licence costs 30 euros"), "{found:?}");
        assert_eq!(text.lines().nth(found[0].line - 1), Some("## Pricing"));
    }

    #[test]
    fn more_budget_gives_more_blocks_in_their_order() {
        let text = article();
        let found = find_passages(&text, "paragraph weather gardening", 10_000);
        assert_eq!(found.iter().map(|passage| passage.line).collect::<Vec<_>>(), {
            let mut lines: Vec<_> = found.iter().map(|passage| passage.line).collect();
            lines.sort_unstable();
            lines
        });
        assert!(found.len() >= 3);
    }

    #[test]
    fn a_question_without_words_of_the_text_finds_nothing() {
        let text = article();
        for question in ["quantum chromodynamics", "", "what is this page about?"] {
            assert_eq!(find_passages(&text, question, 1000), [], "{question}");
        }
        assert_eq!(find_passages("", "anything", 1000), []);
    }
}
