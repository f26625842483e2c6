//! Finding lines that follow each other in a file.

use std::ops::Range;

use super::index::{Index, digest};
use crate::Rule;
use crate::fold::{Fold, plainest, trim, trim_end};

/// How many lines are compared for all hunks of a file together. Lines that tell nothing, such as a bracket, are everywhere.
const COMPARED: usize = 50_000_000;

/// What is left of the work that may be done.
#[derive(Debug)]
pub(super) struct Budget(pub(super) usize);

impl Budget {
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

/// Where lines were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) rule: Rule,
}

/// Lines that are looked for.
#[derive(Debug)]
pub(super) struct Block<'h> {
    lines: Vec<&'h str>,
    digests: Vec<u64>,
}

impl<'h> Block<'h> {
    pub(super) fn new(lines: impl Iterator<Item = &'h str>) -> Self {
        let lines: Vec<&str> = lines.collect();
        let digests = lines.iter().map(|line| digest(line.as_bytes())).collect();
        Self { lines, digests }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The best place that starts in a part of the file: the rule that forgives least, then the first, or the one nearest to a
    /// line.
    pub(super) fn find(&self, index: &Index<'_>, starts: Range<usize>, near: Option<usize>, budget: &mut Budget) -> Option<Found> {
        let (rarest, places) =
            (0..).zip(&self.digests).map(|(line, digest)| (line, index.places(*digest))).min_by_key(|(_, at)| at.len())?;
        let last = (index.lines.len() + 1).checked_sub(self.len())?;
        let starts = starts.start + rarest..starts.end.min(last) + rarest;
        let first = places.partition_point(|place| (*place as usize) < starts.start);
        let inside = places[first..].iter().map(|place| *place as usize).take_while(|place| *place < starts.end);
        let mut best: Option<Found> = None;
        for at in inside.map(|place| place - rarest) {
            if budget.is_spent() {
                break;
            }
            let Some(rule) = self.compare(index, at, budget) else { continue };
            let distance = |place: usize| near.map_or(0, |near| near.abs_diff(place));
            if best.is_none_or(|best| (rule, distance(at)) < (best.rule, distance(best.at))) {
                best = Some(Found { at, rule });
            }
            if rule == Rule::Exact && near.is_none_or(|near| at >= near) {
                break;
            }
        }
        best
    }

    /// What has to be forgiven for the lines to be those at a place.
    fn compare(&self, index: &Index<'_>, at: usize, budget: &mut Budget) -> Option<Rule> {
        self.lines.iter().zip(at..).try_fold(Rule::Exact, |rule, (wanted, line)| {
            budget.spend()?;
            Some(rule.max(compare(index.lines.get(line).body, wanted.as_bytes())?))
        })
    }
}

/// What has to be forgiven for one line to be another.
fn compare(found: &[u8], wanted: &[u8]) -> Option<Rule> {
    if found == wanted {
        return Some(Rule::Exact);
    }
    if trim_end(found, Fold::Nothing) == trim_end(wanted, Fold::Nothing) {
        return Some(Rule::TrailingBlanks);
    }
    if trim(found, Fold::Nothing) == trim(wanted, Fold::Nothing) {
        return Some(Rule::Indentation);
    }
    (plainest(found) == plainest(wanted)).then_some(Rule::Punctuation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hunk, HunkLine, LineKind};

    fn find(file: &str, lines: &[&str], starts: Range<usize>, near: Option<usize>) -> Option<(usize, Rule)> {
        let hunk = Hunk { lines: lines.iter().map(|line| HunkLine::new(LineKind::Context, *line)).collect(), ..Hunk::default() };
        let index = Index::new(file.as_bytes(), &[hunk]).unwrap();
        let found = Block::new(lines.iter().copied()).find(&index, starts, near, &mut Budget::new());
        found.map(|found| (found.at, found.rule))
    }

    #[test]
    fn the_rule_that_forgives_least_wins_then_the_first_place() {
        for (file, lines, expected) in [
            ("a\nb\na\nb\n", &["a", "b"][..], Some((0, Rule::Exact))),
            ("a \nb\na\nb\n", &["a", "b"], Some((2, Rule::Exact))),
            ("\ta\nb\na \nb\n", &["a", "b"], Some((2, Rule::TrailingBlanks))),
            ("“a”\nb\n  \"a\"\nb\n", &["\"a\"", "b"], Some((2, Rule::Indentation))),
            ("“a”\nb\n", &["\"a\"", "b"], Some((0, Rule::Punctuation))),
            ("a\nb\n", &["b", "a"], None),
            ("a\n", &["a", "a"], None),
            ("a\r\nb", &["a", "b"], Some((0, Rule::Exact))),
        ] {
            assert_eq!(find(file, lines, 0..usize::MAX / 2, None), expected, "{file:?} {lines:?}");
        }
    }

    #[test]
    fn only_the_part_that_was_asked_for_is_searched() {
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
    fn the_work_is_bounded() {
        let hunk = Hunk { lines: vec![HunkLine::new(LineKind::Context, "x"); 3], ..Hunk::default() };
        let index = Index::new(b" x\n x\n x\n x\n", std::slice::from_ref(&hunk)).unwrap();
        let (block, mut budget) = (Block::new(hunk.lines.iter().map(|line| &*line.text)), Budget(4));
        let found = block.find(&index, 0..9, None, &mut budget);
        assert_eq!((found, budget.is_spent()), (Some(Found { at: 0, rule: Rule::Indentation }), true));
    }
}
