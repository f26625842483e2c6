//! What a search says.

use std::time::Duration;

use haft_contract::{ToolContext, ToolOutput, Walked};
use serde_json::{Value, json};

use super::kept::{Kept, Row};
use super::params::{Mode, Params, Window};
use super::search::{Ended, Found, Search};
use super::sink::GAP;
use crate::shared::searching::{self, Newest, count_of, left_out, with_notes};
use crate::shared::words;

pub(super) struct Report<'a> {
    params: &'a Params,
    search: &'a Search,
    walked: Walked,
    window: Window,
}

/// The part that is shown.
struct Page {
    rows: Vec<Row>,
    /// Where the next one begins.
    next: Option<usize>,
}

impl<'a> Report<'a> {
    pub(super) fn new(params: &'a Params, search: &'a Search, walked: Walked) -> Self {
        // They were checked at planning.
        let window = params.window().unwrap_or(Window { offset: 0, limit: 0, bytes: 0 });
        Self { params, search, walked, window }
    }

    pub(super) fn output(&self, elapsed: Duration, cx: &ToolContext) -> ToolOutput {
        let mut found = self.search.found();
        let rows = self.rows(&mut found);
        let total = self.total(&found);
        let page = self.page(rows, total);
        let details = self.details(&found, &page, total, elapsed);
        let notes = self.notes(&found, &page, total, cx);
        let lines: Vec<String> = page.rows.into_iter().map(|row| row.text).collect();
        ToolOutput::text(with_notes(&lines, &notes)).with_details(details)
    }

    /// Everything that was kept, in order.
    fn rows(&self, found: &mut Found) -> Vec<Row> {
        let newest = std::mem::replace(&mut found.newest, Newest::new(0));
        let kept = std::mem::replace(&mut found.kept, Kept::new(0));
        match self.params.mode() {
            Mode::FilesWithMatches => newest.into_names().into_iter().map(Row::plain).collect(),
            Mode::Count => kept.into_files().flatten().collect(),
            Mode::Content => {
                let mut rows: Vec<Row> = kept.into_files().flatten().collect();
                // Nothing stands before the first line.
                if rows.first().is_some_and(|row| row.text == GAP) {
                    rows.remove(0);
                    found.lines = found.lines.saturating_sub(1);
                }
                rows
            }
        }
    }

    /// How much there is to show in all.
    fn total(&self, found: &Found) -> u64 {
        if self.params.mode() == Mode::Content { found.lines } else { found.files }
    }

    fn page(&self, rows: Vec<Row>, total: u64) -> Page {
        let Window { offset, limit, bytes } = self.window;
        let (mut shown, mut size) = (Vec::new(), 0);
        for row in rows.into_iter().skip(offset).take(limit) {
            size += row.text.len() + 1;
            if size > bytes && !shown.is_empty() {
                break;
            }
            shown.push(row);
        }
        let next = offset + shown.len();
        let more = !shown.is_empty() && (next as u64) < total;
        Page { rows: shown, next: more.then_some(next) }
    }

    fn details(&self, found: &Found, page: &Page, total: u64, elapsed: Duration) -> Value {
        let ended = found.ended.map(|ended| match ended {
            Ended::Late => "time",
            Ended::TooManyMatches => "matches",
        });
        let is_content = self.params.mode() == Mode::Content;
        let counts = self.params.mode() != Mode::FilesWithMatches;
        json!({
            "mode": self.params.mode(),
            "lines": page.rows.len(),
            "total_files": found.files,
            "total_lines": is_content.then_some(total),
            "total_matches": counts.then_some(found.matches),
            "truncated": page.next.is_some(),
            "next_offset": page.next,
            "complete": ended.is_none(),
            "ended_by": ended,
            "searched": found.searched,
            "binary_files": found.binary,
            "denied": self.walked.denied,
            "troubles": self.walked.troubles.iter().chain(&found.troubles).collect::<Vec<_>>(),
            "elapsed_ms": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn notes(&self, found: &Found, page: &Page, total: u64, cx: &ToolContext) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.position(found, page, total, cx));
        match found.ended {
            Some(Ended::Late) => notes.push(format!(
                "(Stopped after {} seconds, so there may be more. Narrow the search with 'path', 'glob' or 'type'.)",
                self.search.budget.time.as_secs()
            )),
            Some(Ended::TooManyMatches) => {
                notes.push("(Stopped: there are too many matches to count them all. Narrow the pattern.)".to_owned());
            }
            None => {}
        }
        if page.rows.iter().any(|row| row.is_cut) {
            notes.push("(Lines longer than 500 characters are cut at '…'.)".to_owned());
        }
        if page.rows.iter().any(|row| !row.is_text) {
            notes.push("(Some lines are not UTF-8: what could not be read is shown as '\u{fffd}'.)".to_owned());
        }
        notes.extend(searching::troubles(&self.walked, &found.troubles));
        notes
    }

    /// Which part is shown, if it is not all.
    fn position(&self, found: &Found, page: &Page, total: u64, cx: &ToolContext) -> Option<String> {
        let Window { offset, .. } = self.window;
        let (what, whole) = match self.params.mode() {
            Mode::Content => ("lines", format!("{} in {}", count_of(total), files(found.files))),
            Mode::Count => ("files", format!("{}, with {} matches", count_of(total), count_of(found.matches))),
            Mode::FilesWithMatches => ("files", format!("{}, newest first", count_of(total))),
        };
        match page.next {
            Some(next) => Some(format!(
                "(Showing {what} {}-{next} of {whole}. Continue with {}, or narrow the search.)",
                offset + 1,
                cx.written("offset", next as u64)
            )),
            None if total == 0 => Some(self.nothing(found)),
            None if page.rows.is_empty() => {
                Some(format!("(No {what} at {}: there are {}.)", cx.written("offset", offset as u64), count_of(total)))
            }
            None => None,
        }
    }

    fn nothing(&self, found: &Found) -> String {
        let place = if self.search.place == "." { "the workspace".to_owned() } else { format!("'{}'", self.search.place) };
        let (pattern, searched) = (words::shown(self.params.pattern()), files(found.searched));
        let binary = match found.binary {
            0 => String::new(),
            1 => ", of which 1 is binary".to_owned(),
            count => format!(", of which {} are binary", count_of(count)),
        };
        let mut note = format!("No match for '{pattern}' in {place} ({searched} searched{binary}).");
        if let Some(left_out) = left_out(&self.params.tree()) {
            note.push(' ');
            note.push_str(left_out);
        }
        note
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{} files", count_of(count)) }
}
