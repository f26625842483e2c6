//! Builds text line by line.

use std::fmt::Display;

/// Indent of a section.
pub const INDENT: &str = "  ";

/// Text that grows by lines.
#[derive(Debug, Default)]
pub struct TextBuilder(String);

impl TextBuilder {
    pub fn line(&mut self, line: impl Display) {
        self.0 += &line.to_string();
        self.0.push('\n');
    }
    /// Appends text with line breaks.
    pub fn text(&mut self, text: &str) {
        self.0 += text;
    }
    /// Appends a title and its indented body; nothing if the body is empty.
    pub fn section(&mut self, title: &str, body: &str) {
        if body.is_empty() {
            return;
        }
        self.line(format_args!("\n{title}"));
        for line in body.lines() {
            self.line(format_args!("{INDENT}{line}"));
        }
    }
    pub fn finish(self) -> String {
        self.0
    }
}
