//! Problems of a configuration, and the text of their messages.

use haft_text::display::shorten;
use haft_text::truncate::ellipsize;
use serde::Serialize;

use crate::SettingSource;

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Haft refuses to run.
    Error,
    /// Haft runs, but perhaps not as intended.
    Warning,
}

/// A fault of the configuration, its place, and advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// Its severity.
    pub severity: Severity,
    /// What is wrong. Safe to print: control and hidden characters are escaped.
    pub message: String,
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Its place.
    #[serde(flatten)]
    pub source: SettingSource,
    /// Whether a project's file tried to widen.
    #[serde(skip)]
    widening: bool,
}

impl Problem {
    pub(crate) fn error(source: SettingSource, message: impl AsRef<str>) -> Self {
        Self { severity: Severity::Error, message: sentence(message.as_ref()), key: None, help: None, source, widening: false }
    }
    pub(crate) fn warning(source: SettingSource, message: impl AsRef<str>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(source, message) }
    }
    /// A project's file that tried to widen.
    pub(crate) fn widening(source: SettingSource, message: impl AsRef<str>) -> Self {
        Self { widening: true, ..Self::warning(source, message) }
    }
    /// Whether a project's file tried to widen authority, and was ignored in that.
    pub fn is_widening(&self) -> bool {
        self.widening
    }
    pub(crate) fn key(mut self, key: impl AsRef<str>) -> Self {
        self.key = Some(sentence(key.as_ref()));
        self
    }
    pub(crate) fn help(mut self, help: impl AsRef<str>) -> Self {
        self.help = Some(sentence(help.as_ref()));
        self
    }
}

/// Problems of one file, bounded.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    cut: bool,
}

impl Problems {
    const MAX: usize = 100;

    /// Adds one; made only if there is space, because finding a line and column takes time.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Problem) {
        if self.has_space() {
            self.list.push(problem());
        }
    }
    /// Whether there is space for another problem. Without space, the rest counts as cut.
    pub(crate) fn has_space(&mut self) -> bool {
        self.cut |= self.list.len() >= Self::MAX;
        !self.cut
    }
    /// All problems in the order of the file. A cut one may be an error, so the note about it is one.
    pub(crate) fn finish(self, file: SettingSource) -> Vec<Problem> {
        self.finish_as(Severity::Error, file)
    }
    /// All problems, where only warnings are possible.
    pub(crate) fn finish_warnings(self) -> Vec<Problem> {
        self.finish_as(Severity::Warning, SettingSource::BUILT_IN)
    }
    fn finish_as(mut self, severity: Severity, file: SettingSource) -> Vec<Problem> {
        self.list.sort_by_key(|problem| (problem.source.line, problem.source.column));
        self.list.dedup();
        if self.cut {
            let note = Problem::error(file, "more problems follow that are not shown").help("correct the ones above first");
            self.list.push(Problem { severity, ..note });
        }
        self.list
    }
}

/// A sentence for a message: escaped and bounded.
pub(crate) fn sentence(text: &str) -> String {
    shorten(text, 600).into_owned()
}

/// A value in a sentence: quoted and short.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", ellipsize(text, 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_truncated_in_sentences() {
        assert_eq!(quoted("short"), "'short'");
        assert_eq!(quoted(&"ü".repeat(61)), format!("'{}…'", "ü".repeat(60)));
        assert_eq!(sentence(&"x".repeat(601)), format!("{}…", "x".repeat(600)));
    }
}
