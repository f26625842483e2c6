//! The searcher of one thread, reused for file after file.

use std::io::{self, Read};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::params::OutputMode;
use super::search::{GrepRequest, GrepSearchRun, GrepStop, LARGEST_WHOLE};
use super::sink::{FileMatches, MatchSink};
use super::source::{self, ContentSource, HEAD, LineCuts};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How much is read at once of ordinary lines: it stays in the cache of a core while it is searched.
const PLAIN_BUFFER: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct ThreadSearcher {
    searcher: Searcher,
    /// For content that must be decoded.
    decoding: Searcher,
    /// For whole lines without NULs.
    plain: Searcher,
    /// What is read of those.
    buffer: Vec<u8>,
    matcher: RegexMatcher,
    head: Vec<u8>,
    /// How much of the head is filled.
    filled: usize,
    cuts: LineCuts,
}

impl ThreadSearcher {
    pub(super) fn new(request: &GrepRequest, is_file: bool) -> Self {
        Self {
            searcher: searcher(request, binary(is_file), false),
            decoding: searcher(request, binary(is_file), true),
            plain: searcher(request, BinaryDetection::none(), false),
            buffer: Vec::new(),
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

    /// Whether the beginning of a file looks like text.
    pub(super) fn is_plain(&self) -> bool {
        memchr::memchr(0, &self.head[..self.filled]).is_none()
    }

    /// Searches content of ordinary lines without NULs, and returns how many lines there are as well; nothing if it is not such
    /// content. The searcher of lines copies what it reads, looks for NULs, counts lines twice and searches; here each is done once, over
    /// what was just read.
    pub(super) fn search_plain(
        &mut self,
        search: &GrepSearchRun,
        content: &mut impl Read,
        keep: usize,
        is_start: bool,
    ) -> io::Result<Option<(FileMatches, u64)>> {
        let Self { plain, matcher, cuts, buffer, .. } = self;
        buffer.resize(PLAIN_BUFFER, 0);
        cuts.borrow_mut().clear();
        let mut sink = MatchSink::new(search, matcher, cuts, keep);
        let counts = search.request.mode == OutputMode::Content && search.request.line_numbers;
        let (mut filled, mut lines, mut mark) = (0, 0, is_start.then_some(BYTE_ORDER_MARK));
        while !sink.is_done() {
            let length = match source::fill(content, &mut buffer[filled..]) {
                Err(error) if source::is_late(&error) => {
                    sink.end_late();
                    break;
                }
                answer => answer?,
            };
            let new = &buffer[filled..filled + length];
            if memchr::memchr(0, new).is_some() {
                return Ok(None);
            }
            let new_lines = if counts { memchr::memchr_iter(b'\n', new).count() } else { 0 };
            let whole = match memchr::memrchr(b'\n', new) {
                Some(last) => filled + last + 1,
                None if length == 0 => filled,
                // A line that does not fit into the buffer.
                None if filled + length == buffer.len() => return Ok(None),
                None => 0,
            };
            if whole > 0 {
                let text = &buffer[..whole];
                let text = mark.take().and_then(|mark| text.strip_prefix(mark)).unwrap_or(text);
                sink.continue_after(lines);
                plain.search_slice(&*matcher, text, &mut sink)?;
            }
            lines += new_lines as u64;
            buffer.copy_within(whole..filled + length, 0);
            filled = filled + length - whole;
            if length == 0 {
                break;
            }
        }
        Ok(Some((sink.into_outcome(), lines)))
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
        let Self { searcher, decoding, matcher, head, filled, cuts, .. } = self;
        let mut head = &head[..*filled];
        if is_start {
            head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
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
fn binary(is_file: bool) -> BinaryDetection {
    if is_file { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) }
}

fn searcher(request: &GrepRequest, binary: BinaryDetection, decodes: bool) -> Searcher {
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
