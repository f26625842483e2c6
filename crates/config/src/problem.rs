//! What is wrong with a configuration, and where.

use serde::Serialize;

use crate::Source;
use crate::text::sentence;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Haft refuses to run.
    Error,
    /// Haft runs, but not as the file may suggest.
    Warning,
}

/// Something wrong, where it stands, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong. Safe to print: control and hidden characters are escaped.
    pub message: String,
    /// The key it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Where it stands.
    #[serde(flatten)]
    pub source: Source,
    /// Whether a project's file tried to widen.
    #[serde(skip)]
    widening: bool,
}

impl Problem {
    pub(crate) fn error(source: Source, message: impl AsRef<str>) -> Self {
        Self { severity: Severity::Error, message: sentence(message.as_ref()), key: None, help: None, source, widening: false }
    }
    pub(crate) fn warning(source: Source, message: impl AsRef<str>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(source, message) }
    }
    /// A project's file that tried to widen.
    pub(crate) fn widening(source: Source, message: impl AsRef<str>) -> Self {
        Self { widening: true, ..Self::warning(source, message) }
    }
    /// Whether it says that a project's file tried to widen what may be done, and was ignored in that.
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

/// Problems of one file. Bounded: a file that is wrong in a thousand places needs no thousand reports.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    cut: bool,
}

impl Problems {
    const MAX: usize = 100;

    /// Adds one; made only if there is room, because finding a line and column takes time.
    pub(crate) fn add(&mut self, problem: impl FnOnce() -> Problem) {
        if self.room_for_more() {
            self.list.push(problem());
        }
    }
    /// Whether to go on looking. Without room, what was not looked at counts as cut.
    pub(crate) fn room_for_more(&mut self) -> bool {
        self.cut |= self.list.len() >= Self::MAX;
        !self.cut
    }
    /// All of them in the order of the file. What was cut may have been an error, so the note about it is one.
    pub(crate) fn finish(self, file: Source) -> Vec<Problem> {
        self.finish_as(Severity::Error, file)
    }
    /// All of them, where only warnings were looked for.
    pub(crate) fn finish_warnings(self) -> Vec<Problem> {
        self.finish_as(Severity::Warning, Source::BUILT_IN)
    }
    fn finish_as(mut self, severity: Severity, file: Source) -> Vec<Problem> {
        self.list.sort_by_key(|problem| (problem.source.line, problem.source.column));
        self.list.dedup();
        if self.cut {
            let note = Problem::error(file, "more problems follow that are not shown").help("correct the ones above first");
            self.list.push(Problem { severity, ..note });
        }
        self.list
    }
}
