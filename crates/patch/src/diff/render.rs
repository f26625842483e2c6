//! Changed lines as a unified diff.

use std::fmt::Write;

use super::compare::Run;
use super::lines::Changed;
use super::{SHOWN_BYTES, SHOWN_LINES};
use crate::visible::{counted, quoted_whole};

/// More lines around a change are not shown.
const MOST_CONTEXT: usize = 100;

/// Runs that are shown together, because the lines around them meet.
struct Group<'r> {
    runs: &'r [Run],
}

pub(super) fn render(changed: &Changed<'_>, path: &str, context: usize) -> String {
    if changed.runs().is_empty() {
        return String::new();
    }
    let context = context.min(MOST_CONTEXT);
    let path = quoted_whole(path.as_bytes());
    let text = format!("--- a/{path}\n+++ b/{path}\n");
    let mut page = Page { text, returns: !changed.all_end_with_returns(SHOWN_LINES), left: SHOWN_LINES, hidden: (0, 0) };
    for group in groups(changed.runs(), context) {
        group.render(changed, context, &mut page);
    }
    page.finish()
}

fn groups(runs: &[Run], context: usize) -> impl Iterator<Item = Group<'_>> {
    runs.chunk_by(move |one, other| other.old.start.line - one.old.end.line <= context.saturating_mul(2)).map(|runs| Group { runs })
}

impl Group<'_> {
    fn render(&self, changed: &Changed<'_>, context: usize, page: &mut Page) {
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
            page.lines('-', changed.gone(run));
            page.lines('+', changed.come(run));
        }
        page.lines(' ', below.iter().copied());
    }
}

/// The diff as far as it is written.
struct Page {
    text: String,
    /// Whether returns at the ends of lines are shown: where every line has one, they say nothing.
    returns: bool,
    left: usize,
    /// Lines that came and that went, and are not shown.
    hidden: (usize, usize),
}

impl Page {
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

    fn hide(&mut self, runs: &[Run]) {
        self.hidden.0 += runs.iter().map(|run| run.new.len()).sum::<usize>();
        self.hidden.1 += runs.iter().map(|run| run.old.len()).sum::<usize>();
    }

    fn lines<'a>(&mut self, mark: char, lines: impl Iterator<Item = &'a [u8]>) {
        for line in lines {
            match (self.is_full(), mark) {
                (true, '+') => self.hidden.0 += 1,
                (true, '-') => self.hidden.1 += 1,
                (true, _) => {}
                (false, _) => self.line(mark, line),
            }
        }
    }

    fn line(&mut self, mark: char, line: &[u8]) {
        self.left -= usize::from(mark != ' ');
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let shown = if self.returns { body } else { body.strip_suffix(b"\r").unwrap_or(body) };
        self.write(format_args!("{mark}{}\n", quoted_whole(shown)));
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
            let (added, removed) = (counted(added, "line"), counted(removed, "line"));
            self.write(format_args!("… {added} added and {removed} removed are not shown\n"));
        }
        self.text
    }
}
