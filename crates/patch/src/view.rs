//! A text with some differences ignored, and the positions of its bytes in the original.

use std::ops::Range;

use crate::fold::{self, Fold};
use crate::text::{BYTE_ORDER_MARK, FileLine, LineBreaks, LineEnding};

/// Which differences a view ignores. Line endings and a byte order mark always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ignoring {
    /// Blanks at the ends of lines.
    pub(crate) trailing: bool,
    /// Blanks at the starts of lines.
    pub(crate) leading: bool,
    /// Variants of characters.
    pub(crate) fold: Fold,
}

/// The kind of text that a view is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewSource {
    /// A whole file: its last line always has an ending in the view.
    File,
    /// A piece of text.
    Piece,
}

/// A text with differences ignored.
#[derive(Debug)]
pub(crate) struct FoldedView {
    /// The text with the differences removed.
    pub(crate) text: Vec<u8>,
    parts: Vec<ViewPart>,
}

/// Bytes of the view, and the bytes of the source that they come from.
#[derive(Debug, Clone, Copy)]
struct ViewPart {
    view: u32,
    source: u32,
    /// How many bytes of the source it comes from.
    width: u32,
    /// Whether it was changed: a byte within it has no position in the source.
    changed: bool,
}

impl FoldedView {
    pub(crate) fn new(bytes: &[u8], ignoring: Ignoring, source: ViewSource) -> Self {
        let mut view = Self { text: Vec::with_capacity(bytes.len()), parts: Vec::new() };
        let mut at = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut ending = LineEnding::None;
        for line in LineBreaks::Any.lines(&bytes[at..]) {
            view.line(line, at, ignoring);
            at += line.width();
            ending = line.ending;
        }
        if source == ViewSource::File && ending == LineEnding::None {
            view.change(at..at, b"\n");
        }
        view
    }

    fn line(&mut self, line: FileLine<'_>, at: usize, ignoring: Ignoring) {
        let mut body = line.body;
        if ignoring.trailing {
            body = fold::trim_end(body, ignoring.fold);
        }
        let skipped = if ignoring.leading { fold::leading(body, ignoring.fold) } else { 0 };
        self.body(&body[skipped..], at + skipped, ignoring.fold);
        let end = at + line.body.len();
        match line.ending {
            LineEnding::None => {}
            LineEnding::Lf => self.keep(b"\n", end),
            LineEnding::CrLf | LineEnding::Cr => self.change(end..end + line.ending.as_bytes().len(), b"\n"),
        }
    }

    fn body(&mut self, mut body: &[u8], mut at: usize, fold: Fold) {
        if fold == Fold::Nothing {
            return self.keep(body, at);
        }
        while let Some(start) = body.iter().position(|byte| !byte.is_ascii()) {
            self.keep(&body[..start], at);
            let end = body[start..].iter().position(u8::is_ascii).map_or(body.len(), |length| start + length);
            self.non_ascii(&body[start..end], at + start, fold);
            (body, at) = (&body[end..], at + end);
        }
        self.keep(body, at);
    }

    /// Characters outside of ASCII. Text is compared decomposed, so a combining mark does not change ASCII before it.
    fn non_ascii(&mut self, run: &[u8], mut at: usize, fold: Fold) {
        for chunk in run.utf8_chunks() {
            fold.pieces(chunk.valid(), |piece, folded| {
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
            _ => self.parts.push(ViewPart { view, source, width, changed: false }),
        }
    }

    fn change(&mut self, from: Range<usize>, into: &[u8]) {
        self.parts.push(ViewPart { view: short(self.text.len()), source: short(from.start), width: short(from.len()), changed: true });
        self.text.extend_from_slice(into);
    }

    /// The part that the byte at `place` belongs to, and where that part ends in the view.
    fn part(&self, place: usize) -> Option<(ViewPart, usize)> {
        let behind = self.parts.partition_point(|part| part.view as usize <= place);
        let end = self.parts.get(behind).map_or(self.text.len(), |next| next.view as usize);
        Some((*self.parts.get(behind.checked_sub(1)?)?, end))
    }

    /// Position in the source of the byte at `place`; `None` within a character that was changed.
    pub(crate) fn source_start(&self, place: usize) -> Option<usize> {
        let (part, _) = self.part(place)?;
        let within = place - part.view as usize;
        (!part.changed || within == 0).then_some(part.source as usize + within)
    }

    /// End in the source of the bytes before `place`.
    pub(crate) fn source_end(&self, place: usize) -> Option<usize> {
        let (part, end) = self.part(place.checked_sub(1)?)?;
        let (source, within) = (part.source as usize, place - part.view as usize);
        if part.changed { (place == end).then_some(source + part.width as usize) } else { Some(source + within) }
    }

    /// End in the view of the bytes before `source`; `None` within a character that was changed.
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

    const ENDINGS: Ignoring = Ignoring { trailing: false, leading: false, fold: Fold::Nothing };
    const TRAILING: Ignoring = Ignoring { trailing: true, ..ENDINGS };
    const INDENTATION: Ignoring = Ignoring { leading: true, ..TRAILING };
    const MARKS: Ignoring = Ignoring { fold: Fold::Punctuation, ..TRAILING };
    const COMPATIBLE: Ignoring = Ignoring { fold: Fold::Compatible, ..INDENTATION };

    #[test]
    fn a_view_shows_what_is_not_ignored() {
        for (ignoring, bytes, source, expected) in [
            (ENDINGS, &b"a \r\nb\rc\n"[..], ViewSource::File, &b"a \nb\nc\n"[..]),
            (ENDINGS, b"\xef\xbb\xbfa", ViewSource::File, b"a\n"),
            (ENDINGS, b"a", ViewSource::Piece, b"a"),
            (ENDINGS, b"", ViewSource::File, b"\n"),
            (TRAILING, b" a \t\n\t\nb\xff \r\n", ViewSource::File, b" a\n\nb\xff\n"),
            (INDENTATION, b"\t a \n\n  b", ViewSource::Piece, b"a\n\nb"),
            (MARKS, "“a”\u{a0}\n\u{a0}b".as_bytes(), ViewSource::Piece, b"\"a\"\n b"),
            (COMPATIBLE, "\u{3000}ﬁÿ".as_bytes(), ViewSource::Piece, "fiy\u{308}".as_bytes()),
        ] {
            let view = FoldedView::new(bytes, ignoring, source);
            assert_eq!(String::from_utf8_lossy(&view.text), String::from_utf8_lossy(expected), "{ignoring:?} {bytes:?}");
        }
    }

    #[test]
    fn every_place_of_a_view_leads_back() {
        let bytes = "x “é”  \r\ny".as_bytes();
        let view = FoldedView::new(bytes, MARKS, ViewSource::File);
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
        let view = FoldedView::new("ﬁx".as_bytes(), COMPATIBLE, ViewSource::Piece);
        assert_eq!(view.text, b"fix");
        assert_eq!([0, 1, 2].map(|place| view.source_start(place)), [Some(0), None, Some(3)]);
        assert_eq!([1, 2, 3].map(|place| view.source_end(place)), [None, Some(3), Some(4)]);
    }
}
