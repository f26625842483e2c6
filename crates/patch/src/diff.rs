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

/// How many lines were added, and how many removed.
pub fn counts(old: &[u8], new: &[u8]) -> (usize, usize) {
    let changed = ChangedLines::between(old, new);
    changed.runs().iter().fold((0, 0), |(added, removed), run| (added + run.new.len(), removed + run.old.len()))
}
