//! Writing the new file.

use std::ops::Range;

use super::index::LineIndex;
use super::locate::LocatedHunk;
use crate::fold::{self, Fold};
use crate::indent::IndentShift;
use crate::text::LineEnding;
use crate::{FuzzyLevel, LineKind};

/// Lines of the file, and their replacement.
#[derive(Debug)]
pub(super) struct LineChange {
    /// Which hunk it belongs to.
    pub(super) hunk: usize,
    pub(super) lines: Range<usize>,
    added: Vec<AddedLine>,
    ending: LineEnding,
}

/// A line that is added.
#[derive(Debug)]
struct AddedLine {
    body: Vec<u8>,
    unended: bool,
}

/// The changes of all hunks, in the order of the file.
pub(super) fn changes(index: &LineIndex<'_>, located: &[LocatedHunk<'_>]) -> Vec<LineChange> {
    let mut changes: Vec<LineChange> = (0..).zip(located).flat_map(|(number, located)| of_hunk(index, number, located)).collect();
    changes.sort_by_key(|change| (change.lines.start, change.lines.end));
    changes
}

fn of_hunk(index: &LineIndex<'_>, hunk: usize, located: &LocatedHunk<'_>) -> Vec<LineChange> {
    let old = located.lines.iter().filter(|line| line.kind != LineKind::Add).count();
    let ending = LineEnding::dominant(index.lines.span(located.at..located.at + old)).unwrap_or_else(|| index.ending());
    let shift = shift(index, located);
    let mut changes: Vec<LineChange> = Vec::new();
    let (mut at, mut open) = (located.at, false);
    for line in &located.lines {
        if line.kind == LineKind::Context {
            (at, open) = (at + 1, false);
            continue;
        }
        if !open {
            changes.push(LineChange { hunk, lines: at..at, added: Vec::new(), ending });
        }
        open = true;
        let Some(change) = changes.last_mut() else { continue };
        if line.kind == LineKind::Remove {
            at += 1;
            change.lines.end = at;
        } else {
            change.added.push(AddedLine { body: indented(&line.text, shift.as_ref()), unended: line.unended });
        }
    }
    changes
}

/// The shift of indentation from the hunk to the file, if indentation was ignored.
fn shift(index: &LineIndex<'_>, located: &LocatedHunk<'_>) -> Option<IndentShift> {
    if located.level < FuzzyLevel::Indentation {
        return None;
    }
    let old = located.lines.iter().filter(|line| line.kind != LineKind::Add).map(|line| line.text.as_bytes());
    let pairs = old.zip(located.at..).map(|(written, at)| (written, index.lines.get(at).body));
    let telling = pairs.filter(|(written, _)| !fold::trim(written, Fold::Nothing).is_empty());
    let blanks = |line| fold::leading(line, Fold::Nothing);
    IndentShift::between(telling.map(|(written, found)| (&written[..blanks(written)], &found[..blanks(found)])))
}

fn indented(text: &str, shift: Option<&IndentShift>) -> Vec<u8> {
    let body = text.trim_start_matches([' ', '\t']);
    match shift {
        Some(shift) if !body.is_empty() => [&*shift.apply(&text.as_bytes()[..text.len() - body.len()]), body.as_bytes()].concat(),
        _ => text.as_bytes().to_vec(),
    }
}

/// The new file. No two changes overlap.
pub(super) fn write(index: &LineIndex<'_>, changes: &[LineChange]) -> Vec<u8> {
    let added: usize = changes.iter().flat_map(|change| &change.added).map(|line| line.body.len() + 2).sum();
    let bytes = index.lines.bytes();
    let mut writer = PatchedWriter { index, file: Vec::with_capacity(bytes.len() + added), at: 0, unended: None };
    writer.file.extend_from_slice(&bytes[..index.lines.start(0)]);
    for change in changes {
        writer.keep(change.lines.start);
        for line in &change.added {
            writer.add(line, change);
        }
        writer.at = change.lines.end;
    }
    writer.keep(index.lines.len());
    writer.file
}

struct PatchedWriter<'a> {
    index: &'a LineIndex<'a>,
    file: Vec<u8>,
    /// The next line of the original.
    at: usize,
    /// The ending that the last line gets if another follows; `None` if it has one.
    unended: Option<LineEnding>,
}

impl PatchedWriter<'_> {
    /// Copies lines of the original up to this one.
    fn keep(&mut self, end: usize) {
        let span = self.index.lines.span(self.at..end);
        if span.is_empty() {
            return;
        }
        self.end_line();
        self.file.extend_from_slice(span);
        let last = self.index.lines.get(end - 1);
        self.unended = (last.ending == LineEnding::None).then(|| self.index.ending());
        self.at = end;
    }

    fn add(&mut self, line: &AddedLine, change: &LineChange) {
        self.end_line();
        let body = match change.ending {
            // A return in a patch is part of the ending.
            LineEnding::CrLf => line.body.strip_suffix(b"\r").unwrap_or(&line.body),
            _ => &line.body,
        };
        self.file.extend_from_slice(body);
        self.unended = Some(change.ending);
        if !line.unended {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if let Some(ending) = self.unended.take() {
            self.file.extend_from_slice(ending.as_bytes());
        }
    }
}
