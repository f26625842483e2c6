//! The report of a search.

use std::time::Duration;

use haft_contract::{ToolContext, ToolOutput, WalkSummary};
use haft_text::numbers::group_digits;
use serde_json::{Value, json};

use super::params::{OutputMode, Params, ResultWindow};
use super::rows::{FileRows, ResultRow};
use super::search::{GrepResult, GrepSearchRun, GrepStop};
use super::sink::GAP;
use crate::shared::brief;
use crate::shared::tree_search::{self, NewestFiles, excluded_note, with_notes};

pub(super) struct GrepReport<'a> {
    params: &'a Params,
    search: &'a GrepSearchRun,
    walked: WalkSummary,
    window: ResultWindow,
}

/// The page that is shown.
struct GrepPage {
    rows: Vec<ResultRow>,
    /// Where the next one begins.
    next: Option<usize>,
}

impl<'a> GrepReport<'a> {
    pub(super) fn new(params: &'a Params, search: &'a GrepSearchRun, walked: WalkSummary) -> Self {
        // Checked when the call was planned.
        let window = params.window().unwrap_or(ResultWindow { offset: 0, limit: 0, bytes: 0 });
        Self { params, search, walked, window }
    }

    pub(super) fn output(&self, elapsed: Duration, cx: &ToolContext) -> ToolOutput {
        let mut found = self.search.lock_result();
        let rows = self.rows(&mut found);
        let total = self.total(&found);
        let page = self.page(rows, total);
        let details = self.details(&found, &page, total, elapsed);
        let notes = self.notes(&found, &page, total, cx);
        let lines: Vec<String> = page.rows.into_iter().map(|row| row.text).collect();
        ToolOutput::text(with_notes(&lines, &notes)).with_details(details)
    }

    /// All results that were kept, in order.
    fn rows(&self, found: &mut GrepResult) -> Vec<ResultRow> {
        let newest = std::mem::replace(&mut found.newest, NewestFiles::new(0));
        let kept = std::mem::replace(&mut found.kept, FileRows::new(0));
        match self.params.mode() {
            OutputMode::FilesWithMatches => newest.into_names().into_iter().map(ResultRow::plain).collect(),
            OutputMode::Count => kept.into_files().flatten().collect(),
            OutputMode::Content => {
                let mut rows: Vec<ResultRow> = kept.into_files().flatten().collect();
                // No separator before the first line.
                if rows.first().is_some_and(|row| row.text == GAP) {
                    rows.remove(0);
                    found.lines = found.lines.saturating_sub(1);
                }
                rows
            }
        }
    }

    /// The number of all results.
    fn total(&self, found: &GrepResult) -> u64 {
        if self.params.mode() == OutputMode::Content { found.lines } else { found.files }
    }

    fn page(&self, rows: Vec<ResultRow>, total: u64) -> GrepPage {
        let ResultWindow { offset, limit, bytes } = self.window;
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
        GrepPage { rows: shown, next: more.then_some(next) }
    }

    fn details(&self, found: &GrepResult, page: &GrepPage, total: u64, elapsed: Duration) -> Value {
        let ended = found.ended.map(|ended| match ended {
            GrepStop::Late => "time",
            GrepStop::TooManyMatches => "matches",
        });
        let is_content = self.params.mode() == OutputMode::Content;
        let counts = self.params.mode() != OutputMode::FilesWithMatches;
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

    fn notes(&self, found: &GrepResult, page: &GrepPage, total: u64, cx: &ToolContext) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.position(found, page, total, cx));
        match found.ended {
            Some(GrepStop::Late) => notes.push(format!(
                "(Stopped after {} seconds, so there may be more. Narrow the search with 'path', 'glob' or 'type'.)",
                self.search.budget.time.as_secs()
            )),
            Some(GrepStop::TooManyMatches) => {
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
        notes.extend(tree_search::errors_note(&self.walked, &found.troubles));
        notes
    }

    /// A note on the part that is shown, if it is not all.
    fn position(&self, found: &GrepResult, page: &GrepPage, total: u64, cx: &ToolContext) -> Option<String> {
        let ResultWindow { offset, .. } = self.window;
        let (what, whole) = match self.params.mode() {
            OutputMode::Content => ("lines", format!("{} in {}", group_digits(total), files(found.files))),
            OutputMode::Count => ("files", format!("{}, with {} matches", group_digits(total), group_digits(found.matches))),
            OutputMode::FilesWithMatches => ("files", format!("{}, newest first", group_digits(total))),
        };
        match page.next {
            Some(next) => Some(format!(
                "(Showing {what} {}-{next} of {whole}. Continue with {}, or narrow the search.)",
                offset + 1,
                cx.write_parameter("offset", next as u64)
            )),
            None if total == 0 => Some(self.nothing(found)),
            None if page.rows.is_empty() => {
                Some(format!("(No {what} at {}: there are {}.)", cx.write_parameter("offset", offset as u64), group_digits(total)))
            }
            None => None,
        }
    }

    fn nothing(&self, found: &GrepResult) -> String {
        let location = if self.search.location == "." { "the workspace".to_owned() } else { format!("'{}'", self.search.location) };
        let (pattern, searched) = (brief(self.params.pattern()), files(found.searched));
        let binary = match found.binary {
            0 => String::new(),
            1 => ", of which 1 is binary".to_owned(),
            count => format!(", of which {} are binary", group_digits(count)),
        };
        let mut note = format!("No match for '{pattern}' in {location} ({searched} searched{binary}).");
        if let Some(excluded) = excluded_note(&self.params.tree()) {
            note.push(' ');
            note.push_str(excluded);
        }
        note
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{} files", group_digits(count)) }
}
