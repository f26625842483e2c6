//! Text for the terminal, line by line.

use std::fmt::Display;

/// How far what belongs to a title stands in.
pub(crate) const INDENT: &str = "  ";

/// Lines, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn line(&mut self, line: impl Display) {
        self.0 += &line.to_string();
        self.0.push('\n');
    }
    /// Text that has its line breaks already.
    pub(crate) fn text(&mut self, text: &str) {
        self.0 += text;
    }
    /// A title with its lines beneath; nothing at all if there are none.
    pub(crate) fn section(&mut self, title: &str, body: &str) {
        if body.is_empty() {
            return;
        }
        self.line(format_args!("\n{title}"));
        for line in body.lines() {
            self.line(format_args!("{INDENT}{line}"));
        }
    }
    pub(crate) fn finish(self) -> String {
        self.0
    }
}
