//! The search for old texts, one fuzzy level after the other.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use memchr::memmem::Finder;

use super::align::{self, ByteChange, NormalizedEdit};
use super::site::{MatchSite, SiteSearch};
use super::{Edit, FORGIVING_LIMIT, MAX_MATCHES};
use crate::FuzzyLevel;
use crate::fold::Fold;
use crate::text::LineEnding;
use crate::view::{FoldedView, Ignoring, ViewSource};

/// The differences that each level ignores. A level that is listed twice is tried with exact indentation first.
const FIRST: [(FuzzyLevel, Ignoring); 5] = [
    (FuzzyLevel::LineEndings, Ignoring { trailing: false, leading: false, fold: Fold::Nothing }),
    (FuzzyLevel::TrailingBlanks, Ignoring { trailing: true, leading: false, fold: Fold::Nothing }),
    (FuzzyLevel::Indentation, Ignoring { trailing: true, leading: true, fold: Fold::Nothing }),
    (FuzzyLevel::Punctuation, Ignoring { trailing: true, leading: false, fold: Fold::Punctuation }),
    (FuzzyLevel::Punctuation, Ignoring { trailing: true, leading: true, fold: Fold::Punctuation }),
];
const LAST: [(FuzzyLevel, Ignoring); 4] = [
    (FuzzyLevel::Canonical, Ignoring { trailing: true, leading: false, fold: Fold::Canonical }),
    (FuzzyLevel::Canonical, Ignoring { trailing: true, leading: true, fold: Fold::Canonical }),
    (FuzzyLevel::Compatible, Ignoring { trailing: true, leading: false, fold: Fold::Compatible }),
    (FuzzyLevel::Compatible, Ignoring { trailing: true, leading: true, fold: Fold::Compatible }),
];

/// How many matches are counted where there should be one.
pub(super) const COUNTED: usize = 1_000;

/// How many candidates that turn out to be no match are checked.
const CHECKED: usize = 100_000;

/// The outcome of the search for one edit.
#[derive(Debug)]
pub(super) enum EditMatch {
    /// All its matches.
    Found(FuzzyLevel, Vec<MatchedSite>),
    /// There are several, and one is expected.
    Several(FuzzyLevel, Vec<Range<usize>>),
    /// There are too many to replace.
    TooMany(FuzzyLevel),
    /// There is none.
    Missing,
}

/// One match, and its changes.
#[derive(Debug)]
pub(super) struct MatchedSite {
    pub(super) range: Range<usize>,
    pub(super) changes: Vec<ByteChange>,
}

/// Searches every edit in the original.
pub(super) fn locate(original: &[u8], edits: &[Edit]) -> Vec<EditMatch> {
    let mut located: Vec<EditMatch> = edits.iter().map(|edit| exact(original, edit)).collect();
    if original.len() > FORGIVING_LIMIT {
        return located;
    }
    let mut open: Vec<PendingEdit<'_>> = located.iter_mut().zip(edits).collect();
    for (level, ignoring) in FIRST {
        try_level(&mut open, original, level, ignoring);
    }
    drop_hopeless(&mut open, original);
    for (level, ignoring) in LAST {
        try_level(&mut open, original, level, ignoring);
    }
    located
}

/// An edit, and the outcome so far.
type PendingEdit<'a> = (&'a mut EditMatch, &'a Edit);

