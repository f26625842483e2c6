//! Putting the new file together.

use std::ops::Range;

use super::index::Index;
use super::locate::Located;
use crate::fold::{self, Fold};
use crate::indent::Shift;
use crate::text::Ending;
use crate::{LineKind, Rule};

/// Lines of the file, and what is to be there instead.
#[derive(Debug)]
pub(super) struct Change {
    /// Which hunk it belongs to.
    pub(super) hunk: usize,
    pub(super) lines: Range<usize>,
    added: Vec<Added>,
    ending: Ending,
}

/// A line that comes.
#[derive(Debug)]
struct Added {
    body: Vec<u8>,
    unended: bool,
}

/// What all hunks change, in the order of the file.
pub(super) fn changes(index: &Index<'_>, located: &[Located<'_>]) -> Vec<Change> {
    let mut changes: Vec<Change> = (0..).zip(located).flat_map(|(number, located)| of_hunk(index, number, located)).collect();
    changes.sort_by_key(|change| (change.lines.start, change.lines.end));
    changes
}

fn of_hunk(index: &Index<'_>, hunk: usize, located: &Located<'_>) -> Vec<Change> {
    let old = located.lines.iter().filter(|line| line.kind != LineKind::Add).count();
    let ending = Ending::dominant(index.lines.span(located.at..located.at + old)).unwrap_or_else(|| index.ending());
    let shift = shift(index, located);
    let mut changes: Vec<Change> = Vec::new();
    let (mut at, mut open) = (located.at, false);
    for line in &located.lines {
        if line.kind == LineKind::Context {
            (at, open) = (at + 1, false);
            continue;
        }
        if !open {
            changes.push(Change { hunk, lines: at..at, added: Vec::new(), ending });
        }
        open = true;
        let Some(change) = changes.last_mut() else { continue };
        if line.kind == LineKind::Remove {
            at += 1;
            change.lines.end = at;
        } else {
            change.added.push(Added { body: indented(&line.text, shift.as_ref()), unended: line.unended });
        }
    }
    changes
}

/// How the file indents the lines of a hunk, if that was forgiven.
fn shift(index: &Index<'_>, located: &Located<'_>) -> Option<Shift> {
    if located.rule < Rule::Indentation {
        return None;
    }
    let old = located.lines.iter().filter(|line| line.kind != LineKind::Add).map(|line| line.text.as_bytes());
    let pairs = old.zip(located.at..).map(|(written, at)| (written, index.lines.get(at).body));
    let telling = pairs.filter(|(written, _)| !fold::trim(written, Fold::Nothing).is_empty());
    let blanks = |line| fold::leading(line, Fold::Nothing);
    Shift::between(telling.map(|(written, found)| (&written[..blanks(written)], &found[..blanks(found)])))
}

fn indented(text: &str, shift: Option<&Shift>) -> Vec<u8> {
    let body = text.trim_start_matches([' ', '\t']);
    match shift {
        Some(shift) if !body.is_empty() => [&*shift.apply(&text.as_bytes()[..text.len() - body.len()]), body.as_bytes()].concat(),
        _ => text.as_bytes().to_vec(),
    }
}

/// The new file. No two changes overlap.
pub(super) fn write(index: &Index<'_>, changes: &[Change]) -> Vec<u8> {
    let come: usize = changes.iter().flat_map(|change| &change.added).map(|line| line.body.len() + 2).sum();
    let bytes = index.lines.bytes();
    let mut writer = Writer { index, file: Vec::with_capacity(bytes.len() + come), at: 0, unended: None };
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

struct Writer<'a> {
    index: &'a Index<'a>,
    file: Vec<u8>,
    /// The next line of the original.
    at: usize,
    /// Whether the last line that was written has no ending yet; and the one that it gets if another follows.
    unended: Option<Ending>,
}

impl Writer<'_> {
    /// Lines of the original up to this one.
    fn keep(&mut self, end: usize) {
        let span = self.index.lines.span(self.at..end);
        if span.is_empty() {
            return;
        }
        self.end_line();
        self.file.extend_from_slice(span);
        let last = self.index.lines.get(end - 1);
        self.unended = (last.ending == Ending::None).then(|| self.index.ending());
        self.at = end;
    }

    fn add(&mut self, line: &Added, change: &Change) {
        self.end_line();
        let body = match change.ending {
            // Whoever writes returns into a patch means the ending.
            Ending::CrLf => line.body.strip_suffix(b"\r").unwrap_or(&line.body),
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
