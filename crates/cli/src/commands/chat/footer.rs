//! The last row of the terminal, kept free for what is typed while everything else scrolls above it.

use std::sync::Arc;

use crossterm::terminal::size;

use super::typing::Typed;
use crate::output::DIM;
use crate::terminal::Screen;

/// A terminal that is lower than this has no row to spare.
const LOWEST: u16 = 5;
/// Where the cursor stands in the last row, everything moves up by one; its column stays.
const MADE_FREE: &str = "\x1b7\x1b[r\x1b8\x1bD\x1b[A";
const PROMPT: &str = "> ";
/// What stands there before anything is typed.
const HINT: &str = "type to say more; Esc stops";

/// The row. Without one, what is typed is kept all the same, and seen later.
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

    /// Keeps the last row of the terminal as it is now.
    fn reserve(&mut self) {
        self.row = size().ok().filter(|(_, rows)| *rows >= LOWEST);
        if let Some((_, rows)) = self.row {
            self.screen.aside(&format!("{MADE_FREE}\x1b7\x1b[1;{}r\x1b8\x1b[?2004h", rows - 1));
        }
    }

    /// The terminal has another size.
    pub(super) fn resized(&mut self) {
        self.reserve();
        // What stood in the last row before stands beneath the cursor now.
        self.screen.aside("\x1b[J");
    }

    pub(super) fn show(&self, typed: &Typed) {
        if let Some((columns, rows)) = self.row {
            self.screen.aside(&format!("\x1b7\x1b[{rows};1H\x1b[2K{}\x1b8", content(typed, columns.into(), self.screen.is_coloured())));
        }
    }

    /// Gives the row back.
    pub(super) fn end(self) {
        if let Some((_, rows)) = self.row {
            self.screen.aside(&format!("\x1b7\x1b[r\x1b[{rows};1H\x1b[2K\x1b8\x1b[?2004l"));
        }
    }
}

fn content(typed: &Typed, columns: usize, coloured: bool) -> String {
    let room = columns.saturating_sub(PROMPT.len() + 1);
    let (text, hint) = (typed.shown(room), if typed.shown(room).is_empty() { crate::table::cut(HINT, room) } else { "_".to_owned() });
    if coloured { format!("{DIM}{PROMPT}{DIM:#}{text}{DIM}{hint}{DIM:#}") } else { format!("{PROMPT}{text}{hint}") }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn the_row_holds_what_was_typed_and_is_never_wider_than_the_terminal() {
        assert_eq!(content(&Typed::default(), 80, false), "> type to say more; Esc stops");
        assert_eq!(content(&Typed::of("hurry"), 80, false), "> hurry_");
        assert_eq!(content(&Typed::of("hurry"), 80, true), "\x1b[2m> \x1b[0mhurry\x1b[2m_\x1b[0m");
        for columns in 5..60 {
            for text in ["", "a rather long line that is typed", "漢字漢字漢字漢字漢字"] {
                let content = content(&Typed::of(text), columns, false);
                assert!(content.width() <= columns, "{columns}: {content}");
            }
        }
    }
}
