//! What one thread needs to search; made once, used for file after file.

use std::io::{self, Read};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::params::Mode;
use super::search::{Ended, LARGEST_WHOLE, Request, Search};
use super::sink::{FileSink, Outcome};
use super::source::{self, Cuts, HEAD, Source};

#[derive(Debug)]
pub(super) struct Kit {
    searcher: Searcher,
    /// Only for what has to be decoded first.
    decoding: Searcher,
    matcher: RegexMatcher,
    head: Vec<u8>,
    /// How much of the head is filled.
    filled: usize,
    cuts: Cuts,
}

impl Kit {
    pub(super) fn new(request: &Request, is_file: bool) -> Self {
        Self {
            searcher: searcher(request, is_file, false),
            decoding: searcher(request, is_file, true),
            matcher: request.matcher.clone(),
            head: vec![0; HEAD],
            filled: 0,
            cuts: Cuts::default(),
        }
    }

    /// Reads the beginning of what is to be searched.
    pub(super) fn begin(&mut self, content: &mut impl Read) -> io::Result<()> {
        self.filled = source::fill(content, &mut self.head)?;
        Ok(())
    }
    /// Whether there may be much more of it.
    pub(super) fn is_long(&self) -> bool {
        self.filled == HEAD
    }
    /// Whether it begins with the mark of UTF-16, and has to be decoded.
    pub(super) fn is_utf_16(&self) -> bool {
        let head = &self.head[..self.filled];
        head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
    }

    /// Searches what was begun, and keeps so many lines. Only a file's own beginning has a mark of its encoding.
    pub(super) fn search(&mut self, search: &Search, content: Box<dyn Read + Send>, keep: usize, is_start: bool) -> io::Result<Outcome> {
        let is_utf_16 = is_start && self.is_utf_16();
        let Self { searcher, decoding, matcher, head, filled, cuts } = self;
        let mut head = &head[..*filled];
        if is_start {
            head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        }
        let cut = (!search.request.multiline && !is_utf_16).then_some(&*cuts);
        let source = Source::new(content, head, cut, search.deadline);
        let mut sink = FileSink::new(search, matcher, cuts, keep);
        let ending = if is_utf_16 { decoding } else { searcher }.search_reader(&*matcher, source, &mut sink);
        let mut outcome = sink.into_outcome();
        match ending {
            Err(error) if source::is_late(&error) => outcome.ended = Some(Ended::Late),
            other => other?,
        }
        Ok(outcome)
    }
}

/// As ripgrep would search: a file that was named is searched although it is binary, others only up to the first NUL.
fn searcher(request: &Request, is_file: bool, decodes: bool) -> Searcher {
    let binary = if is_file { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
    let mut builder = SearcherBuilder::new();
    builder
        .line_number(request.mode == Mode::Content && request.line_numbers)
        .multi_line(request.multiline)
        .before_context(request.before)
        .after_context(request.after)
        .binary_detection(binary)
        .bom_sniffing(decodes)
        .heap_limit(Some(LARGEST_WHOLE));
    builder.build()
}
