//! Which lines changed.

use memchr::{memchr, memrchr};

use super::compare::{Run, Stretch, compare};

/// Two versions of a file, and the runs of lines in which they differ.
#[derive(Debug)]
pub(super) struct Changed<'a> {
    old: &'a [u8],
    new: &'a [u8],
    runs: Vec<Run>,
}

impl<'a> Changed<'a> {
    pub(super) fn between(old: &'a [u8], new: &'a [u8]) -> Self {
        Self { old, new, runs: compare(old, new) }
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The lines that went.
    pub(super) fn gone(&self, run: &Run) -> impl Iterator<Item = &'a [u8]> {
        split(of(self.old, &run.old))
    }

    /// The lines that came.
    pub(super) fn come(&self, run: &Run) -> impl Iterator<Item = &'a [u8]> {
        split(of(self.new, &run.new))
    }

    /// The lines between two runs, which stay.
    pub(super) fn between_runs(&self, one: &Run, next: &Run) -> impl Iterator<Item = &'a [u8]> {
        split(&self.old[one.old.end.byte..next.old.start.byte])
    }

    /// The last lines before a run.
    pub(super) fn above(&self, run: &Run, count: usize) -> Vec<&'a [u8]> {
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

    /// The first lines behind a run.
    pub(super) fn below(&self, run: &Run, count: usize) -> Vec<&'a [u8]> {
        split(&self.old[run.old.end.byte..]).take(count).collect()
    }

    /// Whether every line that ends, of the first that changed, ends with a return as well.
    pub(super) fn all_end_with_returns(&self, first: usize) -> bool {
        let lines = self.runs.iter().flat_map(|run| self.gone(run).chain(self.come(run)));
        lines.take(first).all(|line| !line.ends_with(b"\n") || line.ends_with(b"\r\n"))
    }
}

fn of<'a>(bytes: &'a [u8], lines: &Stretch) -> &'a [u8] {
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
