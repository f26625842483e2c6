//! Truncation of text: always between characters, with `…` where the reader must see it.

use std::borrow::Cow;

#[cfg(feature = "width")]
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The first bytes of a text: at most so many, and no part of a character.
pub fn first_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The first characters of a text.
pub fn first_chars(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// The first characters of a text, with `…` if there are more.
pub fn ellipsize(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Text of at most so many terminal columns; a truncated one ends in `…`.
#[cfg(feature = "width")]
pub fn ellipsize_to_width(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let end = fitting(text.char_indices().map(|(at, ch)| (at + ch.len_utf8(), ch)), columns - 1).unwrap_or(0);
    format!("{}…", text[..end].trim_end())
}

/// The end of a text in at most so many terminal columns; a truncated one begins with `…`.
#[cfg(feature = "width")]
pub fn ellipsize_start_to_width(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let start = fitting(text.char_indices().rev(), columns.saturating_sub(1)).unwrap_or(text.len());
    format!("…{}", &text[start..])
}

/// The position of the last character that still fits.
#[cfg(feature = "width")]
fn fitting(chars: impl Iterator<Item = (usize, char)>, columns: usize) -> Option<usize> {
    let mut left = columns;
    let fits = chars.map_while(|(at, ch)| {
        left = left.checked_sub(ch.width().unwrap_or(0))?;
        Some(at)
    });
    fits.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!([0, 1, 2, 3, 9].map(|bytes| first_bytes("aéb", bytes)), ["", "a", "a", "aé", "aéb"]);
        assert_eq!([0, 2, 3, 9].map(|chars| first_chars("éàü", chars)), ["", "éà", "éàü", "éàü"]);
        assert_eq!([0, 2, 3, 9].map(|chars| ellipsize("éàü", chars)), ["…", "éà…", "éàü", "éàü"]);
    }

    #[cfg(feature = "width")]
    #[test]
    fn wide_characters_count_twice_at_either_end() {
        for (columns, head, tail) in [
            (0, "", "…"),
            (1, "…", "…"),
            (2, "…", "…"),
            (3, "漢…", "…字"),
            (4, "漢…", "…b字"),
            (5, "漢字…", "… b字"),
            (9, "漢字 b字", "漢字 b字"),
        ] {
            let cut = (ellipsize_to_width("漢字 b字", columns), ellipsize_start_to_width("漢字 b字", columns));
            assert_eq!(cut, (head.to_owned(), tail.to_owned()), "{columns}");
        }
    }
}
