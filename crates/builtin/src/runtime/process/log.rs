//! Output of a job by lines.

use haft_contract::{Job, JobStatus, ToolContext, ToolOutput};
use haft_text::numbers;
use haft_text::plain::{PlainText, plain_text};
use haft_text::truncate::first_bytes;
use serde_json::json;

use crate::command::excerpt::{SHOWN, contiguous_output};
use crate::command::job_text::with_remarks;

const LINES: usize = 200;

/// Lines of the output that is kept: from `offset` on, or the last ones.
pub(super) fn page(job: &dyn Job, offset: Option<usize>, limit: Option<usize>, cx: &ToolContext) -> ToolOutput {
    let status = job.status();
    let (_, bytes) = contiguous_output(job, status.kept_from, status.bytes);
    let PlainText { text, .. } = plain_text(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let window = LogWindow::select(&lines, offset, limit.unwrap_or(LINES).max(1));

    let shown = match lines[window.from..window.to] {
        [] if lines.is_empty() => "(no output)".to_owned(),
        [] => "(no lines here)".to_owned(),
        ref shown => shown.iter().map(|line| bounded(line)).collect::<Vec<_>>().join("\n"),
    };
    let notes: Vec<String> = [dropped_note(&status), window.note(lines.len(), cx)].into_iter().flatten().collect();
    let details = json!({
        "job": status.id, "first_line": window.from, "lines": window.to - window.from, "total_lines": lines.len(),
        "output_bytes": status.bytes, "kept_from": status.kept_from,
    });
    ToolOutput::text(with_remarks(shown, &notes)).with_details(details)
}

/// A note on the output before the lines that are kept.
fn dropped_note(status: &JobStatus) -> Option<String> {
    let size = numbers::size((status.kept_from > 0).then_some(status.kept_from)?);
    let place = match status.end.as_ref().map(|end| &end.spill) {
        None => "all of it can be read when the job has ended".to_owned(),
        Some(Some(spill)) => format!("all of it is in '{}'", spill.path.display()),
        Some(None) => "they could not be kept".to_owned(),
    };
    Some(format!("The first {size} are no longer here, and lines are counted after them: {place}."))
}

/// The lines that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogWindow {
    from: usize,
    to: usize,
}

impl LogWindow {
    /// As many lines as fit, at least one: from `offset` on, or the last ones.
    fn select(lines: &[&str], offset: Option<usize>, limit: usize) -> Self {
        let mut space = SHOWN;
        let mut fits = |line: &&str| {
            let size = line.len().min(SHOWN) + 1;
            let fits = space == SHOWN || size <= space;
            space = space.saturating_sub(size);
            fits
        };
        let Some(offset) = offset else {
            let count = lines.iter().rev().take(limit).take_while(|line| fits(line)).count();
            return Self { from: lines.len() - count, to: lines.len() };
        };
        let from = offset.min(lines.len());
        let count = lines[from..].iter().take(limit).take_while(|line| fits(line)).count();
        Self { from, to: from + count }
    }

    fn note(self, total: usize, cx: &ToolContext) -> Option<String> {
        let Self { from, to } = self;
        if (from, to) == (0, total) {
            return None;
        }
        if from >= total {
            return Some(format!("There are {total} lines, counted from 0."));
        }
        let more = if to < total {
            format!("; {} continues", cx.write_parameter("offset", to as u64))
        } else {
            format!("; {} shows those before", cx.write_parameter("offset", from.saturating_sub(to - from) as u64))
        };
        Some(format!("Lines {from}-{} of {total}, counted from 0{more}.", to - 1))
    }
}

/// A line, cut if it is longer than all that is shown.
fn bounded(line: &str) -> String {
    let head = first_bytes(line, SHOWN);
    match line.len() - head.len() {
        0 => line.to_owned(),
        more => format!("{head}… ({} more)", numbers::size(more as u64)),
    }
}
