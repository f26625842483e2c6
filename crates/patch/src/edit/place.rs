//! A place in a file that an old text stands for, and whether it does.

use std::ops::Range;

use memchr::memrchr2;

use crate::fold::{self, Fold};
use crate::indent::Shift;
use crate::text::{BYTE_ORDER_MARK, Breaks};
use crate::view::{Ignoring, Source, View};

/// Where an old text was found.
#[derive(Debug)]
pub(super) struct Place {
    /// The bytes in the file.
    pub(super) range: Range<usize>,
    /// How the block is indented there, if that is not as it was written.
    pub(super) indented: Option<Indented>,
    /// Whether the old text ends with a line ending that the file has not.
    pub(super) open_end: bool,
}

/// How a block is indented in the file.
#[derive(Debug)]
pub(super) struct Indented {
    pub(super) shift: Shift,
    /// Whether the block begins behind other text on its first line.
    pub(super) inside_line: bool,
}

/// A file and an old text, seen with the same differences ignored.
#[derive(Debug)]
pub(super) struct Search<'a> {
    original: &'a [u8],
    view: &'a View,
    old: &'a str,
    wanted: View,
    ignoring: Ignoring,
}

impl<'a> Search<'a> {
    /// `None` if nothing of the old text is seen: it would be everywhere.
    pub(super) fn new(original: &'a [u8], view: &'a View, old: &'a str, ignoring: Ignoring) -> Option<Self> {
        let wanted = View::new(old.as_bytes(), ignoring, Source::Piece);
        let seen = wanted.text.iter().any(|byte| !byte.is_ascii_whitespace());
        seen.then_some(Self { original, view, old, wanted, ignoring })
    }

    /// What is looked for in the view.
    pub(super) fn needle(&self) -> &[u8] {
        &self.wanted.text
    }

    /// The place in the file, if what was found in the view is what the old text means.
    pub(super) fn check(&self, at: usize) -> Option<Place> {
        let text = &self.view.text;
        let end = at + self.wanted.text.len();
        let range = self.view.source_start(at)?..self.view.source_end(end)?;
        let at_start = at == 0 || text[at - 1] == b'\n';
        let at_end = text.get(end).is_none_or(|byte| *byte == b'\n');
        if (self.starts_with_ignored() && !at_start) || (self.ends_with_ignored() && !at_end) {
            return None;
        }
        let open_end = end == text.len() && self.old.ends_with('\n') && !self.original.ends_with(b"\n") && !self.original.ends_with(b"\r");
        if !self.ignoring.leading {
            return Some(Place { range, indented: None, open_end });
        }
        let (start, indented) = self.indented(&range, at_start)?;
        Some(Place { range: start..range.end, indented: Some(indented), open_end })
    }

    /// Whether blanks at the start were ignored: they begin a line, so the place must.
    fn starts_with_ignored(&self) -> bool {
        self.ignoring.leading && fold::leading(self.old.as_bytes(), self.ignoring.letters) > 0
    }

    /// Whether blanks at the end were ignored: they end a line, so the place must, unless they begin the next one.
    fn ends_with_ignored(&self) -> bool {
        let last = self.old.rsplit('\n').next().unwrap_or_default().as_bytes();
        let body = fold::trim_end(last, self.ignoring.letters);
        self.ignoring.trailing && body.len() < last.len() && !(self.ignoring.leading && body.is_empty())
    }

    /// Where the block starts with its indentation, and how it is indented; `None` if it is shaped otherwise.
    fn indented(&self, range: &Range<usize>, at_start: bool) -> Option<(usize, Indented)> {
        let start = if at_start { line_start(self.original, range.start) } else { range.start };
        let letters = self.ignoring.letters;
        let found = Breaks::Any.lines(&self.original[start..range.end]).map(|line| line.body);
        let lines = self.old.split('\n').map(str::as_bytes).zip(found).skip(usize::from(!at_start));
        let pairs = lines.filter(|(written, _)| !fold::trim(written, letters).is_empty());
        let shift = Shift::between(pairs.map(|(written, found)| (blanks(written, letters), blanks(found, letters))))?;
        Some((start, Indented { shift, inside_line: !at_start }))
    }
}

fn blanks(line: &[u8], letters: Fold) -> &[u8] {
    &line[..fold::leading(line, letters)]
}

/// Where the line with the byte at `place` starts.
fn line_start(bytes: &[u8], place: usize) -> usize {
    let first = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    memrchr2(b'\n', b'\r', &bytes[..place]).map_or(first, |at| at + 1)
}
