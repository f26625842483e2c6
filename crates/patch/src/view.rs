//! A text as it looks when some differences are ignored, and the way back to the bytes it was made from.

use std::ops::Range;

use crate::fold::{self, Fold};
use crate::text::{BYTE_ORDER_MARK, Breaks, Ending, Line};

/// Which differences a view ignores. Line endings and a byte order mark always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ignoring {
    /// Blanks at the ends of lines.
    pub(crate) trailing: bool,
    /// Blanks at the starts of lines.
    pub(crate) leading: bool,
    /// Variants of letters.
    pub(crate) letters: Fold,
}

/// What the text is that a view is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A whole file: its last line looks as if it had an ending.
    File,
    /// A piece of text, seen as it is.
    Piece,
}

/// A text with differences ignored.
#[derive(Debug)]
pub(crate) struct View {
    /// What it looks like.
    pub(crate) text: Vec<u8>,
    parts: Vec<Part>,
}

/// Bytes of the view that come from bytes of the source; what no part comes from is not seen.
#[derive(Debug, Clone, Copy)]
struct Part {
    view: u32,
    source: u32,
    /// How many bytes of the source it comes from.
    width: u32,
    /// Whether it was changed, so that nothing within it has a place in the source.
    changed: bool,
}

impl View {
    pub(crate) fn new(bytes: &[u8], ignoring: Ignoring, source: Source) -> Self {
        let mut view = Self { text: Vec::with_capacity(bytes.len()), parts: Vec::new() };
        let mut at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut ending = Ending::None;
        for line in Breaks::Any.lines(&bytes[at..]) {
            view.line(line, at, ignoring);
            at += line.width();
            ending = line.ending;
        }
        if source == Source::File && ending == Ending::None {
            view.change(at..at, b"\n");
        }
        view
    }

    fn line(&mut self, line: Line<'_>, at: usize, ignoring: Ignoring) {
        let mut body = line.body;
        if ignoring.trailing {
            body = fold::trim_end(body, ignoring.letters);
        }
        let skipped = if ignoring.leading { fold::leading(body, ignoring.letters) } else { 0 };
        self.body(&body[skipped..], at + skipped, ignoring.letters);
        let end = at + line.body.len();
        match line.ending {
            Ending::None => {}
            Ending::Lf => self.keep(b"\n", end),
            Ending::CrLf | Ending::Cr => self.change(end..end + line.ending.as_bytes().len(), b"\n"),
        }
    }

    fn body(&mut self, mut body: &[u8], mut at: usize, letters: Fold) {
        if letters == Fold::Nothing {
            return self.keep(body, at);
        }
        while let Some(start) = body.iter().position(|byte| !byte.is_ascii()) {
            self.keep(&body[..start], at);
            let end = body[start..].iter().position(u8::is_ascii).map_or(body.len(), |length| start + length);
            self.letters(&body[start..end], at + start, letters);
            (body, at) = (&body[end..], at + end);
        }
        self.keep(body, at);
    }

    /// Letters outside of ASCII. No mark changes a letter of ASCII before it, as letters are compared decomposed.
    fn letters(&mut self, run: &[u8], mut at: usize, letters: Fold) {
        for chunk in run.utf8_chunks() {
            letters.pieces(chunk.valid(), |piece, folded| {
                match folded {
                    None => self.keep(piece.as_bytes(), at),
                    Some(folded) => self.change(at..at + piece.len(), folded.as_bytes()),
                }
                at += piece.len();
            });
            self.keep(chunk.invalid(), at);
            at += chunk.invalid().len();
        }
    }

    fn keep(&mut self, bytes: &[u8], at: usize) {
        let (view, source, width) = (short(self.text.len()), short(at), short(bytes.len()));
        self.text.extend_from_slice(bytes);
        match self.parts.last_mut() {
            _ if bytes.is_empty() => {}
            Some(last) if !last.changed && last.source + last.width == source => last.width += width,
            _ => self.parts.push(Part { view, source, width, changed: false }),
        }
    }

    fn change(&mut self, from: Range<usize>, into: &[u8]) {
        self.parts.push(Part { view: short(self.text.len()), source: short(from.start), width: short(from.len()), changed: true });
        self.text.extend_from_slice(into);
    }

    /// The part that the byte at `place` belongs to, and where that part ends in the view.
    fn part(&self, place: usize) -> Option<(Part, usize)> {
        let behind = self.parts.partition_point(|part| part.view as usize <= place);
        let end = self.parts.get(behind).map_or(self.text.len(), |next| next.view as usize);
        Some((*self.parts.get(behind.checked_sub(1)?)?, end))
    }

