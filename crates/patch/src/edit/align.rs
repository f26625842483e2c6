//! The changes at a match that is not exact.
//!
//! The old and the new text are compared line by line. Where they are equal, the file keeps its own spelling.

use std::ops::Range;
use std::rc::Rc;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::site::{MatchSite, SiteIndent};
use crate::fold;
use crate::text::{LineBreaks, LineEnding};
use crate::view::{FoldedView, Ignoring, ViewSource};

/// Bytes of the file, and their replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteChange {
    pub(super) range: Range<usize>,
    pub(super) text: Rc<[u8]>,
}

/// An edit whose texts have `\n` for every ending, and the differences that its search ignores.
#[derive(Debug)]
pub(super) struct NormalizedEdit<'a> {
    pub(super) original: &'a [u8],
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) ignoring: Ignoring,
    /// The ending of new lines, where the match has none.
    pub(super) ending: LineEnding,
}

/// The changes at a match.
pub(super) fn align(wish: &NormalizedEdit<'_>, place: &MatchSite) -> Vec<ByteChange> {
    let NormalizedEdit { original, old, new, ignoring, .. } = *wish;
    let (mut old, mut new) = match &place.indented {
        None => (old.to_owned(), new.to_owned()),
        Some(indented) => (as_found(original, place, indented, old, ignoring), as_written_there(indented, new)),
    };
    if place.open_end {
        old.truncate(old.len() - 1);
        new.truncate(new.len() - usize::from(new.ends_with('\n')));
    }
    let ending = LineEnding::dominant(&original[place.range.clone()]).unwrap_or(wish.ending);
    let wish = NormalizedEdit { original, old: &old, new: &new, ignoring: Ignoring { leading: false, ..ignoring }, ending };
    LineAlignment::new(&wish, place.range.clone()).changes()
}

/// The old text with the indentation that the file has.
fn as_found(original: &[u8], place: &MatchSite, indented: &SiteIndent, old: &str, ignoring: Ignoring) -> String {
    let found = LineBreaks::Any.lines(&original[place.range.clone()]).map(|line| line.body).chain(std::iter::repeat(&b""[..]));
    let lines = old.split_inclusive('\n').zip(found).enumerate().map(|(number, (line, found))| {
        let body = line.trim_start_matches([' ', '\t']);
        match number {
            0 if indented.inside_line => line.to_owned(),
            _ if body.is_empty() || body == "\n" => body.to_owned(),
            _ => String::from_utf8_lossy(&found[..fold::leading(found, ignoring.fold)]).into_owned() + body,
        }
    });
    lines.collect()
}

/// The new text with indentation as the file would have it.
fn as_written_there(indented: &SiteIndent, new: &str) -> String {
    let first = if indented.inside_line { new.find('\n').map_or(new.len(), |feed| feed + 1) } else { 0 };
    new[..first].to_owned() + &indented.shift.apply_to_lines(&new[first..])
}

/// `\n` replaced by another ending.
pub(super) fn with_ending(text: &str, ending: LineEnding) -> Vec<u8> {
    let Ok(bytes) = std::str::from_utf8(ending.as_bytes()) else { return text.as_bytes().to_vec() };
    text.replace('\n', bytes).into_bytes()
}

