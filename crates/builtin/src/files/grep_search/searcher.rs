//! The searcher of one thread, reused for file after file.

use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::params::OutputMode;
use super::search::{GrepRequest, GrepSearchRun, GrepStop, LARGEST_WHOLE};
use super::sink::{FileMatches, MatchSink};
use super::source::{self, ContentSource, HEAD, LineCuts};

#[derive(Debug)]
pub(super) struct ThreadSearcher {
    searcher: Searcher,
    /// For content that must be decoded.
    decoding: Searcher,
    matcher: RegexMatcher,
    head: Vec<u8>,
    /// How much of the head is filled.
    filled: usize,
    cuts: LineCuts,
}

impl ThreadSearcher {
    pub(super) fn new(request: &GrepRequest, is_file: bool) -> Self {
        Self {
            searcher: searcher(request, is_file, false),
            decoding: searcher(request, is_file, true),
            matcher: request.matcher.clone(),
            head: vec![0; HEAD],
            filled: 0,
            cuts: LineCuts::default(),
        }
    }

    /// Reads the beginning of a file.
    pub(super) fn begin(&mut self, content: &mut impl Read) -> io::Result<()> {
        self.filled = source::fill(content, &mut self.head)?;
        Ok(())
    }
    /// Whether the file may be longer.
    pub(super) fn is_long(&self) -> bool {
        self.filled == HEAD
    }
    /// Whether it begins with a byte order mark of UTF-16.
    pub(super) fn is_utf_16(&self) -> bool {
        let head = &self.head[..self.filled];
        head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
    }

    /// Searches the file, and keeps so many lines. Only the start of a file has a byte order mark.
    pub(super) fn search(
        &mut self,
        search: &GrepSearchRun,
        content: Box<dyn Read + Send>,
        keep: usize,
        is_start: bool,
    ) -> io::Result<FileMatches> {
        let is_utf_16 = is_start && self.is_utf_16();
        let Self { searcher, decoding, matcher, head, filled, cuts } = self;
        let mut head = &head[..*filled];
        if is_start {
            head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        }
        let cut = (!search.request.multiline && !is_utf_16).then_some(&*cuts);
        let source = ContentSource::new(content, head, cut, search.deadline);
        let mut sink = MatchSink::new(search, matcher, cuts, keep);
        let ending = if is_utf_16 { decoding } else { searcher }.search_reader(&*matcher, source, &mut sink);
        let mut outcome = sink.into_outcome();
        match ending {
            Err(error) if source::is_late(&error) => outcome.ended = Some(GrepStop::Late),
            other => other?,
        }
        Ok(outcome)
    }
}

/// As ripgrep does: a file that the call names is searched although it is binary, others only up to the first NUL.
fn searcher(request: &GrepRequest, is_file: bool, decodes: bool) -> Searcher {
    let binary = if is_file { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
    let mut builder = SearcherBuilder::new();
    builder
        .line_number(request.mode == OutputMode::Content && request.line_numbers)
        .multi_line(request.multiline)
        .before_context(request.before)
        .after_context(request.after)
        .binary_detection(binary)
        .bom_sniffing(decodes)
        .heap_limit(Some(LARGEST_WHOLE))
        .line_terminator(request.matcher.line_terminator().unwrap_or(LineTerminator::byte(b'\n')));
    builder.build()
}