    /// Where in the source the byte at `place` comes from; `None` within a letter that was changed.
    pub(crate) fn source_start(&self, place: usize) -> Option<usize> {
        let (part, _) = self.part(place)?;
        let within = place - part.view as usize;
        (!part.changed || within == 0).then_some(part.source as usize + within)
    }

    /// Where in the source what stands before `place` ends.
    pub(crate) fn source_end(&self, place: usize) -> Option<usize> {
        let (part, end) = self.part(place.checked_sub(1)?)?;
        let (source, within) = (part.source as usize, place - part.view as usize);
        if part.changed { (place == end).then_some(source + part.width as usize) } else { Some(source + within) }
    }

    /// Where in the view what stands before `source` ends; `None` within a letter that was changed.
    pub(crate) fn view_end(&self, source: usize) -> Option<usize> {
        let behind = self.parts.partition_point(|part| (part.source as usize) < source);
        let Some(part) = behind.checked_sub(1).map(|last| self.parts[last]) else { return Some(0) };
        let within = source - part.source as usize;
        if within < part.width as usize {
            return (!part.changed).then_some(part.view as usize + within);
        }
        Some(self.parts.get(behind).map_or(self.text.len(), |next| next.view as usize))
    }
}

/// Views are made of files up to [`crate::edit::FORGIVING_LIMIT`] only, so nothing is ever cut here.
fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDINGS: Ignoring = Ignoring { trailing: false, leading: false, letters: Fold::Nothing };
    const TRAILING: Ignoring = Ignoring { trailing: true, ..ENDINGS };
    const INDENTATION: Ignoring = Ignoring { leading: true, ..TRAILING };
    const MARKS: Ignoring = Ignoring { letters: Fold::Punctuation, ..TRAILING };
    const COMPATIBLE: Ignoring = Ignoring { letters: Fold::Compatible, ..INDENTATION };

    #[test]
    fn a_view_shows_what_is_not_ignored() {
        for (ignoring, bytes, source, expected) in [
            (ENDINGS, &b"a \r\nb\rc\n"[..], Source::File, &b"a \nb\nc\n"[..]),
            (ENDINGS, b"\xef\xbb\xbfa", Source::File, b"a\n"),
            (ENDINGS, b"a", Source::Piece, b"a"),
            (ENDINGS, b"", Source::File, b"\n"),
            (TRAILING, b" a \t\n\t\nb\xff \r\n", Source::File, b" a\n\nb\xff\n"),
            (INDENTATION, b"\t a \n\n  b", Source::Piece, b"a\n\nb"),
            (MARKS, "“a”\u{a0}\n\u{a0}b".as_bytes(), Source::Piece, b"\"a\"\n b"),
            (COMPATIBLE, "\u{3000}ﬁÿ".as_bytes(), Source::Piece, "fiy\u{308}".as_bytes()),
        ] {
            let view = View::new(bytes, ignoring, source);
            assert_eq!(String::from_utf8_lossy(&view.text), String::from_utf8_lossy(expected), "{ignoring:?} {bytes:?}");
        }
    }

    #[test]
    fn every_place_of_a_view_leads_back() {
        let bytes = "x “é”  \r\ny".as_bytes();
        let view = View::new(bytes, MARKS, Source::File);
        assert_eq!(view.text, "x \"é\"\ny\n".as_bytes());
        let starts: Vec<_> = (0..view.text.len()).map(|place| view.source_start(place)).collect();
        assert_eq!(starts, [0, 1, 2, 5, 6, 7, 12, 14, 15].map(Some));
        let ends: Vec<_> = (1..=view.text.len()).map(|place| view.source_end(place)).collect();
        assert_eq!(ends, [1, 2, 5, 6, 7, 10, 14, 15, 15].map(Some));
        let places = [0, 2, 3, 5, 7, 10, 11, 12, 13, 14, 15].map(|source| view.view_end(source));
        assert_eq!(places, [Some(0), Some(2), None, Some(3), Some(5), Some(6), Some(6), Some(6), None, Some(7), Some(8)]);
    }

    #[test]
    fn nothing_leads_into_the_middle_of_a_changed_letter() {
        let view = View::new("ﬁx".as_bytes(), COMPATIBLE, Source::Piece);
        assert_eq!(view.text, b"fix");
        assert_eq!([0, 1, 2].map(|place| view.source_start(place)), [Some(0), None, Some(3)]);
        assert_eq!([1, 2, 3].map(|place| view.source_end(place)), [None, Some(3), Some(4)]);
    }
}
