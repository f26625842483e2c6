//! Text from files and variables, made fit to be shown.

use std::borrow::Cow;

use haft_contract::visible;

/// A whole sentence, fit to be shown: escaped, and no longer than anyone reads.
pub(crate) fn sentence(text: &str) -> String {
    visible::shorten(text, 600).into_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_things_are_cut_in_sentences() {
        assert_eq!(quoted("short"), "'short'");
        assert_eq!(quoted(&"ü".repeat(61)), format!("'{}…'", "ü".repeat(60)));
        assert_eq!(sentence(&"x".repeat(601)), format!("{}…", "x".repeat(600)));
        let things: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!([0, 1, 2, 3, 5].map(|count| listed(&things[..count])), ["", "a", "a and b", "a, b and c", "a, b, c and 2 more"]);
    }
}
