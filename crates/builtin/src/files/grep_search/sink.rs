//! Takes what a search finds in one file.

use std::cell::OnceCell;
use std::io;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::clip;
use super::params::Mode;
use super::search::{Ended, Search};
use super::source::Cuts;

/// Stands between lines that do not follow each other.
pub(super) const GAP: &str = "--";

/// What came of one file.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) matches: u64,
    /// How many lines there are to show, kept or not.
    pub(super) lines: u64,
    pub(super) kept: Vec<String>,
    pub(super) is_binary: bool,
    /// How many of the lines that were kept are not UTF-8, and how many were cut.
    pub(super) not_text: u64,
    pub(super) cut: u64,
    pub(super) ended: Option<Ended>,
}

pub(super) struct FileSink<'s> {
    search: &'s Search,
    path: &'s Path,
    matcher: &'s RegexMatcher,
    cuts: &'s Cuts,
    /// How many lines are worth keeping.
    wanted: usize,
    name: OnceCell<String>,
    binary: Option<u64>,
    outcome: Outcome,
}

impl<'s> FileSink<'s> {
    pub(super) fn new(search: &'s Search, path: &'s Path, matcher: &'s RegexMatcher, cuts: &'s Cuts, wanted: usize) -> Self {
        Self { search, path, matcher, cuts, wanted, name: OnceCell::new(), binary: None, outcome: Outcome::default() }
    }
    pub(super) fn into_outcome(self) -> Outcome {
        self.outcome
    }

    fn name(&self) -> &str {
        self.name.get_or_init(|| self.search.named(self.path))
    }
    fn has_room(&self) -> bool {
        self.outcome.kept.len() < self.wanted
    }

    /// Whether lines around matches are shown, so that gaps are marked.
    fn shows_gaps(&self) -> bool {
        self.search.request.before + self.search.request.after > 0
    }
    fn gap(&mut self) {
        self.outcome.lines += 1;
        if self.has_room() {
            self.outcome.kept.push(GAP.to_owned());
        }
    }

    /// Shows a line, `mark` before and after its number.
    fn show(&mut self, line: &[u8], number: Option<u64>, mark: char, around: impl FnOnce() -> usize) {
        if self.outcome.lines == 0 && self.shows_gaps() {
            self.gap();
        }
        self.outcome.lines += 1;
        if !self.has_room() {
            return;
        }
        let clip::Shown { text, is_text, is_cut } = clip::shown(without_end(line), around);
        self.outcome.not_text += u64::from(!is_text);
        self.outcome.cut += u64::from(is_cut);
        let name = self.name();
        let line = match number {
            Some(number) => format!("{name}{mark}{number}{mark}{text}"),
            None => format!("{name}{mark}{text}"),
        };
        self.outcome.kept.push(line);
    }

    /// The number of a line in the file, which does not have the cuts.
    fn numbered(&self, number: Option<u64>, offset: u64) -> Option<u64> {
        let cuts = self.cuts.borrow();
        number.map(|number| number - cuts.iter().take_while(|cut| **cut < offset).count() as u64)
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

    /// Every part that matches, each line of it by itself.
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

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.search.request.mode == Mode::FilesWithMatches {
            self.outcome.matches = 1;
            return Ok(false);
        }
        self.count(found)?;
        if self.search.request.mode == Mode::Content {
            // In a binary file that was named itself, what matches is not shown.
            if self.binary.is_some() && searcher.binary_detection().convert_byte().is_some() {
                return Ok(false);
            }
            self.show_matches(found)?;
        }
        if self.outcome.matches >= self.search.budget.in_file {
            self.outcome.ended = Some(Ended::TooManyMatches);
            return Ok(false);
        }
        Ok(true)
    }

    fn context(&mut self, searcher: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        if self.binary.is_some() && searcher.binary_detection().convert_byte().is_some() {
            return Ok(false);
        }
        let number = self.numbered(around.line_number(), around.absolute_byte_offset());
        self.show(around.bytes(), number, '-', || 0);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.gap();
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary.get_or_insert(offset);
        Ok(true)
    }

    fn finish(&mut self, searcher: &Searcher, _: &SinkFinish) -> io::Result<()> {
        let Some(offset) = self.binary else { return Ok(()) };
        let stops = searcher.binary_detection().quit_byte().is_some();
        let is_content = self.search.request.mode == Mode::Content;
        if stops && !is_content {
            // What was found before the first NUL does not make it text.
            self.outcome.matches = 0;
        } else if is_content && self.outcome.matches > 0 {
            let what = if stops { "WARNING: stopped searching binary file after match" } else { "binary file matches" };
            let line = format!("{}: {what} (found \"\\0\" byte around offset {offset})", self.name());
            self.outcome.lines += 1;
            if self.has_room() {
                self.outcome.kept.push(line);
            }
        }
        self.outcome.is_binary = stops;
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
