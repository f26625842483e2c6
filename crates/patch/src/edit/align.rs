//! What changes in a place that was not found exactly.
//!
//! The old and the new text are compared line by line. Where they are the same, nothing is to change, so the file keeps what it
//! has, however it spells it.

use std::ops::Range;
use std::rc::Rc;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::place::{Indented, Place};
use crate::fold;
use crate::text::{Breaks, Ending};
use crate::view::{Ignoring, Source, View};

/// Bytes of the file, and what is to be there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) range: Range<usize>,
    pub(super) text: Rc<[u8]>,
}

/// An edit whose texts have `\n` for every ending, and what is ignored to find it.
#[derive(Debug)]
pub(super) struct Wish<'a> {
    pub(super) original: &'a [u8],
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) ignoring: Ignoring,
    /// The ending of new lines, where the place has none.
    pub(super) ending: Ending,
}

/// The changes within a place.
pub(super) fn align(wish: &Wish<'_>, place: &Place) -> Vec<Change> {
    let Wish { original, old, new, ignoring, .. } = *wish;
    let (mut old, mut new) = match &place.indented {
        None => (old.to_owned(), new.to_owned()),
        Some(indented) => (as_found(original, place, indented, old, ignoring), as_written_there(indented, new)),
    };
    if place.open_end {
        old.truncate(old.len() - 1);
        new.truncate(new.len() - usize::from(new.ends_with('\n')));
    }
    let ending = Ending::dominant(&original[place.range.clone()]).unwrap_or(wish.ending);
    let wish = Wish { original, old: &old, new: &new, ignoring: Ignoring { leading: false, ..ignoring }, ending };
    Aligned::new(&wish, place.range.clone()).changes()
}

/// The old text with the indentation that the file has.
fn as_found(original: &[u8], place: &Place, indented: &Indented, old: &str, ignoring: Ignoring) -> String {
    let found = Breaks::Any.lines(&original[place.range.clone()]).map(|line| line.body).chain(std::iter::repeat(&b""[..]));
    let lines = old.split_inclusive('\n').zip(found).enumerate().map(|(number, (line, found))| {
        let body = line.trim_start_matches([' ', '\t']);
        match number {
            0 if indented.inside_line => line.to_owned(),
            _ if body.is_empty() || body == "\n" => body.to_owned(),
            _ => String::from_utf8_lossy(&found[..fold::leading(found, ignoring.letters)]).into_owned() + body,
        }
    });
    lines.collect()
}

/// The new text with indentation as the file would have it.
fn as_written_there(indented: &Indented, new: &str) -> String {
    let kept = if indented.inside_line { new.find('\n').map_or(new.len(), |feed| feed + 1) } else { 0 };
    new[..kept].to_owned() + &indented.shift.apply_to_lines(&new[kept..])
}

/// `\n` replaced by another ending.
pub(super) fn with_ending(text: &str, ending: Ending) -> Vec<u8> {
    let Ok(bytes) = std::str::from_utf8(ending.as_bytes()) else { return text.as_bytes().to_vec() };
    text.replace('\n', bytes).into_bytes()
}

