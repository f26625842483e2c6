//! Finding the lines that differ, in bounded time.
//!
//! Equal parts are skipped as bytes. Few lines are compared all at once. For many, a window opens where they differ and grows
//! until its ends are equal again. So the time depends on the size of the files, not on their differences, and the memory on
//! the differences alone.

use memchr::{memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::split;

/// So many lines are compared all at once.
const AT_ONCE: usize = 10_000;

/// How many lines a window has on each side.
const WINDOWS: [usize; 3] = [64, 512, 4096];

/// So many equal lines in a row are no coincidence.
const NO_COINCIDENCE: usize = 4;

/// The start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LineStart {
    /// Number of lines before it.
    pub(super) line: usize,
    /// Number of bytes before it.
    pub(super) byte: usize,
}

impl LineStart {
    fn behind(self, lines: &[&[u8]]) -> Self {
        Self { line: self.line + lines.len(), byte: self.byte + lines.iter().map(|line| line.len()).sum::<usize>() }
    }
}

/// Consecutive lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineSpan {
    pub(super) start: LineStart,
    pub(super) end: LineStart,
}

impl LineSpan {
    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.end.line - self.start.line
    }
}

/// Removed lines, and the lines added instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedRun {
    pub(super) old: LineSpan,
    pub(super) new: LineSpan,
}

/// The runs of lines that differ, in order.
pub(super) fn compare(old: &[u8], new: &[u8]) -> Vec<ChangedRun> {
    let mut walk = DiffWalk { old, new, at: (LineStart::default(), LineStart::default()), runs: Vec::new() };
    walk.skip_same();
    let end = common_end(walk.rest().0, walk.rest().1);
    (walk.old, walk.new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let (old, new) = walk.rest();
    let few = lines_in(old) + lines_in(new) <= AT_ONCE;
    while !walk.is_over() {
        walk.window(if few { &[usize::MAX] } else { &WINDOWS });
        walk.skip_same();
    }
    walk.runs
}

struct DiffWalk<'a> {
    old: &'a [u8],
    new: &'a [u8],
    /// The next line on each side.
    at: (LineStart, LineStart),
    runs: Vec<ChangedRun>,
}

impl<'a> DiffWalk<'a> {
    fn rest(&self) -> (&'a [u8], &'a [u8]) {
        (&self.old[self.at.0.byte..], &self.new[self.at.1.byte..])
    }

    fn is_over(&self) -> bool {
        self.rest() == (&[], &[])
    }

    /// Skips to the next difference.
    fn skip_same(&mut self) {
        let (old, new) = self.rest();
        let bytes = common_start(old, new);
        let lines = lines_in(&old[..bytes]);
        for at in [&mut self.at.0, &mut self.at.1] {
            *at = LineStart { line: at.line + lines, byte: at.byte + bytes };
        }
    }

    /// Compares windows until the lines are equal again.
    fn window(&mut self, sizes: &[usize]) {
        let rest = self.rest();
        for (size, larger) in sizes.iter().zip((0..sizes.len()).rev()) {
            let lines: [Vec<&[u8]>; 2] = [rest.0, rest.1].map(|bytes| split(bytes).take(*size).collect());
            let all = lines.iter().flatten().map(|line| line.len()).sum::<usize>() == rest.0.len() + rest.1.len();
            let is_last = larger == 0;
            let operations = capture_diff_slices(Algorithm::Myers, &lines[0], &lines[1]);
            let least = if is_last { 1 } else { NO_COINCIDENCE };
            match operations.iter().rposition(|operation| matches!(operation, DiffOp::Equal { len, .. } if *len >= least)) {
                Some(same) if !all => return self.take(&operations[..=same], &lines),
                _ if all || is_last => return self.take(&operations, &lines),
                _ => {}
            }
        }
    }

    fn take(&mut self, operations: &[DiffOp], [old, new]: &[Vec<&[u8]>; 2]) {
        for operation in operations {
            let start = self.at;
            self.at = (start.0.behind(&old[operation.old_range()]), start.1.behind(&new[operation.new_range()]));
            if matches!(operation, DiffOp::Equal { .. }) {
                continue;
            }
            match self.runs.last_mut() {
                Some(last) if (last.old.end, last.new.end) == start => (last.old.end, last.new.end) = self.at,
                _ => {
                    let (old, new) = (LineSpan { start: start.0, end: self.at.0 }, LineSpan { start: start.1, end: self.at.1 });
                    self.runs.push(ChangedRun { old, new });
                }
            }
        }
    }
}

/// How many lines there are, the last one ended or not.
fn lines_in(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count() + usize::from(bytes.last().is_some_and(|last| *last != b'\n'))
}

/// How many bytes two files start with in common, whole lines.
fn common_start(old: &[u8], new: &[u8]) -> usize {
    let same = equal_bytes(old, new, |bytes, from, length| &bytes[from..from + length], |bytes, at| bytes[at]);
    if same == old.len().max(new.len()) {
        return same;
    }
    // A line that only one of them ends is not common.
    memrchr(b'\n', &old[..same]).map_or(0, |feed| feed + 1)
}

/// How many bytes two files end with in common, whole lines.
fn common_end(old: &[u8], new: &[u8]) -> usize {
    let from_end = |bytes: &[u8], at: usize| bytes[bytes.len() - 1 - at];
    let same = equal_bytes(old, new, |bytes, from, length| &bytes[bytes.len() - from - length..bytes.len() - from], from_end);
    let whole = |bytes: &[u8]| same == bytes.len() || bytes[bytes.len() - same - 1] == b'\n';
    if whole(old) && whole(new) {
        return same;
    }
    let tail = &old[old.len() - same..];
    memchr::memchr(b'\n', tail).map_or(0, |feed| same - feed - 1)
}

/// How many bytes are the same, by pieces first.
fn equal_bytes(
    old: &[u8],
    new: &[u8],
    piece: impl for<'b> Fn(&'b [u8], usize, usize) -> &'b [u8],
    byte: impl Fn(&[u8], usize) -> u8,
) -> usize {
    const PIECE: usize = 4096;
    let most = old.len().min(new.len());
    let mut same = 0;
    while same + PIECE <= most && piece(old, same, PIECE) == piece(new, same, PIECE) {
        same += PIECE;
    }
    same + (same..most).take_while(|at| byte(old, *at) == byte(new, *at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the runs make of the old file, and how many lines change.
    fn made(old: &[u8], new: &[u8]) -> (Vec<u8>, usize) {
        let (mut bytes, mut at, mut changed) = (Vec::new(), LineStart::default(), 0);
        for ChangedRun { old: gone, new: come } in compare(old, new) {
            bytes.extend_from_slice(&old[at.byte..gone.start.byte]);
            bytes.extend_from_slice(&new[come.start.byte..come.end.byte]);
            for (file, point) in [(old, gone.start), (old, gone.end), (new, come.start), (new, come.end)] {
                assert_eq!(point.line, lines_in(&file[..point.byte]));
            }
            changed += gone.len() + come.len();
            at = gone.end;
        }
        bytes.extend_from_slice(&old[at.byte..]);
        (bytes, changed)
    }

    fn check(old: &[String], new: &[String], most: usize) {
        let (old, new) = (old.join("\n"), new.join("\n"));
        let (bytes, changed) = made(old.as_bytes(), new.as_bytes());
        assert!(bytes == new.as_bytes(), "the runs lead elsewhere");
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
