//! The last row of the terminal, reserved for input while output scrolls above it.

use std::sync::Arc;

use crossterm::terminal::size;
use haft_text::truncate::ellipsize_to_width;

use super::input_buffer::InputBuffer;
use crate::output::DIM;
use crate::terminal::Screen;

/// The lowest terminal with a row to spare.
const LOWEST: u16 = 5;
/// Scrolls up by one if the cursor is in the last row; its column stays.
const FREE_LAST_ROW: &str = "\x1b7\x1b[r\x1b8\x1bD\x1b[A";
const PROMPT: &str = "> ";
/// Shown before anything is typed.
const HINT: &str = "type to send more; Esc stops";

/// The row; `None` on a terminal that is too low.
#[derive(Debug)]
pub(super) struct Footer {
    screen: Arc<Screen>,
    row: Option<(u16, u16)>,
}

impl Footer {
    pub(super) fn begin(screen: Arc<Screen>) -> Self {
        let mut footer = Self { screen, row: None };
        footer.reserve();
        footer
    }

    /// Reserves the last row.
    fn reserve(&mut self) {
        self.row = size().ok().filter(|(_, rows)| *rows >= LOWEST);
        if let Some((_, rows)) = self.row {
            self.screen.draw(&format!("{FREE_LAST_ROW}\x1b7\x1b[1;{}r\x1b8\x1b[?2004h", rows - 1));
        }
    }

    /// Reserves the last row of a terminal whose size changed.
    pub(super) fn resized(&mut self) {
        self.reserve();
        // The old last row is below the cursor now.
        self.screen.draw("\x1b[J");
    }

    pub(super) fn show(&self, typed: &InputBuffer) {
        if let Some((columns, rows)) = self.row {
            self.screen.draw(&format!("\x1b7\x1b[{rows};1H\x1b[2K{}\x1b8", content(typed, columns.into(), self.screen.is_coloured())));
        }
    }

    /// Releases the row.
    pub(super) fn end(self) {
        if let Some((_, rows)) = self.row {
            self.screen.draw(&format!("\x1b7\x1b[r\x1b[{rows};1H\x1b[2K\x1b8\x1b[?2004l"));
        }
    }
}

fn content(typed: &InputBuffer, columns: usize, coloured: bool) -> String {
    let width = columns.saturating_sub(PROMPT.len() + 1);
    let text = typed.tail(width);
    let hint = if text.is_empty() { ellipsize_to_width(HINT, width) } else { "_".to_owned() };
    if coloured { format!("{DIM}{PROMPT}{DIM:#}{text}{DIM}{hint}{DIM:#}") } else { format!("{PROMPT}{text}{hint}") }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn footer_is_never_wider_than_the_terminal() {
        assert_eq!(content(&InputBuffer::default(), 80, false), "> type to send more; Esc stops");
        assert_eq!(content(&InputBuffer::from_text("hurry"), 80, false), "> hurry_");
        assert_eq!(content(&InputBuffer::from_text("hurry"), 80, true), "\x1b[2m> \x1b[0mhurry\x1b[2m_\x1b[0m");
        for columns in 5..60 {
            for text in ["", "a rather long line that is typed", "漢字漢字漢字漢字漢字"] {
                let content = content(&InputBuffer::from_text(text), columns, false);
                assert!(content.width() <= columns, "{columns}: {content}");
            }
        }
    }
}
