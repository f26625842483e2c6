//! Collects the matches in one file.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::clip;
use super::params::OutputMode;
use super::rows::ResultRow;
use super::search::{GrepSearchRun, GrepStop};
use super::source::LineCuts;

/// Separates lines that are not adjacent.
pub(super) const GAP: &str = "--";

/// A line of the result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MatchLine {
    /// With its number, if that is shown, and the separator between name, number and text.
    Text(Option<u64>, char, ResultRow),
    Gap,
}

/// The matches in one file, or in a part of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileMatches {
    pub(super) matches: u64,
    /// How many lines there are to show, kept or not.
    pub(super) lines: u64,
    pub(super) kept: Vec<MatchLine>,
    /// The offset of the first NUL.
    pub(super) binary: Option<u64>,
    pub(super) ended: Option<GrepStop>,
}

impl FileMatches {
    /// The lines of the result, and ripgrep's note on a binary file.
    pub(super) fn into_lines(self, name: &str, is_left: bool) -> Vec<ResultRow> {
        let note = self.binary.map(|offset| {
            let what = if is_left { "WARNING: stopped searching binary file after match" } else { "binary file matches" };
            ResultRow::plain(format!("{name}: {what} (found \"\\0\" byte around offset {offset})"))
        });
        let lines = self.kept.into_iter().map(|line| match line {
            MatchLine::Text(Some(number), separator, row) => {
                ResultRow { text: format!("{name}{separator}{number}{separator}{}", row.text), ..row }
            }
            MatchLine::Text(None, separator, row) => ResultRow { text: format!("{name}{separator}{}", row.text), ..row },
            MatchLine::Gap => ResultRow::plain(GAP.to_owned()),
        });
        lines.chain(note).collect()
    }
}

pub(super) struct MatchSink<'s> {
    search: &'s GrepSearchRun,
    matcher: &'s RegexMatcher,
    cuts: &'s LineCuts,
    /// How many lines to keep.
    keep: usize,
    /// Lines before what is searched.
    lines_before: u64,
    outcome: FileMatches,
}

impl<'s> MatchSink<'s> {
    pub(super) fn new(search: &'s GrepSearchRun, matcher: &'s RegexMatcher, cuts: &'s LineCuts, keep: usize) -> Self {
        Self { search, matcher, cuts, keep, lines_before: 0, outcome: FileMatches::default() }
    }
    /// Continues behind so many lines.
    pub(super) fn continue_after(&mut self, lines: u64) {
        self.lines_before = lines;
    }
    /// Notes that the time is over.
    pub(super) fn end_late(&mut self) {
        self.outcome.ended = Some(GrepStop::Late);
    }
    /// Whether nothing more is needed.
    pub(super) fn is_done(&self) -> bool {
        let one_suffices = self.search.request.mode == OutputMode::FilesWithMatches;
        self.outcome.ended.is_some() || (one_suffices && self.outcome.matches > 0)
    }
    pub(super) fn into_outcome(self) -> FileMatches {
        self.outcome
    }

    /// Whether matches are hidden: after the first NUL of a file that the call names.
    fn hides(&self) -> bool {
        self.outcome.binary.is_some() && self.search.is_file
    }

    fn show_gap(&mut self) {
        self.outcome.lines += 1;
        if self.outcome.kept.len() < self.keep {
            self.outcome.kept.push(MatchLine::Gap);
        }
    }

    fn show(&mut self, line: &[u8], number: Option<u64>, separator: char, around: impl FnOnce() -> usize) {
        let has_gaps = self.search.request.before + self.search.request.after > 0;
        if self.outcome.lines == 0 && has_gaps {
            self.show_gap();
        }
        self.outcome.lines += 1;
        if self.outcome.kept.len() >= self.keep {
            return;
        }
        self.outcome.kept.push(MatchLine::Text(number, separator, clip::clip_line(without_end(line), around)));
    }

    /// The number of a line in the file, without inserted line feeds.
    fn numbered(&self, number: Option<u64>, offset: u64) -> Option<u64> {
        let cuts = self.cuts.borrow();
        number.map(|number| self.lines_before + number - cuts.iter().take_while(|cut| **cut < offset).count() as u64)
    }

    fn show_matches(&mut self, found: &SinkMatch<'_>) -> io::Result<()> {
        let number = self.numbered(found.line_number(), found.absolute_byte_offset());
        if self.search.request.only_matching {
            return self.show_parts(found.bytes(), number);
        }
        let matcher = self.matcher;
        for (line, ahead) in found.lines().zip(0..) {
            let around = || matcher.find(line).ok().flatten().map_or(0, |part| part.start());
            self.show(line, number.map(|number| number + ahead), ':', around);
        }
        Ok(())
    }

    /// Adds every matching part, line by line.
    fn show_parts(&mut self, bytes: &[u8], number: Option<u64>) -> io::Result<()> {
        let (matcher, whole) = (self.matcher, if self.search.request.multiline { bytes } else { without_end(bytes) });
        let (mut counted, mut lines) = (0, 0);
        let each = |part: grep_matcher::Match| {
            lines += memchr::memchr_iter(b'\n', &whole[counted..part.start()]).count() as u64;
            counted = part.start();
            for (line, ahead) in whole[part].split(|byte| *byte == b'\n').zip(lines..) {
                if !line.is_empty() {
                    self.show(line, number.map(|number| number + ahead), ':', || 0);
                }
            }
            true
        };
        matcher.find_iter(whole, each).map_err(io::Error::other)
    }

    fn count(&mut self, found: &SinkMatch<'_>) -> io::Result<()> {
        if !self.search.request.multiline {
            self.outcome.matches += 1;
            return Ok(());
        }
        let mut matches = 0;
        let each = |_| {
            matches += 1;
            true
        };
        self.matcher.find_iter(found.bytes(), each).map_err(io::Error::other)?;
        self.outcome.matches += matches.max(1);
        Ok(())
    }
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.search.request.mode == OutputMode::FilesWithMatches {
            self.outcome.matches = 1;
            return Ok(false);
        }
        self.count(found)?;
        if self.search.request.mode == OutputMode::Content {
            if self.hides() {
                return Ok(false);
            }
            self.show_matches(found)?;
        }
        if self.outcome.matches >= self.search.budget.in_file {
            self.outcome.ended = Some(GrepStop::TooManyMatches);
            return Ok(false);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        if self.hides() {
            return Ok(false);
        }
        let number = self.numbered(around.line_number(), around.absolute_byte_offset());
        self.show(around.bytes(), number, '-', || 0);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.show_gap();
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.outcome.binary.get_or_insert(offset);
        Ok(true)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
