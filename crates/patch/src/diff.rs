//! Diffs of two versions of a file, for reading.

mod compare;
mod lines;
mod render;

use lines::ChangedLines;

/// How many changed lines are shown; the rest is counted.
pub const SHOWN_LINES: usize = 2_000;

/// How many bytes of a diff are shown, and one line more at most.
pub const SHOWN_BYTES: usize = 256 << 10;

/// The changes as a unified diff with so many lines around each. It is bounded, and bytes that cannot be shown are escaped, so
/// it is for reading, not for applying.
pub fn unified(old: &[u8], new: &[u8], path: &str, context: usize) -> String {
    render::render(&ChangedLines::between(old, new), path, context)
}

/// The runs of lines that differ, in order: those of the old version and those of the new one, counted from 0.
pub fn changed_lines(old: &[u8], new: &[u8]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let changed = ChangedLines::between(old, new);
    let lines = |span: &compare::LineSpan| span.start.line..span.end.line;
    changed.runs().iter().map(|run| (lines(&run.old), lines(&run.new))).collect()
}

/// How many lines were added, and how many removed.
pub fn counts(old: &[u8], new: &[u8]) -> (usize, usize) {
    let changed = ChangedLines::between(old, new);
    changed.runs().iter().fold((0, 0), |(added, removed), run| (added + run.new.len(), removed + run.old.len()))
}