#[derive(Debug)]
struct LineAlignment<'a> {
    wish: &'a NormalizedEdit<'a>,
    range: Range<usize>,
    /// Where each line of the old text is in the file.
    places: Vec<Range<usize>>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl<'a> LineAlignment<'a> {
    fn new(wish: &'a NormalizedEdit<'a>, range: Range<usize>) -> Self {
        let mut at = range.start;
        let places = LineBreaks::Any.lines(&wish.original[range.clone()]).map(|line| {
            at += line.width();
            at - line.width()..at
        });
        let (places, old, new) = (places.collect(), wish.old.split_inclusive('\n').collect(), wish.new.split_inclusive('\n').collect());
        Self { wish, range, places, old, new }
    }

    fn changes(&self) -> Vec<ByteChange> {
        if self.places.len() != self.old.len() {
            return vec![ByteChange { range: self.range.clone(), text: self.ended(&self.new.concat()) }];
        }
        let operations = capture_diff_slices(Algorithm::Myers, &self.old, &self.new);
        let changed = operations.iter().filter(|operation| operation.tag() != DiffTag::Equal);
        changed.flat_map(|operation| self.operation(operation.old_range(), operation.new_range())).collect()
    }

    /// Equal numbers of lines are compared one by one, to keep more of the file.
    fn operation(&self, old: Range<usize>, new: Range<usize>) -> Vec<ByteChange> {
        if old.len() != new.len() {
            return vec![self.change(old, new)];
        }
        old.zip(new).map(|(old, new)| self.change(old..old + 1, new..new + 1)).collect()
    }

    fn change(&self, old: Range<usize>, new: Range<usize>) -> ByteChange {
        let start = self.places.get(old.start).map_or(self.range.end, |place| place.start);
        let end = if old.is_empty() { start } else { self.places[old.end - 1].end };
        let (old, new) = (self.old[old].concat(), self.new[new].concat());
        let part = self.changed_part(start..end, &old, &new);
        ByteChange { range: start + part.file.start..start + part.file.end, text: self.ended(&new[part.text]) }
    }

    fn ended(&self, text: &str) -> Rc<[u8]> {
        with_ending(text, self.wish.ending).into()
    }

    /// A change without the characters that both texts start with and end with.
    fn changed_part(&self, place: Range<usize>, old: &str, new: &str) -> ChangedPart {
        let NormalizedEdit { original, ignoring, .. } = *self.wish;
        let bytes = &original[place];
        let (found, needle) =
            (FoldedView::new(bytes, ignoring, ViewSource::Piece), FoldedView::new(old.as_bytes(), ignoring, ViewSource::Piece));
        let whole = ChangedPart { file: 0..bytes.len(), text: 0..new.len() };
        if found.text != needle.text {
            return whole;
        }
        let before = common_start(old, new, |at| behind(&found, &needle, at));
        let (rest_old, rest_new) = (&old[before.0..], &new[before.0..]);
        let after = common_end(rest_old, rest_new, |at| behind(&found, &needle, before.0 + at));
        let end = after.1.unwrap_or(bytes.len());
        ChangedPart { file: before.1.unwrap_or(0).min(end)..end, text: before.0..new.len() - after.0 }
    }
}

/// The parts of the file and of the new text that differ.
struct ChangedPart {
    file: Range<usize>,
    text: Range<usize>,
}

/// End in the file of what precedes a position of the old text.
fn behind(found: &FoldedView, needle: &FoldedView, at: usize) -> Option<usize> {
    match needle.view_end(at)? {
        0 => Some(0),
        place => found.source_end(place),
    }
}

/// How many bytes both start with, as far as they have a place in the file; and that place.
fn common_start(old: &str, new: &str, place: impl Fn(usize) -> Option<usize>) -> (usize, Option<usize>) {
    let same = old.chars().zip(new.chars()).take_while(|(one, other)| one == other).map(|(ch, _)| ch.len_utf8()).sum();
    let ends = old.char_indices().map(|(at, _)| at).chain([old.len()]).rev().skip_while(|at| *at > same);
    ends.map(|at| (at, place(at))).find(|(_, place)| place.is_some()).unwrap_or_default()
}

/// How many bytes both end with, as far as they have a place in the file; and where that starts.
fn common_end(old: &str, new: &str, place: impl Fn(usize) -> Option<usize>) -> (usize, Option<usize>) {
    let chars = old.chars().rev().zip(new.chars().rev());
    let same: usize = chars.take_while(|(one, other)| one == other).map(|(ch, _)| ch.len_utf8()).sum();
    let starts = old.char_indices().map(|(at, _)| at).chain([old.len()]).skip_while(|at| *at < old.len() - same);
    starts.map(|at| (old.len() - at, place(at))).find(|(_, place)| place.is_some()).unwrap_or_default()
}
