//! Putting the new file together.

use super::ladder::Match;
use super::{Edited, Span};
use crate::Rule;
use crate::text::Counter;

/// The places of all edits.
#[derive(Debug)]
pub(super) struct Matches {
    /// Each with its edit, in the order of the file.
    pub(super) places: Vec<(usize, Match)>,
    /// For each edit, the rule by which it was found.
    pub(super) rules: Vec<Rule>,
}

impl Matches {
    pub(super) fn new(found: impl Iterator<Item = (Rule, Vec<Match>)>) -> Self {
        let (mut places, mut rules) = (Vec::new(), Vec::new());
        for (edit, (rule, matches)) in found.enumerate() {
            rules.push(rule);
            places.extend(matches.into_iter().map(|found| (edit, found)));
        }
        places.sort_by_key(|(_, found)| (found.range.start, found.range.end));
        Self { places, rules }
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
pub(super) fn splice(original: &[u8], matches: &Matches) -> Edited {
    let mut bytes = Vec::with_capacity(size(original, matches));
    let (mut spans, mut counter, mut at) = (Vec::with_capacity(matches.places.len()), Counter::new(original), 0);
    for (edit, Match { range, changes }) in &matches.places {
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
    Edited { bytes, spans, rules: matches.rules.clone() }
}
