//! Redraws a line without escape codes, and tracks the cursor.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::DIM;

/// Whether text fits after the model output on the same line; it could not be erased from the next one.
pub(super) fn fits(column: usize, text: &str, columns: usize) -> bool {
    let used = column.checked_rem(columns).unwrap_or(0);
    used > 0 && used + text.width() + 2 < columns
}

/// Blanks and backspaces: a terminal without colours gets no escape codes.
pub(super) fn redraw(before: &str, text: &str, after_text: bool, coloured: bool) -> String {
    let back = if after_text { "\u{8}".repeat(before.width()) } else { "\r".to_owned() };
    let rest = before.width().saturating_sub(text.width());
    let (rest, over) = (" ".repeat(rest), if after_text { "\u{8}".repeat(rest) } else { String::new() });
    let text = if coloured && !text.is_empty() { format!("{DIM}{text}{DIM:#}") } else { text.to_owned() };
    [back, text, rest, over].concat()
}

pub(super) fn erase(text: &str, after_text: bool) -> String {
    let columns = text.width();
    if after_text { format!("{back}{:columns$}{back}", "", back = "\u{8}".repeat(columns)) } else { format!("\r{:columns$}\r", "") }
}

/// The column after a text, without line wrapping.
pub(super) fn column_after(column: usize, text: &str) -> usize {
    const TAB: usize = 8;
    text.chars().fold(column, |column, ch| match ch {
        '\n' => 0,
        '\t' => (column / TAB + 1) * TAB,
        _ => column + ch.width().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_as_a_terminal_does() {
        for (before, text, column) in [(0, "abc", 3), (3, "漢", 5), (3, "a\tb", 9), (8, "\t", 16), (9, "x\ny", 1), (9, "\n", 0)] {
            assert_eq!(column_after(before, text), column, "{before} {text:?}");
        }
    }
}
