//! Thinking of the model, line by line.

use std::time::Instant;

use haft_text::display;

use crate::output::DIM;
use crate::text_builder::INDENT;

/// A longer line is broken.
const LONGEST: usize = 2_000;

/// Thinking that is still streamed.
#[derive(Debug)]
pub(super) struct ThinkingLines {
    since: Instant,
    /// An incomplete line.
    line: String,
}

impl ThinkingLines {
    pub(super) fn begin(since: Instant) -> Self {
        Self { since, line: String::new() }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Adds text, and returns the complete lines.
    pub(super) fn add(&mut self, text: &str) -> String {
        self.line += text;
        let whole = match self.line.rfind('\n') {
            Some(end) => end + 1,
            None if self.line.len() > LONGEST => self.line.len(),
            None => return String::new(),
        };
        let rest = self.line.split_off(whole);
        render(&std::mem::replace(&mut self.line, rest))
    }

    /// The last line.
    pub(super) fn end(self) -> String {
        render(&self.line)
    }
}

fn render(text: &str) -> String {
    let line = |line: &str| format!("{INDENT}{DIM}thinking: {}{DIM:#}\n", display::escape_lines(line));
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}