/// Tries one level on every edit that is not found yet.
fn try_level(open: &mut [PendingEdit<'_>], original: &[u8], level: FuzzyLevel, ignoring: Ignoring) {
    let is_open = |(located, edit): &&mut PendingEdit<'_>| matches!(located, EditMatch::Missing) && can_help(original, edit, ignoring);
    let mut pending = open.iter_mut().filter(is_open).peekable();
    if pending.peek().is_none() {
        return;
    }
    let view = FoldedView::new(original, ignoring, ViewSource::File);
    for (located, edit) in pending {
        **located = forgive(original, &view, edit, level, ignoring);
    }
}

/// Keeps the edits that the most forgiving level finds. Decomposing a file is slow, and a text that is not found then is found
/// at no level.
fn drop_hopeless(open: &mut Vec<PendingEdit<'_>>, original: &[u8]) {
    let [(_, least), .., (_, most)] = LAST;
    open.retain(|(located, edit)| matches!(located, EditMatch::Missing) && can_help(original, edit, least));
    if open.is_empty() {
        return;
    }
    let view = FoldedView::new(original, most, ViewSource::File);
    open.retain(|(_, edit)| {
        let old = every_line_fed(&edit.old);
        let search = SiteSearch::new(original, &view, &old, most);
        search.is_some_and(|search| Finder::new(search.needle()).find(&view.text).is_some())
    });
}

/// Whether ignoring this could find the text where ignoring less has not.
fn can_help(original: &[u8], edit: &Edit, ignoring: Ignoring) -> bool {
    let Edit { old, new, .. } = edit;
    let blank = |ch: char| ch.is_whitespace() || ch == '\u{feff}';
    let lines = old.contains(['\n', '\r']);
    let at_ends = lines || old.starts_with(blank) || old.ends_with(blank);
    // Texts of ASCII alone have no variants.
    let variants = ignoring.fold != Fold::Nothing && !(old.is_ascii() && original.is_ascii());
    let helps = if ignoring.leading { lines || old.starts_with(blank) } else { variants || at_ends };
    let fold_fits = ignoring.fold == Fold::Nothing || variants;
    helps && fold_fits && lines_fed(old) != lines_fed(new)
}

fn exact(original: &[u8], edit: &Edit) -> EditMatch {
    let site = |at: usize| MatchSite { range: at..at + edit.old.len(), indented: None, open_end: false };
    let sites = collect(original, edit.old.as_bytes(), edit.replace_all, |at| Some(site(at)));
    outcome(edit, FuzzyLevel::Exact, sites, |sites| {
        let text = replacement(original, edit, sites.first().map(|site| site.range.clone()).unwrap_or_default());
        let change = |range: Range<usize>| ByteChange { range, text: Rc::clone(&text) };
        sites.into_iter().map(|MatchSite { range, .. }| MatchedSite { range: range.clone(), changes: vec![change(range)] }).collect()
    })
}

/// The new text with the line endings of its place.
fn replacement(original: &[u8], edit: &Edit, place: Range<usize>) -> Rc<[u8]> {
    // The edit changes the endings themselves.
    if lines_fed(&edit.old) == lines_fed(&edit.new) {
        return edit.new.as_bytes().into();
    }
    match LineEnding::dominant(&original[place]).or_else(|| LineEnding::dominant(original)) {
        None => edit.new.as_bytes().into(),
        Some(ending) => align::with_ending(&lines_fed(&edit.new), ending).into(),
    }
}

fn forgive(original: &[u8], view: &FoldedView, edit: &Edit, level: FuzzyLevel, ignoring: Ignoring) -> EditMatch {
    let old = every_line_fed(&edit.old);
    // An author who writes bare returns or a byte order mark in the old text does so in the new one.
    let new = if edit.old.contains(['\r', '\u{feff}']) { every_line_fed(&edit.new).into() } else { lines_fed(&edit.new) };
    let Some(search) = SiteSearch::new(original, view, &old, ignoring) else { return EditMatch::Missing };
    let sites = collect(&view.text, search.needle(), edit.replace_all, |at| search.check(at));
    outcome(edit, level, sites, |sites| {
        let ending = LineEnding::dominant(original).unwrap_or_default();
        let wish = NormalizedEdit { original, old: &old, new: &new, ignoring, ending };
        sites.into_iter().map(|site| MatchedSite { changes: align::align(&wish, &site), range: site.range }).collect()
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

/// Finds all matches that do not overlap, or as many as are counted, overlapping or not. `None` if there are too many.
fn collect(text: &[u8], needle: &[u8], all: bool, check: impl Fn(usize) -> Option<MatchSite>) -> Option<Vec<MatchSite>> {
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

fn outcome(
    edit: &Edit,
    level: FuzzyLevel,
    sites: Option<Vec<MatchSite>>,
    build: impl FnOnce(Vec<MatchSite>) -> Vec<MatchedSite>,
) -> EditMatch {
    match sites {
        None => EditMatch::TooMany(level),
        Some(sites) if sites.is_empty() => EditMatch::Missing,
        Some(sites) if sites.len() > 1 && !edit.replace_all => {
            EditMatch::Several(level, sites.into_iter().map(|site| site.range).collect())
        }
        Some(sites) => EditMatch::Found(level, build(sites)),
    }
}
