//! What is sent to a terminal so that a line moves, and where its cursor is behind words.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::DIM;

/// Behind the model's words only what does not reach the next line: it could not be taken back from there.
pub(super) fn fits(column: usize, text: &str, columns: usize) -> bool {
    let used = column.checked_rem(columns).unwrap_or(0);
    used > 0 && used + text.width() + 2 < columns
}

/// Blanks and backspaces, because a terminal without colours is given no escape codes at all.
pub(super) fn redrawn(before: &str, text: &str, behind: bool, coloured: bool) -> String {
    let back = if behind { "\u{8}".repeat(before.width()) } else { "\r".to_owned() };
    let rest = before.width().saturating_sub(text.width());
    let (rest, over) = (" ".repeat(rest), if behind { "\u{8}".repeat(rest) } else { String::new() });
    let text = if coloured && !text.is_empty() { format!("{DIM}{text}{DIM:#}") } else { text.to_owned() };
    [back, text, rest, over].concat()
}

pub(super) fn taken_away(text: &str, behind: bool) -> String {
    let columns = text.width();
    if behind { format!("{back}{:columns$}{back}", "", back = "\u{8}".repeat(columns)) } else { format!("\r{:columns$}\r", "") }
}

/// Where a terminal's cursor is behind these words, if lines were endless.
pub(super) fn column_behind(column: usize, text: &str) -> usize {
    const TAB: usize = 8;
    text.chars().fold(column, |column, letter| match letter {
        '\n' => 0,
        '\t' => (column / TAB + 1) * TAB,
        _ => column + letter.width().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_as_terminals_do() {
        for (before, text, column) in [(0, "abc", 3), (3, "漢", 5), (3, "a\tb", 9), (8, "\t", 16), (9, "x\ny", 1), (9, "\n", 0)] {
            assert_eq!(column_behind(before, text), column, "{before} {text:?}");
        }
    }
}
