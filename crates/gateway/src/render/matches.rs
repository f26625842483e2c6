//! The words of a search, marked in what it found.

use super::escape;

/// Words that are marked.
const MOST_WORDS: usize = 16;

/// The text with each word of a search marked, whatever its case.
pub(crate) fn mark_words(text: &str, search: &str) -> String {
    let words: Vec<String> = search.split_whitespace().filter(|word| word.chars().nth(1).is_some()).map(str::to_lowercase).collect();
    let words = &words[..words.len().min(MOST_WORDS)];
    let (mut html, mut rest) = (String::new(), text);
    while let Some((at, length)) = first_match(rest, words) {
        html.push_str(&escape(&rest[..at]));
        html.push_str("<mark>");
        html.push_str(&escape(&rest[at..at + length]));
        html.push_str("</mark>");
        rest = &rest[at + length..];
    }
    html.push_str(&escape(rest));
    html
}

/// Where the first word begins, and its length in bytes. Letters are compared one by one: lower case may have another length.
fn first_match(text: &str, words: &[String]) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(at, _)| {
        let lengths = words.iter().filter_map(|word| prefix_length(&text[at..], word));
        lengths.max().map(|length| (at, length))
    })
}

fn prefix_length(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars();
    let mut next = wanted.next();
    for (at, ch) in text.char_indices() {
        if next.is_none() {
            return Some(at);
        }
        for lower in ch.to_lowercase() {
            if next != Some(lower) {
                return None;
            }
            next = wanted.next();
        }
    }
    next.is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_everything_is_escaped() {
        for (text, search, expected) in [
            ("Release on Fridays", "release day x", "<mark>Release</mark> on Fri<mark>day</mark>s"),
            ("a <b>& b</b>", "<b>", "a <mark>&lt;b&gt;</mark>&amp; b&lt;/b&gt;"),
            ("\u{130}stanbul", "i\u{307}st", "<mark>\u{130}st</mark>anbul"),
            ("\u{202e}x", "", "⟨U+202E⟩x"),
            ("", "ab", ""),
            ("ab", "abc", "ab"),
        ] {
            assert_eq!(mark_words(text, search), expected, "{text} {search}");
        }
    }
}
