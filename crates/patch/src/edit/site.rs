//! A candidate in a file, and whether the old text matches there.

use std::ops::Range;

use memchr::memrchr2;

use crate::fold::{self, Fold};
use crate::indent::IndentShift;
use crate::text::{BYTE_ORDER_MARK, LineBreaks};
use crate::view::{FoldedView, Ignoring, ViewSource};

/// A match of an old text.
#[derive(Debug)]
pub(super) struct MatchSite {
    /// The bytes in the file.
    pub(super) range: Range<usize>,
    /// The indentation of the block, where it differs from the old text.
    pub(super) indented: Option<SiteIndent>,
    /// Whether the old text ends with a line ending that the file lacks.
    pub(super) open_end: bool,
}

/// How a block is indented in the file.
#[derive(Debug)]
pub(super) struct SiteIndent {
    pub(super) shift: IndentShift,
    /// Whether other text precedes the block on its first line.
    pub(super) inside_line: bool,
}

/// A search for an old text in a view of the file.
#[derive(Debug)]
pub(super) struct SiteSearch<'a> {
    original: &'a [u8],
    view: &'a FoldedView,
    old: &'a str,
    needle: FoldedView,
    ignoring: Ignoring,
}

impl<'a> SiteSearch<'a> {
    /// `None` if nothing of the old text is left: it would match everywhere.
    pub(super) fn new(original: &'a [u8], view: &'a FoldedView, old: &'a str, ignoring: Ignoring) -> Option<Self> {
        let needle = FoldedView::new(old.as_bytes(), ignoring, ViewSource::Piece);
        let seen = needle.text.iter().any(|byte| !byte.is_ascii_whitespace());
        seen.then_some(Self { original, view, old, needle, ignoring })
    }

    /// The bytes to search in the view.
    pub(super) fn needle(&self) -> &[u8] {
        &self.needle.text
    }

    /// The match at a position of the view, if it is one in the file.
    pub(super) fn check(&self, at: usize) -> Option<MatchSite> {
        let text = &self.view.text;
        let end = at + self.needle.text.len();
        let range = self.view.source_start(at)?..self.view.source_end(end)?;
        let at_start = at == 0 || text[at - 1] == b'\n';
        let at_end = text.get(end).is_none_or(|byte| *byte == b'\n');
        if (self.starts_with_ignored() && !at_start) || (self.ends_with_ignored() && !at_end) {
            return None;
        }
        let open_end = end == text.len() && self.old.ends_with('\n') && !self.original.ends_with(b"\n") && !self.original.ends_with(b"\r");
        if !self.ignoring.leading {
            return Some(MatchSite { range, indented: None, open_end });
        }
        let (start, indented) = self.indented(&range, at_start)?;
        Some(MatchSite { range: start..range.end, indented: Some(indented), open_end })
    }

    /// Whether blanks at the start were ignored: they begin a line, so the match must.
    fn starts_with_ignored(&self) -> bool {
        self.ignoring.leading && fold::leading(self.old.as_bytes(), self.ignoring.fold) > 0
    }

    /// Whether blanks at the end were ignored: they end a line, so the match must, unless they begin the next one.
    fn ends_with_ignored(&self) -> bool {
        let last = self.old.rsplit('\n').next().unwrap_or_default().as_bytes();
        let body = fold::trim_end(last, self.ignoring.fold);
        self.ignoring.trailing && body.len() < last.len() && !(self.ignoring.leading && body.is_empty())
    }

    /// Start of the block with its indentation, and that indentation; `None` if the block has another shape.
    fn indented(&self, range: &Range<usize>, at_start: bool) -> Option<(usize, SiteIndent)> {
        let start = if at_start { line_start(self.original, range.start) } else { range.start };
        let fold = self.ignoring.fold;
        let found = LineBreaks::Any.lines(&self.original[start..range.end]).map(|line| line.body);
        let lines = self.old.split('\n').map(str::as_bytes).zip(found).skip(usize::from(!at_start));
        let pairs = lines.filter(|(written, _)| !fold::trim(written, fold).is_empty());
        let shift = IndentShift::between(pairs.map(|(written, found)| (blanks(written, fold), blanks(found, fold))))?;
        Some((start, SiteIndent { shift, inside_line: !at_start }))
    }
}

fn blanks(line: &[u8], fold: Fold) -> &[u8] {
    &line[..fold::leading(line, fold)]
}

/// Where the line with the byte at `place` starts.
fn line_start(bytes: &[u8], place: usize) -> usize {
    let first = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    memrchr2(b'\n', b'\r', &bytes[..place]).map_or(first, |at| at + 1)
}
