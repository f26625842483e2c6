//! How a turn is shown: symbols or words, width, live updates.

use anstyle::Style;
use haft_text::truncate::ellipsize_to_width;
use unicode_width::UnicodeWidthStr;

use crate::output::{self, Output};

/// How outcomes and separators are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymbolSet {
    Symbols,
    Words,
}

impl SymbolSet {
    /// Separator of two facts.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Symbols => " · ",
            Self::Words => ", ",
        }
    }
}

/// How a turn is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnStyle {
    pub(super) symbols: SymbolSet,
    /// Width of a line; `None` truncates nothing. A function, because windows are resized.
    pub(super) columns: fn() -> Option<usize>,
    /// Width of the wait line; `None` if it cannot be redrawn.
    pub(super) live: fn() -> Option<usize>,
    /// Whether details are shown below each call.
    pub(super) verbose: bool,
    /// Whether Markdown of the model is rendered, in place of its text as it is.
    pub(super) markdown: bool,
}

impl TurnStyle {
    /// The style that standard error supports.
    pub(super) fn detect(output: &Output) -> Self {
        let symbols = if output::notes_have_symbols() { SymbolSet::Symbols } else { SymbolSet::Words };
        let markdown = output.has_symbols() && output::live_columns().is_some();
        Self { symbols, columns: output::note_columns, live: output::live_columns, verbose: output.verbose, markdown }
    }
}

/// A line of parts, each with its style.
#[derive(Debug, Default)]
pub(super) struct StyledLine(Vec<(Style, String)>);

impl StyledLine {
    pub(super) fn add(&mut self, style: Style, text: impl Into<String>) {
        self.0.push((style, text.into()));
    }

    /// The line with its line break, truncated to this width.
    pub(super) fn render(&self, columns: Option<usize>) -> String {
        let mut line = String::new();
        let mut available = columns.unwrap_or(usize::MAX);
        for (style, text) in &self.0 {
            let fitting = ellipsize_to_width(text, available);
            line.extend([style.render().to_string(), fitting.clone(), style.render_reset().to_string()]);
            if fitting != *text {
                break;
            }
            available = available.saturating_sub(text.width());
        }
        line + "\n"
    }
}

/// Joins facts into as few lines as possible.
pub(super) fn join_facts(facts: &[String], symbols: SymbolSet, columns: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if columns.is_none_or(|columns| line.width() + symbols.separator().width() + fact.width() <= columns) => {
                *line += symbols.separator();
                *line += fact;
            }
            _ => lines.push(fact.clone()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{DIM, GOOD};

    #[test]
    fn styled_line_is_truncated_to_its_width() {
        let mut line = StyledLine::default();
        line.add(GOOD, "漢字");
        line.add(DIM, " and more");
        for (columns, expected) in [
            (None, "\u{1b}[32m漢字\u{1b}[0m\u{1b}[2m and more\u{1b}[0m\n"),
            (Some(13), "\u{1b}[32m漢字\u{1b}[0m\u{1b}[2m and more\u{1b}[0m\n"),
            (Some(9), "\u{1b}[32m漢字\u{1b}[0m\u{1b}[2m and…\u{1b}[0m\n"),
            (Some(3), "\u{1b}[32m漢…\u{1b}[0m\n"),
        ] {
            assert_eq!(line.render(columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn facts_are_never_split() {
        let facts = ["↑12.3k", "$0.021", "8 s"].map(str::to_owned);
        assert_eq!(join_facts(&facts, SymbolSet::Symbols, Some(15)), ["↑12.3k · $0.021", "8 s"]);
        assert_eq!(join_facts(&facts, SymbolSet::Words, None), ["↑12.3k, $0.021, 8 s"]);
        assert_eq!(join_facts(&facts, SymbolSet::Words, Some(1)).len(), 3);
    }
}
