//! One spelling for names that some volume or program does not tell apart. Folding too much refuses too much, which is the
//! safe side.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// The text without regard to case.
pub fn fold_case(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().flat_map(fold_char).collect())
}

/// The name without regard to what some volume does not tell apart: case, composed and decomposed forms, characters that
/// HFS+ ignores, and dots and blanks at the end, which Windows drops.
pub fn fold_name(name: &str) -> String {
    let mut folded = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        let chars = name.chars().filter(|ch| !is_ignored(*ch)).flat_map(fold_char);
        compose(&chars.collect::<String>())
    };
    folded.truncate(folded.trim_end_matches(TAIL).len());
    folded
}

/// What Windows drops at the end of a name.
pub(crate) const TAIL: [char; 2] = ['.', ' '];

/// Upper case first: `ſ` has no lower case of its own, but is an `s` where case is folded.
pub(crate) fn fold_char(ch: char) -> impl Iterator<Item = char> {
    ch.to_uppercase().flat_map(char::to_lowercase)
}

pub(crate) fn compose(text: &str) -> String {
    text.nfc().collect()
}

/// Whether HFS+ leaves the character out of a comparison.
pub(crate) fn is_ignored(ch: char) -> bool {
    matches!(ch, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a15_a16_variants_of_a_name_fold_to_it() {
        for variant in [".git", ".GIT", ".Git", ".g\u{200c}it", "\u{feff}.git", ".gi\u{2060}t", ".git.", ".git ", ".git . .", ".G\u{130}T"]
        {
            let expected = if variant.contains('\u{130}') { ".gi\u{307}t" } else { ".git" };
            assert_eq!(fold_name(variant), expected, "{variant:?}");
        }
        assert_eq!(fold_name(".\u{17f}\u{17f}h"), ".ssh");
        assert_eq!(fold_name("con\u{fb01}g"), "config");
        for composed in ["\u{e9}", "e\u{301}", "\u{c9}", "E\u{301}", "e\u{200d}\u{301}"] {
            assert_eq!(fold_name(composed), "\u{e9}", "{composed:?}");
        }
        assert_eq!(fold_name(".github"), ".github");
    }
}