#[derive(Debug)]
struct Aligned<'a> {
    wish: &'a Wish<'a>,
    range: Range<usize>,
    /// Where each line of the old text is in the file.
    places: Vec<Range<usize>>,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl<'a> Aligned<'a> {
    fn new(wish: &'a Wish<'a>, range: Range<usize>) -> Self {
        let mut at = range.start;
        let places = Breaks::Any.lines(&wish.original[range.clone()]).map(|line| {
            at += line.width();
            at - line.width()..at
        });
        let (places, old, new) = (places.collect(), wish.old.split_inclusive('\n').collect(), wish.new.split_inclusive('\n').collect());
        Self { wish, range, places, old, new }
    }

    fn changes(&self) -> Vec<Change> {
        if self.places.len() != self.old.len() {
            return vec![Change { range: self.range.clone(), text: self.ended(&self.new.concat()) }];
        }
        let operations = capture_diff_slices(Algorithm::Myers, &self.old, &self.new);
        let changed = operations.iter().filter(|operation| operation.tag() != DiffTag::Equal);
        changed.flat_map(|operation| self.operation(operation.old_range(), operation.new_range())).collect()
    }

    /// Lines for as many lines are compared each with its own, so that more of the file is kept.
    fn operation(&self, old: Range<usize>, new: Range<usize>) -> Vec<Change> {
        if old.len() != new.len() {
            return vec![self.change(old, new)];
        }
        old.zip(new).map(|(old, new)| self.change(old..old + 1, new..new + 1)).collect()
    }

    fn change(&self, old: Range<usize>, new: Range<usize>) -> Change {
        let start = self.places.get(old.start).map_or(self.range.end, |place| place.start);
        let end = if old.is_empty() { start } else { self.places[old.end - 1].end };
        let (old, new) = (self.old[old].concat(), self.new[new].concat());
        let kept = self.kept(start..end, &old, &new);
        Change { range: start + kept.file.start..start + kept.file.end, text: self.ended(&new[kept.text]) }
    }

    fn ended(&self, text: &str) -> Rc<[u8]> {
        with_ending(text, self.wish.ending).into()
    }

    /// What is left of a change without the letters that both texts start with and end with.
    fn kept(&self, place: Range<usize>, old: &str, new: &str) -> Rest {
        let Wish { original, ignoring, .. } = *self.wish;
        let bytes = &original[place];
        let (found, wanted) = (View::new(bytes, ignoring, Source::Piece), View::new(old.as_bytes(), ignoring, Source::Piece));
        let whole = Rest { file: 0..bytes.len(), text: 0..new.len() };
        if found.text != wanted.text {
            return whole;
        }
        let before = common_start(old, new, |at| behind(&found, &wanted, at));
        let (rest_old, rest_new) = (&old[before.0..], &new[before.0..]);
        let after = common_end(rest_old, rest_new, |at| behind(&found, &wanted, before.0 + at));
        let end = after.1.unwrap_or(bytes.len());
        Rest { file: before.1.unwrap_or(0).min(end)..end, text: before.0..new.len() - after.0 }
    }
}

/// The parts of the file and of the new text that are left.
struct Rest {
    file: Range<usize>,
    text: Range<usize>,
}

/// Where in the file what stands before a place of the old text ends.
fn behind(found: &View, wanted: &View, at: usize) -> Option<usize> {
    match wanted.view_end(at)? {
        0 => Some(0),
        place => found.source_end(place),
    }
}

/// How many bytes both start with, as far as they have a place in the file; and that place.
fn common_start(old: &str, new: &str, place: impl Fn(usize) -> Option<usize>) -> (usize, Option<usize>) {
    let same = old.chars().zip(new.chars()).take_while(|(one, other)| one == other).map(|(letter, _)| letter.len_utf8()).sum();
    let ends = old.char_indices().map(|(at, _)| at).chain([old.len()]).rev().skip_while(|at| *at > same);
    ends.map(|at| (at, place(at))).find(|(_, place)| place.is_some()).unwrap_or_default()
}

/// How many bytes both end with, as far as they have a place in the file; and where that starts.
fn common_end(old: &str, new: &str, place: impl Fn(usize) -> Option<usize>) -> (usize, Option<usize>) {
    let letters = old.chars().rev().zip(new.chars().rev());
    let same: usize = letters.take_while(|(one, other)| one == other).map(|(letter, _)| letter.len_utf8()).sum();
    let starts = old.char_indices().map(|(at, _)| at).chain([old.len()]).skip_while(|at| *at < old.len() - same);
    starts.map(|at| (old.len() - at, place(at))).find(|(_, place)| place.is_some()).unwrap_or_default()
}
