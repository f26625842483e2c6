//! A file's bytes as lines, each with the ending it has.
//!
//! Nothing here decodes: bytes that are not UTF-8, and NUL bytes, are content like any other. A carriage return alone ends a
//! line only in a file that has no line feed at all.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};

/// The byte order mark that some editors write at the start of a file.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The largest number of lines that are indexed: with more, the index alone would take a quarter of a gigabyte.
pub const MAX_LINES: usize = 1 << 26;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LineEnding {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    CrLf,
    /// `\r`
    Cr,
    /// The file ends here without one.
    None,
}

impl LineEnding {
    /// The bytes it is written with.
    pub const fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
            Self::None => b"",
        }
    }

    /// The ending that most lines have; `None` if no line has one.
    pub fn dominant(bytes: &[u8]) -> Option<Self> {
        let (mut feeds, mut pairs) = (0_usize, 0_usize);
        for at in memchr_iter(b'\n', bytes) {
            feeds += 1;
            pairs += usize::from(at > 0 && bytes[at - 1] == b'\r');
        }
        match feeds {
            0 => memchr(b'\r', bytes).map(|_| Self::Cr),
            _ if pairs * 2 > feeds => Some(Self::CrLf),
            _ => Some(Self::Lf),
        }
    }
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLine<'a> {
    /// The line without its ending.
    pub body: &'a [u8],
    /// The ending.
    pub ending: LineEnding,
}

impl FileLine<'_> {
    /// How many bytes it takes, the ending included.
    pub fn width(&self) -> usize {
        self.body.len() + self.ending.as_bytes().len()
    }
}

/// Which bytes end a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineBreaks {
    /// `\n` and `\r\n`.
    Feeds,
    /// Those, and `\r` alone.
    Any,
}

impl LineBreaks {
    /// What ends the lines of this file.
    pub(crate) fn detect(bytes: &[u8]) -> Self {
        if memchr(b'\n', bytes).is_none() { Self::Any } else { Self::Feeds }
    }

    /// The first line of the bytes; an empty one if there are none.
    pub(crate) fn first(self, bytes: &[u8]) -> FileLine<'_> {
        let found = match self {
            Self::Feeds => memchr(b'\n', bytes),
            Self::Any => memchr2(b'\n', b'\r', bytes),
        };
        let Some(at) = found else { return FileLine { body: bytes, ending: LineEnding::None } };
        match (bytes[at], at.checked_sub(1).map(|before| bytes[before]), bytes.get(at + 1)) {
            (b'\n', Some(b'\r'), _) => FileLine { body: &bytes[..at - 1], ending: LineEnding::CrLf },
            (b'\n', ..) => FileLine { body: &bytes[..at], ending: LineEnding::Lf },
            (_, _, Some(b'\n')) => FileLine { body: &bytes[..at], ending: LineEnding::CrLf },
            _ => FileLine { body: &bytes[..at], ending: LineEnding::Cr },
        }
    }

    /// All lines of the bytes. There is no empty one behind a final ending.
    pub(crate) fn lines(self, mut bytes: &[u8]) -> impl Iterator<Item = FileLine<'_>> {
        std::iter::from_fn(move || {
            let line = (!bytes.is_empty()).then(|| self.first(bytes))?;
            bytes = &bytes[line.width()..];
            Some(line)
        })
    }
}

/// A file whose lines can be asked for by number, counted from 0. A byte order mark belongs to no line.
#[derive(Debug)]
pub struct LineTable<'a> {
    bytes: &'a [u8],
    breaks: LineBreaks,
    starts: Vec<u32>,
}

/// More lines, or bytes, than can be indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyLines;

impl<'a> LineTable<'a> {
    /// Finds where each line starts.
    pub fn new(bytes: &'a [u8]) -> Result<Self, TooManyLines> {
        Self::up_to(MAX_LINES, bytes)
    }

    fn up_to(most: usize, bytes: &'a [u8]) -> Result<Self, TooManyLines> {
        let first = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let breaks = LineBreaks::detect(bytes);
        let end = match breaks {
            LineBreaks::Feeds => b'\n',
            LineBreaks::Any => b'\r',
        };
        let ends = memchr_iter(end, &bytes[first..]).count();
        if ends + usize::from(bytes.len() > first && bytes.last() != Some(&end)) > most {
            return Err(TooManyLines);
        }
        let mut starts = Vec::with_capacity(ends + 1);
        let behind = memchr_iter(end, &bytes[first..]).map(|at| first + at + 1);
        for start in std::iter::once(first).chain(behind).filter(|start| *start < bytes.len()) {
            starts.push(u32::try_from(start).map_err(|_| TooManyLines)?);
        }
        Ok(Self { bytes, breaks, starts })
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Where a line starts; the end of the file for the line behind the last.
    pub fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(self.bytes.len(), |start| *start as usize)
    }

