//! A call as one line, and what stands beneath it.

use std::time::{Duration, Instant};

use haft_contract::{ToolError, ToolResult, visible};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::details::Details;
use super::face::{Face, Marks, Parts};
use super::{diff, outcome};
use crate::commands::history::duration;
use crate::failure::to_change;
use crate::output::{BAD, DIM, GOOD, PLAIN, STRONG, WORSE};
use crate::page::{INDENT, Page};
use crate::table::{cut, folded};

/// How much of an argument a line shows.
const SHOWN_CHARACTERS: usize = 60;
/// What a call is about keeps at least this much of a narrow line.
const LEAST: usize = 8;
/// How many lines of a message are shown.
const MESSAGE_LINES: usize = 20;

/// A call that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) subject: String,
    pub(super) arguments: String,
    pub(super) since: Instant,
    /// What it said last.
    pub(super) update: Option<String>,
}

impl Running {
    pub(super) fn new(id: &str, tool: &str, arguments: &str, since: Instant) -> Self {
        let (tool, subject) = (visible::line(tool).into_owned(), subject(arguments));
        Self { id: id.to_owned(), tool, subject, arguments: arguments.to_owned(), since, update: None }
    }

    /// `read_file README.md`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.tool, self.subject).trim_end().to_owned()
    }
}

/// A call that is over, as much of it as is shown.
#[derive(Debug)]
pub(super) struct Call {
    tool: String,
    subject: String,
    facts: Vec<String>,
    /// How many lines were added and removed.
    changes: Option<(u64, u64)>,
    failure: Option<Failed>,
    elapsed: Duration,
    pub(super) details: Details,
}

#[derive(Debug)]
struct Failed {
    message: String,
    help: Option<String>,
}

impl Failed {
    fn of(error: &ToolError) -> Self {
        let help = to_change(error.details()).map(|help| visible::lines(&help).into_owned());
        Self { message: visible::lines(error.message()).into_owned(), help }
    }
}

impl Call {
    pub(super) fn of(running: Option<Running>, result: &ToolResult) -> Self {
        let diff = result.details().and_then(|details| details["diff"].as_str());
        let (subject, arguments) = running.map(|running| (running.subject, running.arguments)).unwrap_or_default();
        Self {
            tool: visible::line(&result.tool).into_owned(),
            subject,
            facts: match &result.outcome {
                Ok(output) => outcome::facts(output),
                Err(error) => vec![error.kind().as_str().to_owned()],
            },
            changes: diff.map(diff::counts),
            failure: result.outcome.as_ref().err().map(Failed::of),
            elapsed: result.elapsed,
            details: Details::of(&result.call_id, &arguments, result, diff),
        }
    }

    /// `✓ read_file README.md · 120 lines · 3 ms`, and beneath it why it failed if it did.
    pub(super) fn shown(&self, face: &Face) -> String {
        let columns = (face.columns)();
        let (mark, style) = self.mark(face.marks);
        let before = mark.width() + self.tool.width() + 2;
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(before));
        let behind = self.outcome(face.marks, room.saturating_sub(self.subject.width().min(LEAST)));
        let subject = cut(&self.subject, room.saturating_sub(behind.width()).max(LEAST));
        let mut parts = Parts::default();
        parts.add(style, mark);
        parts.add(if self.failure.is_some() { WORSE } else { PLAIN }, format!(" {} {subject}", self.tool).trim_end());
        parts.add(if self.failure.is_some() { WORSE } else { DIM }, behind);
        parts.line(columns) + &self.why(columns)
    }

    fn mark(&self, marks: Marks) -> (&'static str, anstyle::Style) {
        match (marks, &self.failure) {
            (Marks::Symbols, None) => ("✓", GOOD),
            (Marks::Words, None) => ("ok", GOOD),
            (Marks::Symbols, Some(_)) => ("✗", BAD),
            (Marks::Words, Some(_)) => ("failed", BAD),
        }
    }

    /// What came of it and how long it took; in little room the most important of it alone.
    fn outcome(&self, marks: Marks, room: usize) -> String {
        let changes = self.changes.map(|(added, removed)| match marks {
            Marks::Symbols => format!("+{added} −{removed}"),
            Marks::Words => format!("{} added, {removed} removed", outcome::counted(added, "line")),
        });
        let took = duration(self.elapsed);
        let mut facts: Vec<&str> = changes.iter().chain(&self.facts).chain([&took]).map(String::as_str).collect();
        let before = if marks == Marks::Symbols { marks.between() } else { ": " };
        let written = |facts: &[&str]| format!("{before}{}", facts.join(marks.between()));
        while facts.len() > 1 && written(&facts).width() > room {
            facts.pop();
        }
        written(&facts)
    }

    /// Never folded: a person who has to look for it does not see it.
    fn why(&self, columns: Option<usize>) -> String {
        let Some(Failed { message, help }) = &self.failure else { return String::new() };
        let lines: Vec<String> = match columns {
            Some(columns) => folded(message, columns.saturating_sub(INDENT.len())),
            None => message.lines().map(str::to_owned).collect(),
        };
        let mut page = Page::default();
        for line in lines.iter().take(MESSAGE_LINES) {
            page.line(format_args!("{INDENT}{WORSE}{line}{WORSE:#}"));
        }
        if lines.len() > MESSAGE_LINES {
            page.line(format_args!("{INDENT}{WORSE}({} more lines){WORSE:#}", lines.len() - MESSAGE_LINES));
        }
        if let Some(help) = help {
            page.line(format_args!("{INDENT}{STRONG}help{STRONG:#}: {help}"));
        }
        page.finish()
    }
}

/// The argument that says most: one that is known to, or else the first text among them.
fn subject(arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).unwrap_or_default();
    let first = ["path", "command", "url", "pattern", "query", "message"].iter().find_map(|name| value[*name].as_str());
    let text = first.or_else(|| value.as_object()?.values().find_map(Value::as_str)).unwrap_or_default();
    visible::shorten(text, SHOWN_CHARACTERS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_what_it_is_about() {
        for (arguments, expected) in [
            (r#"{"limit":3,"path":"a.txt"}"#, "a.txt"),
            (r#"{"city":"Tokyo","n":1}"#, "Tokyo"),
            ("", ""),
            ("not json", ""),
            (r#"{"path":"x\u001b[2J"}"#, "x\\u{1b}[2J"),
        ] {
            assert_eq!(subject(arguments), expected, "{arguments}");
        }
        assert_eq!(subject(&format!(r#"{{"path":"{}"}}"#, "x".repeat(100))).chars().count(), SHOWN_CHARACTERS + 1);
    }
}
