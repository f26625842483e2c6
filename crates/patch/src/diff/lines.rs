//! Which lines changed.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use super::compare::{Run, compare};

/// Two versions of a file, and the runs of lines in which they differ.
#[derive(Debug)]
pub(super) struct Changed<'a> {
    /// What both start with, whole lines.
    start: &'a [u8],
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    /// What both end with, whole lines.
    end: &'a [u8],
    runs: Vec<Run>,
}

impl<'a> Changed<'a> {
    pub(super) fn between(old: &'a [u8], new: &'a [u8]) -> Self {
        let start = common_start(old, new);
        let end = common_end(&old[start..], &new[start..]);
        let middle = |bytes: &'a [u8]| split(&bytes[start..bytes.len() - end]);
        let (old_lines, new_lines) = (middle(old), middle(new));
        let runs = compare(&old_lines, &new_lines);
        Self { start: &old[..start], old: old_lines, new: new_lines, end: &old[old.len() - end..], runs }
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    pub(super) fn old_lines(&self, lines: Range<usize>) -> &[&'a [u8]] {
        &self.old[lines]
    }

    pub(super) fn new_lines(&self, lines: Range<usize>) -> &[&'a [u8]] {
        &self.new[lines]
    }

    pub(super) fn old_len(&self) -> usize {
        self.old.len()
    }

    /// Whether every line that ends, of the first that changed, ends with a return as well.
    pub(super) fn all_end_with_returns(&self, first: usize) -> bool {
        let lines = self.runs.iter().flat_map(|run| self.old[run.old.clone()].iter().chain(&self.new[run.new.clone()]));
        lines.take(first).all(|line| !line.ends_with(b"\n") || line.ends_with(b"\r\n"))
    }

    /// How many lines stand before the first difference.
    pub(super) fn lines_before(&self) -> usize {
        memchr_iter(b'\n', self.start).count()
    }

    /// The last lines before the first difference.
    pub(super) fn before(&self, count: usize) -> Vec<&'a [u8]> {
        let mut lines: Vec<&[u8]> = Vec::new();
        let mut rest = self.start;
        while lines.len() < count && !rest.is_empty() {
            let from = memrchr(b'\n', &rest[..rest.len() - 1]).map_or(0, |feed| feed + 1);
            lines.push(&rest[from..]);
            rest = &rest[..from];
        }
        lines.reverse();
        lines
    }

    /// The first lines behind the last difference.
    pub(super) fn behind(&self, count: usize) -> Vec<&'a [u8]> {
        self.end.split_inclusive(|byte| *byte == b'\n').take(count).collect()
    }
}

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for feed in memchr_iter(b'\n', bytes) {
        lines.push(&bytes[start..=feed]);
        start = feed + 1;
    }
    lines.extend(Some(&bytes[start..]).filter(|rest| !rest.is_empty()));
    lines
}

/// How many bytes two files start with in common, whole lines.
fn common_start(old: &[u8], new: &[u8]) -> usize {
    let same = equal_bytes(old, new, |bytes, from, length| &bytes[from..from + length], |bytes, at| bytes[at]);
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