    /// The line that the byte at `place` belongs to.
    pub fn containing(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= place).saturating_sub(1)
    }

    /// The bytes of some lines, endings included.
    pub fn span(&self, lines: Range<usize>) -> &'a [u8] {
        &self.bytes[self.start(lines.start)..self.start(lines.end)]
    }

    /// A line; an empty one behind the last.
    pub fn get(&self, line: usize) -> FileLine<'a> {
        let span = self.span(line..line + 1);
        let (body, ending) = match span {
            [body @ .., b'\r', b'\n'] => (body, LineEnding::CrLf),
            [body @ .., b'\n'] => (body, LineEnding::Lf),
            // In a file with line feeds, a return alone is content: there it is behind the last of them.
            [body @ .., b'\r'] if self.breaks == LineBreaks::Any => (body, LineEnding::Cr),
            body => (body, LineEnding::None),
        };
        FileLine { body, ending }
    }

    /// All lines in order.
    pub fn iter(&self) -> impl Iterator<Item = FileLine<'a>> {
        (0..self.len()).map(|line| self.get(line))
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Line numbers, counted from 1, for positions in rising order.
#[derive(Debug)]
pub(crate) struct LineCounter<'a> {
    bytes: &'a [u8],
    feed: u8,
    at: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let feed = if LineBreaks::detect(bytes) == LineBreaks::Feeds { b'\n' } else { b'\r' };
        Self { bytes, feed, at: 0, line: 1 }
    }

    /// The line that the byte at `place` belongs to.
    pub(crate) fn line(&mut self, place: usize) -> usize {
        if place < self.at {
            (self.at, self.line) = (0, 1);
        }
        self.line += memchr_iter(self.feed, &self.bytes[self.at..place]).count();
        self.at = place;
        self.line
    }

    /// The first and the last line that a part touches.
    pub(crate) fn lines(&mut self, part: &Range<usize>) -> (usize, usize) {
        let first = self.line(part.start);
        (first, self.line(part.end.saturating_sub(1).max(part.start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_own_endings() {
        for (bytes, expected) in [
            (&b""[..], vec![]),
            (b"a", vec![(&b"a"[..], LineEnding::None)]),
            (b"a\n", vec![(b"a", LineEnding::Lf)]),
            (b"a\r\n\nb", vec![(b"a", LineEnding::CrLf), (b"", LineEnding::Lf), (b"b", LineEnding::None)]),
            (b"a\rb\r\r", vec![(b"a", LineEnding::Cr), (b"b", LineEnding::Cr), (b"", LineEnding::Cr)]),
            (b"a\rb\nc\r", vec![(b"a\rb", LineEnding::Lf), (b"c\r", LineEnding::None)]),
            (b"\xef\xbb\xbfa\n", vec![(b"a", LineEnding::Lf)]),
            (b"\xff\0\n\xfe", vec![(b"\xff\0", LineEnding::Lf), (b"\xfe", LineEnding::None)]),
        ] {
            let lines = LineTable::new(bytes).unwrap();
            let found: Vec<_> = lines.iter().map(|line| (line.body, line.ending)).collect();
            let asked: Vec<_> = (0..lines.len()).map(|at| (lines.get(at).body, lines.get(at).ending)).collect();
            assert_eq!((&found, &asked), (&expected, &expected), "{bytes:?}");
            assert_eq!(lines.span(0..lines.len()), &bytes[lines.start(0)..], "{bytes:?}");
        }
    }

    #[test]
    fn lines_are_bounded() {
        assert_eq!(LineTable::up_to(2, b"a\nb\n").map(|lines| lines.len()), Ok(2));
        assert_eq!(LineTable::up_to(2, b"a\nb\nc").map(|lines| lines.len()), Err(TooManyLines));
    }

    #[test]
    fn the_line_of_a_place_is_known() {
        let lines = LineTable::new(b"\xef\xbb\xbfab\nc\n").unwrap();
        assert_eq!([0, 3, 5, 6, 7].map(|place| lines.containing(place)), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn the_ending_of_most_lines_wins() {
        for (bytes, expected) in [
            (&b"a"[..], None),
            (b"a\nb", Some(LineEnding::Lf)),
            (b"a\r\nb\r\nc\n", Some(LineEnding::CrLf)),
            (b"a\r\nb\n", Some(LineEnding::Lf)),
            (b"a\rb", Some(LineEnding::Cr)),
        ] {
            assert_eq!(LineEnding::dominant(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn places_have_line_numbers() {
        let mut counter = LineCounter::new(b"a\r\nbc\nd");
        assert_eq!([0, 2, 3, 5, 6, 0].map(|place| counter.line(place)), [1, 1, 2, 2, 3, 1]);
        assert_eq!((counter.lines(&(0..3)), counter.lines(&(3..7)), counter.lines(&(7..7))), ((1, 1), (2, 3), (3, 3)));
        assert_eq!(LineCounter::new(b"a\rb\rc").lines(&(2..5)), (2, 3));
    }
}
