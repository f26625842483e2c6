//! The rules by which an old text is looked for, one after the other.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use memchr::memmem::Finder;

use super::align::{self, Change, Wish};
use super::place::{Place, Search};
use super::{Edit, FORGIVING_LIMIT, MAX_MATCHES};
use crate::Rule;
use crate::fold::Fold;
use crate::text::Ending;
use crate::view::{Ignoring, Source, View};

/// What each rule ignores. A rule that stands here twice is tried with the indentation as it is first.
const FIRST: [(Rule, Ignoring); 5] = [
    (Rule::LineEndings, Ignoring { trailing: false, leading: false, letters: Fold::Nothing }),
    (Rule::TrailingBlanks, Ignoring { trailing: true, leading: false, letters: Fold::Nothing }),
    (Rule::Indentation, Ignoring { trailing: true, leading: true, letters: Fold::Nothing }),
    (Rule::Punctuation, Ignoring { trailing: true, leading: false, letters: Fold::Punctuation }),
    (Rule::Punctuation, Ignoring { trailing: true, leading: true, letters: Fold::Punctuation }),
];
const LAST: [(Rule, Ignoring); 4] = [
    (Rule::Canonical, Ignoring { trailing: true, leading: false, letters: Fold::Canonical }),
    (Rule::Canonical, Ignoring { trailing: true, leading: true, letters: Fold::Canonical }),
    (Rule::Compatible, Ignoring { trailing: true, leading: false, letters: Fold::Compatible }),
    (Rule::Compatible, Ignoring { trailing: true, leading: true, letters: Fold::Compatible }),
];

/// How many places are counted where there should be one.
pub(super) const COUNTED: usize = 1_000;

/// How many places that turn out to be none are looked at.
const CHECKED: usize = 100_000;

/// What became of one edit.
#[derive(Debug)]
pub(super) enum Located {
    /// Its places are known.
    Found(Rule, Vec<Match>),
    /// There are several, and one was asked for.
    Several(Rule, Vec<Range<usize>>),
    /// There are too many to replace them all.
    TooMany(Rule),
    /// It is not there.
    Missing,
}

/// One place, and what changes in it.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) range: Range<usize>,
    pub(super) changes: Vec<Change>,
}

/// Looks for every edit in the original.
pub(super) fn locate(original: &[u8], edits: &[Edit]) -> Vec<Located> {
    let mut located: Vec<Located> = edits.iter().map(|edit| exact(original, edit)).collect();
    if original.len() > FORGIVING_LIMIT {
        return located;
    }
    let mut open: Vec<Open<'_>> = located.iter_mut().zip(edits).collect();
    for (rule, ignoring) in FIRST {
        climb(&mut open, original, rule, ignoring);
    }
    keep_hopeful(&mut open, original);
    for (rule, ignoring) in LAST {
        climb(&mut open, original, rule, ignoring);
    }
    located
}

/// An edit, and what became of it so far.
type Open<'a> = (&'a mut Located, &'a Edit);

