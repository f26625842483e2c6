//! Putting the new file together.

use super::matching::MatchedSite;
use super::{EditedFile, Span};
use crate::FuzzyLevel;
use crate::text::LineCounter;

/// The places of all edits.
#[derive(Debug)]
pub(super) struct Matches {
    /// Each with its edit, in the order of the file.
    pub(super) places: Vec<(usize, MatchedSite)>,
    /// For each edit, the level by which it was found.
    pub(super) levels: Vec<FuzzyLevel>,
}

impl Matches {
    pub(super) fn new(found: impl Iterator<Item = (FuzzyLevel, Vec<MatchedSite>)>) -> Self {
        let (mut places, mut levels) = (Vec::new(), Vec::new());
        for (edit, (level, matches)) in found.enumerate() {
            levels.push(level);
            places.extend(matches.into_iter().map(|found| (edit, found)));
        }
        places.sort_by_key(|(_, found)| (found.range.start, found.range.end));
        Self { places, levels }
    }
}

/// How large the new file will be.
pub(super) fn size(original: &[u8], matches: &Matches) -> usize {
    let changes = matches.places.iter().flat_map(|(_, found)| &found.changes);
    let (gone, come) = changes
        .fold((0_usize, 0_usize), |(gone, come), change| (gone.saturating_add(change.range.len()), come.saturating_add(change.text.len())));
    original.len().saturating_add(come).saturating_sub(gone)
}

/// The new file. No two places overlap.
pub(super) fn splice(original: &[u8], matches: &Matches) -> EditedFile {
    let mut bytes = Vec::with_capacity(size(original, matches));
    let (mut spans, mut counter, mut at) = (Vec::with_capacity(matches.places.len()), LineCounter::new(original), 0);
    for (edit, MatchedSite { range, changes }) in &matches.places {
        bytes.extend_from_slice(&original[at..range.start]);
        let start = bytes.len();
        at = range.start;
        for change in changes {
            bytes.extend_from_slice(&original[at..change.range.start]);
            bytes.extend_from_slice(&change.text);
            at = change.range.end;
        }
        bytes.extend_from_slice(&original[at..range.end]);
        at = range.end;
        spans.push(Span { edit: *edit, old_range: range.clone(), new_range: start..bytes.len(), lines: counter.lines(range) });
    }
    bytes.extend_from_slice(&original[at..]);
    EditedFile { bytes, spans, levels: matches.levels.clone() }
}
