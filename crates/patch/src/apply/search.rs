//! Finding consecutive lines in a file.

use std::ops::Range;

use super::index::{LineIndex, digest};
use crate::FuzzyLevel;
use crate::fold::{Fold, plainest, trim, trim_end};

/// How many lines are compared for all hunks of a file. Lines such as a bracket are everywhere.
const COMPARED: usize = 50_000_000;

/// How many more lines may be compared.
#[derive(Debug)]
pub(super) struct SearchBudget(pub(super) usize);

impl SearchBudget {
    pub(super) fn new() -> Self {
        Self(COMPARED)
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }

    fn spend(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// The position of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HunkMatch {
    pub(super) at: usize,
    pub(super) level: FuzzyLevel,
}

/// Consecutive lines to search.
#[derive(Debug)]
pub(super) struct HunkBlock<'h> {
    lines: Vec<&'h str>,
    digests: Vec<u64>,
}

impl<'h> HunkBlock<'h> {
    pub(super) fn new(lines: impl Iterator<Item = &'h str>) -> Self {
        let lines: Vec<&str> = lines.collect();
        let digests = lines.iter().map(|line| digest(line.as_bytes())).collect();
        Self { lines, digests }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The best match that starts in a range: the lowest level, then the first, or the one nearest to a line.
    pub(super) fn find(
        &self,
        index: &LineIndex<'_>,
        starts: Range<usize>,
        near: Option<usize>,
        budget: &mut SearchBudget,
    ) -> Option<HunkMatch> {
        let mut best: Option<HunkMatch> = None;
        for at in self.candidates(index, starts) {
            if budget.is_spent() {
                break;
            }
            let Some(level) = self.compare(index, at, budget) else { continue };
            let distance = |place: usize| near.map_or(0, |near| near.abs_diff(place));
            if best.is_none_or(|best| (level, distance(at)) < (best.level, distance(best.at))) {
                best = Some(HunkMatch { at, level });
            }
            if level == FuzzyLevel::Exact && near.is_none_or(|near| at >= near) {
                break;
            }
        }
        best
    }

    /// Where the lines match at a level, or at a lower one: at most so many places.
    pub(super) fn equal_places(
        &self,
        index: &LineIndex<'_>,
        starts: Range<usize>,
        level: FuzzyLevel,
        most: usize,
        budget: &mut SearchBudget,
    ) -> Vec<usize> {
        let candidates = self.candidates(index, starts);
        candidates.filter(|at| self.compare(index, *at, budget).is_some_and(|found| found <= level)).take(most).collect()
    }

    /// The starts in a range at which the rarest of the lines is where it should be.
    fn candidates<'i>(&self, index: &'i LineIndex<'_>, starts: Range<usize>) -> impl Iterator<Item = usize> + use<'i> {
        let rarest = (0..).zip(&self.digests).map(|(line, digest)| (line, index.places(*digest))).min_by_key(|(_, at)| at.len());
        let (rarest, places) = rarest.unwrap_or_default();
        let last = (index.lines.len() + 1).saturating_sub(self.len());
        let starts = starts.start + rarest..starts.end.min(last) + rarest;
        let first = places.partition_point(|place| (*place as usize) < starts.start);
        places[first..].iter().map(|place| *place as usize).take_while(move |place| *place < starts.end).map(move |place| place - rarest)
    }

    /// The level at which the lines match at a position.
    fn compare(&self, index: &LineIndex<'_>, at: usize, budget: &mut SearchBudget) -> Option<FuzzyLevel> {
        self.lines.iter().zip(at..).try_fold(FuzzyLevel::Exact, |level, (needle, line)| {
            budget.spend()?;
            Some(level.max(compare(index.lines.get(line).body, needle.as_bytes())?))
        })
    }
}

/// The level at which two lines are equal.
fn compare(found: &[u8], needle: &[u8]) -> Option<FuzzyLevel> {
    if found == needle {
        return Some(FuzzyLevel::Exact);
    }
    if trim_end(found, Fold::Nothing) == trim_end(needle, Fold::Nothing) {
        return Some(FuzzyLevel::TrailingBlanks);
    }
    if trim(found, Fold::Nothing) == trim(needle, Fold::Nothing) {
        return Some(FuzzyLevel::Indentation);
    }
    (plainest(found) == plainest(needle)).then_some(FuzzyLevel::Punctuation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hunk, HunkLine, LineKind};

    fn find(file: &str, lines: &[&str], starts: Range<usize>, near: Option<usize>) -> Option<(usize, FuzzyLevel)> {
        let hunk = Hunk { lines: lines.iter().map(|line| HunkLine::new(LineKind::Context, *line)).collect(), ..Hunk::default() };
        let index = LineIndex::new(file.as_bytes(), &[hunk]).unwrap();
        let found = HunkBlock::new(lines.iter().copied()).find(&index, starts, near, &mut SearchBudget::new());
        found.map(|found| (found.at, found.level))
    }

    #[test]
    fn the_rule_that_forgives_least_wins_then_the_first_place() {
        for (file, lines, expected) in [
            ("a\nb\na\nb\n", &["a", "b"][..], Some((0, FuzzyLevel::Exact))),
            ("a \nb\na\nb\n", &["a", "b"], Some((2, FuzzyLevel::Exact))),
            ("\ta\nb\na \nb\n", &["a", "b"], Some((2, FuzzyLevel::TrailingBlanks))),
            ("“a”\nb\n  \"a\"\nb\n", &["\"a\"", "b"], Some((2, FuzzyLevel::Indentation))),
            ("“a”\nb\n", &["\"a\"", "b"], Some((0, FuzzyLevel::Punctuation))),
            ("a\nb\n", &["b", "a"], None),
            ("a\n", &["a", "a"], None),
            ("a\r\nb", &["a", "b"], Some((0, FuzzyLevel::Exact))),
        ] {
            assert_eq!(find(file, lines, 0..usize::MAX / 2, None), expected, "{file:?} {lines:?}");
        }
    }

    #[test]
    fn only_the_given_range_is_searched() {
        let file = "x\n}\nx\n}\nx\n}\n";
        for (starts, near, expected) in [
            (0..9, None, Some(0)),
            (1..9, None, Some(2)),
            (3..4, None, None),
            (5..9, None, None),
            (0..9, Some(3), Some(2)),
            (0..9, Some(100), Some(4)),
            (0..9, Some(0), Some(0)),
        ] {
            assert_eq!(find(file, &["x", "}"], starts.clone(), near).map(|found| found.0), expected, "{starts:?} {near:?}");
        }
    }

    #[test]
    fn equal_places_are_those_of_the_level_or_a_lower_one() {
        let file = "a\n a\na\nb\n";
        let index =
            LineIndex::new(file.as_bytes(), &[Hunk { lines: vec![HunkLine::new(LineKind::Context, "a")], ..Hunk::default() }]).unwrap();
        let block = HunkBlock::new(std::iter::once("a"));
        for (starts, level, most, expected) in [
            (0..9, FuzzyLevel::Exact, 9, &[0, 2][..]),
            (0..9, FuzzyLevel::Indentation, 9, &[0, 1, 2]),
            (0..9, FuzzyLevel::Indentation, 2, &[0, 1]),
            (1..9, FuzzyLevel::Exact, 9, &[2]),
        ] {
            assert_eq!(block.equal_places(&index, starts, level, most, &mut SearchBudget::new()), expected);
        }
    }

    #[test]
    fn search_is_bounded() {
        let hunk = Hunk { lines: vec![HunkLine::new(LineKind::Context, "x"); 3], ..Hunk::default() };
        let index = LineIndex::new(b" x\n x\n x\n x\n", std::slice::from_ref(&hunk)).unwrap();
        let (block, mut budget) = (HunkBlock::new(hunk.lines.iter().map(|line| &*line.text)), SearchBudget(4));
        let found = block.find(&index, 0..9, None, &mut budget);
        assert_eq!((found, budget.is_spent()), (Some(HunkMatch { at: 0, level: FuzzyLevel::Indentation }), true));
    }
}
