//! How a turn is shown: with symbols or words, on how wide a line, with or without something that moves.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::output::{self, Output};
use crate::table::cut;

/// What stands for an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    Symbols,
    Words,
}

impl Marks {
    /// What stands between two facts.
    pub(super) fn between(self) -> &'static str {
        match self {
            Self::Symbols => " · ",
            Self::Words => ", ",
        }
    }
}

/// How a turn is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Face {
    pub(super) marks: Marks,
    /// The columns of a line; `None` cuts nothing. Asked each time, because windows change.
    pub(super) columns: fn() -> Option<usize>,
    /// The columns of a line that moves; `None` where nothing may.
    pub(super) live: fn() -> Option<usize>,
    /// Whether details stand beneath each call.
    pub(super) verbose: bool,
}

impl Face {
    /// As standard error can show it.
    pub(super) fn of(output: &Output) -> Self {
        let marks = if output::notes_have_symbols() { Marks::Symbols } else { Marks::Words };
        Self { marks, columns: output::note_columns, live: output::live_columns, verbose: output.verbose }
    }
}

/// A line in parts, each with its style.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(Style, String)>);

impl Parts {
    pub(super) fn add(&mut self, style: Style, text: impl Into<String>) {
        self.0.push((style, text.into()));
    }

    /// The line, with its break, in at most so many columns. No style is cut in two.
    pub(super) fn line(&self, columns: Option<usize>) -> String {
        let mut line = String::new();
        let mut room = columns.unwrap_or(usize::MAX);
        for (style, text) in &self.0 {
            let shown = cut(text, room);
            line.extend([style.render().to_string(), shown.clone(), style.render_reset().to_string()]);
            if shown != *text {
                break;
            }
            room = room.saturating_sub(text.width());
        }
        line + "\n"
    }
}

/// Facts in as few lines as hold them whole.
pub(super) fn in_lines(facts: &[String], marks: Marks, columns: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        match lines.last_mut() {
            Some(line) if columns.is_none_or(|columns| line.width() + marks.between().width() + fact.width() <= columns) => {
                *line += marks.between();
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
    fn a_line_is_cut_between_its_styles() {
        let mut parts = Parts::default();
        parts.add(GOOD, "漢字");
        parts.add(DIM, " and more");
        for (columns, expected) in [
            (None, "\u{1b}[32m漢字\u{1b}[0m\u{1b}[2m and more\u{1b}[0m\n"),
            (Some(13), "\u{1b}[32m漢字\u{1b}[0m\u{1b}[2m and more\u{1b}[0m\n"),
            (Some(9), "\u{1b}[32m漢字\u{1b}[0m\u{1b}[2m and…\u{1b}[0m\n"),
            (Some(3), "\u{1b}[32m漢…\u{1b}[0m\n"),
        ] {
            assert_eq!(parts.line(columns), expected, "{columns:?}");
        }
    }

    #[test]
    fn facts_stay_whole() {
        let facts = ["↑12.3k", "$0.021", "8 s"].map(str::to_owned);
        assert_eq!(in_lines(&facts, Marks::Symbols, Some(15)), ["↑12.3k · $0.021", "8 s"]);
        assert_eq!(in_lines(&facts, Marks::Words, None), ["↑12.3k, $0.021, 8 s"]);
        assert_eq!(in_lines(&facts, Marks::Words, Some(1)).len(), 3);
    }
}
