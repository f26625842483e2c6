//! Text from files and variables, made fit to be shown.

use std::borrow::Cow;

/// Escapes what a terminal would obey or hide: a file may come from anywhere.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() || is_hidden(letter) { shown.extend(letter.escape_unicode()) } else { shown.push(letter) }
    }
    shown
}

/// A whole sentence, fit to be shown: escaped, and no longer than anyone reads.
pub(crate) fn sentence(text: &str) -> String {
    escaped(&cut(text, 600))
}

/// A value as part of a sentence: quoted, and short.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", cut(text, 60))
}

/// The beginning of a text, with a mark if anything is missing.
pub(crate) fn cut(text: &str, letters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(letters) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Some of several things, as part of a sentence.
pub(crate) fn listed(things: &[String]) -> String {
    const MAX_NAMED: usize = 3;
    match things {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if things.len() <= MAX_NAMED => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", things[..MAX_NAMED].join(", "), things.len() - MAX_NAMED),
    }
}

// Zero-width, joining, reordering and tag characters.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for (text, shown) in [
            ("plain ü 漢", "plain ü 漢"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\nb\tc\0", "a\\u{a}b\\u{9}c\\u{0}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ] {
            assert_eq!((escaped(text), sentence(text)), (shown.to_owned(), shown.to_owned()));
        }
    }

    #[test]
    fn long_things_are_cut_in_sentences() {
        assert_eq!(quoted("short"), "'short'");
        assert_eq!(quoted(&"ü".repeat(61)), format!("'{}…'", "ü".repeat(60)));
        assert_eq!(sentence(&"x".repeat(601)), format!("{}…", "x".repeat(600)));
        let things: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!([0, 1, 2, 3, 5].map(|count| listed(&things[..count])), ["", "a", "a and b", "a, b and c", "a, b, c and 2 more"]);
    }
}