/// Tries one rule on every edit that is not found yet.
fn climb(open: &mut [Open<'_>], original: &[u8], rule: Rule, ignoring: Ignoring) {
    let is_open = |(located, edit): &&mut Open<'_>| matches!(located, Located::Missing) && can_help(original, edit, ignoring);
    let mut pending = open.iter_mut().filter(is_open).peekable();
    if pending.peek().is_none() {
        return;
    }
    let view = View::new(original, ignoring, Source::File);
    for (located, edit) in pending {
        **located = forgive(original, &view, edit, rule, ignoring);
    }
}

/// Leaves the edits whose text is there when all is ignored that any rule ignores. Decomposing a file takes its time, and a text
/// that is not there then is not there by any rule.
fn keep_hopeful(open: &mut Vec<Open<'_>>, original: &[u8]) {
    let [(_, least), .., (_, most)] = LAST;
    open.retain(|(located, edit)| matches!(located, Located::Missing) && can_help(original, edit, least));
    if open.is_empty() {
        return;
    }
    let view = View::new(original, most, Source::File);
    open.retain(|(_, edit)| {
        let old = every_line_fed(&edit.old);
        let search = Search::new(original, &view, &old, most);
        search.is_some_and(|search| Finder::new(search.needle()).find(&view.text).is_some())
    });
}

/// Whether ignoring this could find the text where ignoring less has not.
fn can_help(original: &[u8], edit: &Edit, ignoring: Ignoring) -> bool {
    let Edit { old, new, .. } = edit;
    let blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    let lines = old.contains(['\n', '\r']);
    let at_ends = lines || old.starts_with(blank) || old.ends_with(blank);
    // Texts of ASCII alone have no variants of letters.
    let letters = ignoring.letters != Fold::Nothing && !(old.is_ascii() && original.is_ascii());
    let helps = if ignoring.leading { lines || old.starts_with(blank) } else { letters || at_ends };
    let letters_fit = ignoring.letters == Fold::Nothing || letters;
    helps && letters_fit && lines_fed(old) != lines_fed(new)
}

fn exact(original: &[u8], edit: &Edit) -> Located {
    let places = collect(original, edit.old.as_bytes(), edit.replace_all, |at| Some(at..at + edit.old.len()));
    judge(edit, Rule::Exact, places, |places| {
        let text = replacement(original, edit, places.first().cloned().unwrap_or_default());
        let change = |range: Range<usize>| Change { range, text: Rc::clone(&text) };
        places.into_iter().map(|range| Match { range: range.clone(), changes: vec![change(range)] }).collect()
    })
}

/// The new text with the line endings of its place.
fn replacement(original: &[u8], edit: &Edit, place: Range<usize>) -> Rc<[u8]> {
    // Endings are what is to be changed.
    if lines_fed(&edit.old) == lines_fed(&edit.new) {
        return edit.new.as_bytes().into();
    }
    match Ending::dominant(&original[place]).or_else(|| Ending::dominant(original)) {
        None => edit.new.as_bytes().into(),
        Some(ending) => align::with_ending(&lines_fed(&edit.new), ending).into(),
    }
}

fn forgive(original: &[u8], view: &View, edit: &Edit, rule: Rule, ignoring: Ignoring) -> Located {
    let old = every_line_fed(&edit.old);
    // Whoever writes bare returns or a mark in the old text means the same by them in the new one.
    let new = if edit.old.contains(['\r', '\u{feff}']) { every_line_fed(&edit.new).into() } else { lines_fed(&edit.new) };
    let Some(search) = Search::new(original, view, &old, ignoring) else { return Located::Missing };
    let places = collect(&view.text, search.needle(), edit.replace_all, |at| search.check(at));
    judge(edit, rule, places, |places: Vec<Place>| {
        let ending = Ending::dominant(original).unwrap_or_default();
        let wish = Wish { original, old: &old, new: &new, ignoring, ending };
        places.into_iter().map(|place| Match { changes: align::align(&wish, &place), range: place.range }).collect()
    })
}

/// The text with `\n` for `\r\n`.
pub(super) fn lines_fed(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// The text with `\n` for every ending, and without a byte order mark.
fn every_line_fed(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n")
}

/// Finds a text again and again: all places that do not overlap, or as many as are counted, overlapping or not. `None` if there
/// are more than can be dealt with.
fn collect<T>(text: &[u8], needle: &[u8], all: bool, check: impl Fn(usize) -> Option<T>) -> Option<Vec<T>> {
    let finder = Finder::new(needle);
    let (mut places, mut at, mut refused) = (Vec::new(), 0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| finder.find(rest)) {
        if places.len() == MAX_MATCHES || refused == CHECKED {
            return None;
        }
        let place = check(at + found);
        at += found + if all && place.is_some() { needle.len() } else { 1 };
        refused += usize::from(place.is_none());
        places.extend(place);
        if !all && places.len() > COUNTED {
            break;
        }
    }
    Some(places)
}

fn judge<T: AsRange>(edit: &Edit, rule: Rule, places: Option<Vec<T>>, build: impl FnOnce(Vec<T>) -> Vec<Match>) -> Located {
    match places {
        None => Located::TooMany(rule),
        Some(places) if places.is_empty() => Located::Missing,
        Some(places) if places.len() > 1 && !edit.replace_all => Located::Several(rule, places.iter().map(AsRange::range).collect()),
        Some(places) => Located::Found(rule, build(places)),
    }
}

trait AsRange {
    fn range(&self) -> Range<usize>;
}

impl AsRange for Range<usize> {
    fn range(&self) -> Range<usize> {
        self.clone()
    }
}

impl AsRange for Place {
    fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}
