//! Finding the lines that differ, in bounded time.
//!
//! Few lines are compared all at once. Many are walked through side by side: where they differ, a window is opened that grows
//! until it has lines in it that are the same again. So the time depends on how much there is, not on how much of it differs.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// So many lines are compared all at once.
const AT_ONCE: usize = 10_000;

/// How many lines a window has on each side.
const WINDOWS: [usize; 3] = [64, 512, 4096];

/// So many lines that are the same in a row are no accident.
const NO_ACCIDENT: usize = 4;

/// Lines that went, and lines that came in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The runs of lines that differ, in order.
pub(super) fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<Run> {
    let mut walk = Walk { old, new, at: (0, 0), runs: Vec::new() };
    if old.len() + new.len() <= AT_ONCE {
        walk.take(&capture_diff_slices(Algorithm::Myers, old, new));
        return walk.runs;
    }
    while walk.skip_same() {
        walk.window();
    }
    walk.runs
}

struct Walk<'a> {
    old: &'a [&'a [u8]],
    new: &'a [&'a [u8]],
    /// The next line on each side.
    at: (usize, usize),
    runs: Vec<Run>,
}

impl Walk<'_> {
    /// Goes on to the next difference, if there is one.
    fn skip_same(&mut self) -> bool {
        let (old, new) = (&self.old[self.at.0..], &self.new[self.at.1..]);
        let same = old.iter().zip(new).take_while(|(one, other)| one == other).count();
        self.at = (self.at.0 + same, self.at.1 + same);
        self.at != (self.old.len(), self.new.len())
    }

    /// Looks for where the lines are the same again.
    fn window(&mut self) {
        for size in WINDOWS {
            let part = |lines: &[&[u8]], at: usize| at..at.saturating_add(size).min(lines.len());
            let (old, new) = (part(self.old, self.at.0), part(self.new, self.at.1));
            let all = (old.end, new.end) == (self.old.len(), self.new.len());
            let is_last = size == WINDOWS[WINDOWS.len() - 1];
            let operations = capture_diff_slices(Algorithm::Myers, &self.old[old], &self.new[new]);
            let least = if is_last { 1 } else { NO_ACCIDENT };
            match operations.iter().rposition(|operation| matches!(operation, DiffOp::Equal { len, .. } if *len >= least)) {
                Some(same) if !all => return self.take(&operations[..=same]),
                _ if all || is_last => return self.take(&operations),
                _ => {}
            }
        }
    }

    fn take(&mut self, operations: &[DiffOp]) {
        for operation in operations {
            let (old, new) = (operation.old_range().len(), operation.new_range().len());
            let start = self.at;
            self.at = (start.0 + old, start.1 + new);
            if matches!(operation, DiffOp::Equal { .. }) {
                continue;
            }
            match self.runs.last_mut() {
                Some(last) if (last.old.end, last.new.end) == start => (last.old.end, last.new.end) = self.at,
                _ => self.runs.push(Run { old: start.0..self.at.0, new: start.1..self.at.1 }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the runs make of the old lines.
    fn made(old: &[&[u8]], new: &[&[u8]]) -> (Vec<Vec<u8>>, usize) {
        let (mut lines, mut at, mut changed) = (Vec::new(), 0, 0);
        for run in compare(old, new) {
            lines.extend(old[at..run.old.start].iter().map(|line| line.to_vec()));
            lines.extend(new[run.new.clone()].iter().map(|line| line.to_vec()));
            at = run.old.end;
            changed += run.old.len() + run.new.len();
        }
        lines.extend(old[at..].iter().map(|line| line.to_vec()));
        (lines, changed)
    }

    fn check(old: &[String], new: &[String], most: usize) {
        let (old, new): (Vec<_>, Vec<_>) = (old.iter().map(String::as_bytes).collect(), new.iter().map(String::as_bytes).collect());
        let (lines, changed) = made(&old, &new);
        assert!(lines == new, "the runs lead elsewhere");
        assert!(changed <= most, "{changed} lines changed, not {most}");
    }

    #[test]
    fn many_lines_are_compared_as_well_as_few() {
        let old: Vec<String> = (0..30_000).map(|number| format!("{}", number % 5_000)).collect();
        let mut new = old.clone();
        for at in (0..30_000).step_by(1_000) {
            new[at] = "changed".to_owned();
        }
        check(&old, &new, 60);
        // Lines that come and go, more than the smaller windows hold.
        new.splice(20_000..20_000, (0..700).map(|number| format!("new {number}")));
        new.drain(5_000..5_600);
        check(&old, &new, 60 + 700 + 600);
        check(&new, &old, 60 + 700 + 600);
    }

    #[test]
    fn whatever_differs_everywhere_is_compared_too() {
        let old: Vec<String> = (0..20_000).map(|number| format!("{number}")).collect();
        let shuffled: Vec<String> = (0..20_000).map(|number| format!("{}", number * 7919 % 20_000)).collect();
        let other: Vec<String> = (0..15_000).map(|number| format!("other {number}")).collect();
        check(&old, &shuffled, 40_000);
        check(&old, &other, 35_000);
        check(&old, &[], 20_000);
        check(&[], &old, 20_000);
    }
}
