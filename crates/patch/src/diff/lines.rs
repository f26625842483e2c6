//! Access to the changed lines of two versions.

use memchr::{memchr, memrchr};

use super::compare::{ChangedRun, LineSpan, compare};

/// Two versions of a file, and the runs of lines in which they differ.
#[derive(Debug)]
pub(super) struct ChangedLines<'a> {
    old: &'a [u8],
    new: &'a [u8],
    runs: Vec<ChangedRun>,
}

impl<'a> ChangedLines<'a> {
    pub(super) fn between(old: &'a [u8], new: &'a [u8]) -> Self {
        Self { old, new, runs: compare(old, new) }
    }

    pub(super) fn runs(&self) -> &[ChangedRun] {
        &self.runs
    }

    /// The removed lines.
    pub(super) fn removed(&self, run: &ChangedRun) -> impl Iterator<Item = &'a [u8]> {
        split(bytes_of(self.old, &run.old))
    }

    /// The added lines.
    pub(super) fn added(&self, run: &ChangedRun) -> impl Iterator<Item = &'a [u8]> {
        split(bytes_of(self.new, &run.new))
    }

    /// The unchanged lines between two runs.
    pub(super) fn between_runs(&self, one: &ChangedRun, next: &ChangedRun) -> impl Iterator<Item = &'a [u8]> {
        split(&self.old[one.old.end.byte..next.old.start.byte])
    }

    /// The last lines before a run.
    pub(super) fn above(&self, run: &ChangedRun, count: usize) -> Vec<&'a [u8]> {
        let mut lines: Vec<&[u8]> = Vec::new();
        let mut rest = &self.old[..run.old.start.byte];
        while lines.len() < count && !rest.is_empty() {
            let from = memrchr(b'\n', &rest[..rest.len() - 1]).map_or(0, |feed| feed + 1);
            lines.push(&rest[from..]);
            rest = &rest[..from];
        }
        lines.reverse();
        lines
    }

    /// The first lines after a run.
    pub(super) fn below(&self, run: &ChangedRun, count: usize) -> Vec<&'a [u8]> {
        split(&self.old[run.old.end.byte..]).take(count).collect()
    }

    /// Whether all of the first changed lines that have an ending end with `\r\n`.
    pub(super) fn all_end_with_returns(&self, first: usize) -> bool {
        let lines = self.runs.iter().flat_map(|run| self.removed(run).chain(self.added(run)));
        lines.take(first).all(|line| !line.ends_with(b"\n") || line.ends_with(b"\r\n"))
    }
}

fn bytes_of<'a>(bytes: &'a [u8], lines: &LineSpan) -> &'a [u8] {
    &bytes[lines.start.byte..lines.end.byte]
}

/// The lines of some bytes, each with its ending.
pub(super) fn split(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = memchr(b'\n', bytes).map_or(bytes.len(), |feed| feed + 1);
        let (line, rest) = bytes.split_at(end);
        bytes = rest;
        (!line.is_empty()).then_some(line)
    })
}
