//! Changed lines as a unified diff.

use std::fmt::Write;

use haft_text::display::escape_bytes;
use haft_text::numbers::count;

use super::compare::ChangedRun;
use super::lines::ChangedLines;
use super::{SHOWN_BYTES, SHOWN_LINES};

/// Upper bound on context lines.
const MOST_CONTEXT: usize = 100;
/// Longer lines are truncated.
const LINE_CHARS: usize = 2_000;

/// Runs that share a hunk, because their context overlaps.
struct HunkGroup<'r> {
    runs: &'r [ChangedRun],
}

pub(super) fn render(changed: &ChangedLines<'_>, path: &str, context: usize) -> String {
    if changed.runs().is_empty() {
        return String::new();
    }
    let context = context.min(MOST_CONTEXT);
    let path = escape_bytes(path.as_bytes(), LINE_CHARS);
    let text = format!("--- a/{path}\n+++ b/{path}\n");
    let mut page = DiffWriter { text, returns: !changed.all_end_with_returns(SHOWN_LINES), left: SHOWN_LINES, hidden: (0, 0) };
    for group in groups(changed.runs(), context) {
        group.render(changed, context, &mut page);
    }
    page.finish()
}

fn groups(runs: &[ChangedRun], context: usize) -> impl Iterator<Item = HunkGroup<'_>> {
    runs.chunk_by(move |one, other| other.old.start.line - one.old.end.line <= context.saturating_mul(2)).map(|runs| HunkGroup { runs })
}

impl HunkGroup<'_> {
    fn render(&self, changed: &ChangedLines<'_>, context: usize, page: &mut DiffWriter) {
        let ([first, ..], [.., last]) = (self.runs, self.runs) else { return };
        if page.is_full() {
            return page.hide(self.runs);
        }
        let (above, below) = (changed.above(first, context), changed.below(last, context));
        let range = |start: usize, end: usize| (start - above.len(), end - start + above.len() + below.len());
        page.head(range(first.old.start.line, last.old.end.line), range(first.new.start.line, last.new.end.line));
        page.lines(' ', above.iter().copied());
        for (number, run) in self.runs.iter().enumerate() {
            if let Some(before) = number.checked_sub(1).map(|before| &self.runs[before]) {
                page.lines(' ', changed.between_runs(before, run));
            }
            page.lines('-', changed.removed(run));
            page.lines('+', changed.added(run));
        }
        page.lines(' ', below.iter().copied());
    }
}

/// The diff so far.
struct DiffWriter {
    text: String,
    /// Whether to show `\r` at the ends of lines: not where every line has one.
    returns: bool,
    left: usize,
    /// Added and removed lines that are not shown.
    hidden: (usize, usize),
}

impl DiffWriter {
    fn head(&mut self, old: (usize, usize), new: (usize, usize)) {
        // An empty range is named by the line before it.
        let range = |(start, length): (usize, usize)| match length {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            length => format!("{},{length}", start + 1),
        };
        self.write(format_args!("@@ -{} +{} @@\n", range(old), range(new)));
    }

    fn is_full(&self) -> bool {
        self.left == 0 || self.text.len() > SHOWN_BYTES
    }

    fn hide(&mut self, runs: &[ChangedRun]) {
        self.hidden.0 += runs.iter().map(|run| run.new.len()).sum::<usize>();
        self.hidden.1 += runs.iter().map(|run| run.old.len()).sum::<usize>();
    }

    fn lines<'a>(&mut self, sign: char, lines: impl Iterator<Item = &'a [u8]>) {
        for line in lines {
            match (self.is_full(), sign) {
                (true, '+') => self.hidden.0 += 1,
                (true, '-') => self.hidden.1 += 1,
                (true, _) => {}
                (false, _) => self.line(sign, line),
            }
        }
    }

    fn line(&mut self, sign: char, line: &[u8]) {
        self.left -= usize::from(sign != ' ');
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let shown = if self.returns { body } else { body.strip_suffix(b"\r").unwrap_or(body) };
        self.write(format_args!("{sign}{}\n", escape_bytes(shown, LINE_CHARS)));
        if body.len() == line.len() {
            self.text.push_str("\\ No newline at end of file\n");
        }
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        self.text.write_fmt(text).unwrap_or_default();
    }

    fn finish(mut self) -> String {
        let (added, removed) = self.hidden;
        if added + removed > 0 {
            let (added, removed) = (count(added, "line"), count(removed, "line"));
            self.write(format_args!("… {added} added and {removed} removed are not shown\n"));
        }
        self.text
    }
}
