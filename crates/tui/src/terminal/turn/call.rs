//! A call as one line, with its error below.

use std::time::{Duration, Instant};

use haft_contract::{ToolError, ToolResult};
use haft_text::advice::for_user;
use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::details::CallDetails;
use super::outcome;
use super::style::{StyledLine, SymbolSet, TurnStyle};
use crate::diff;
use crate::failure::to_change;
use crate::output::{DIM, ERROR, GOOD, PLAIN, RED, STRONG};
use crate::table::wrap_hard;
use crate::text_builder::{INDENT, TextBuilder};
use crate::time::duration;

/// Characters of an argument in a line.
const SHOWN_CHARACTERS: usize = 60;
/// Least width of the subject in a narrow line.
const LEAST: usize = 8;
const HELP: &str = "help: ";
/// Lines of an error message that are shown: all, unless it is endless.
const MESSAGE_LINES: usize = 200;
/// Last lines of the output of a failed command that are shown.
const COMMAND_LINES: usize = 100;
/// Lines of a diff that are shown; the rest is folded.
const DIFF_LINES: usize = 20;

/// A running call.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) subject: String,
    pub(super) arguments: String,
    pub(super) since: Instant,
    /// Its last progress message.
    pub(super) update: Option<String>,
}

impl RunningCall {
    pub(super) fn new(id: &str, tool: &str, arguments: &str, since: Instant) -> Self {
        let (tool, subject) = (display::escape_line(tool).into_owned(), subject(arguments));
        Self { id: id.to_owned(), tool, subject, arguments: arguments.to_owned(), since, update: None }
    }

    /// `read_file README.md`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.tool, self.subject).trim_end().to_owned()
    }
}

/// A finished call.
#[derive(Debug)]
pub(super) struct FinishedCall {
    tool: String,
    subject: String,
    facts: Vec<String>,
    /// Lines added and removed.
    changes: Option<(u64, u64)>,
    failure: Option<CallFailure>,
    elapsed: Duration,
    pub(super) details: CallDetails,
}

#[derive(Debug)]
struct CallFailure {
    message: String,
    help: Option<String>,
    /// Whether a program ended with a failure: then the end of its output says most.
    is_exit: bool,
}

impl CallFailure {
    fn new(error: &ToolError) -> Self {
        let help = to_change(error.details()).map(|help| display::escape_lines(&help).into_owned());
        let is_exit = exit_of(error).is_some();
        // The output of a program is for everyone.
        let message = if is_exit { error.message().into() } else { for_user(error.message()) };
        Self { message: display::escape_lines(&message).into_owned(), help, is_exit }
    }

    /// The lines to show, with a note on those that are left out.
    fn lines(&self, columns: Option<usize>) -> Vec<String> {
        let mut lines: Vec<String> = match columns {
            Some(columns) => wrap_hard(&self.message, columns.saturating_sub(INDENT.len())),
            None => self.message.lines().map(str::to_owned).collect(),
        };
        let most = if self.is_exit { COMMAND_LINES } else { MESSAGE_LINES };
        let left = lines.len().saturating_sub(most);
        match (left, self.is_exit) {
            (0, _) => {}
            (_, true) => drop(lines.splice(..left, [format!("({left} lines before)")])),
            (_, false) => lines.splice(most.., [format!("({left} more lines)")]).for_each(drop),
        }
        lines
    }
}

/// How a program ended that failed: `exit 2`, `signal 9`; `None` if the error is about something else.
fn exit_of(error: &ToolError) -> Option<String> {
    let details = error.details()?;
    let number = |name: &str| details.get(name).and_then(Value::as_i64);
    number("exit_code").map(|code| format!("exit {code}")).or_else(|| number("signal").map(|signal| format!("signal {signal}")))
}

impl FinishedCall {
    pub(super) fn new(running: Option<RunningCall>, result: &ToolResult) -> Self {
        let diff = result.details().and_then(|details| details["diff"].as_str());
        let (subject, arguments) = running.map(|running| (running.subject, running.arguments)).unwrap_or_default();
        Self {
            tool: display::escape_line(&result.tool).into_owned(),
            subject,
            facts: match &result.outcome {
                Ok(output) => outcome::facts(output),
                Err(error) => vec![exit_of(error).unwrap_or_else(|| error.kind().as_str().to_owned())],
            },
            changes: diff.map(diff::counts),
            failure: result.outcome.as_ref().err().map(CallFailure::new),
            elapsed: result.elapsed,
            details: CallDetails::new(&result.call_id, &arguments, result, diff),
        }
    }

    /// The line of the call, with the beginning of its diff below.
    pub(super) fn render(&self, turn: &TurnStyle) -> String {
        let has_diff = (turn.columns)().is_some() && !turn.verbose;
        let changes = if has_diff { self.details.folded_diff(DIFF_LINES, turn.symbols) } else { String::new() };
        self.render_line(turn) + &changes
    }

    /// `✓ read_file README.md · 120 lines · 3 ms`, with the error below.
    pub(super) fn render_line(&self, turn: &TurnStyle) -> String {
        let columns = (turn.columns)();
        let (mark, style) = self.mark(turn.symbols);
        let before = mark.width() + self.tool.width() + 2;
        let width = columns.map_or(usize::MAX, |columns| columns.saturating_sub(before));
        let outcome = self.outcome(turn.symbols, width.saturating_sub(self.subject.width().min(LEAST)));
        let subject = ellipsize_to_width(&self.subject, width.saturating_sub(outcome.width()).max(LEAST));
        let mut line = StyledLine::default();
        line.add(style, mark);
        line.add(if self.failure.is_some() { RED } else { PLAIN }, format!(" {} {subject}", self.tool).trim_end());
        line.add(if self.failure.is_some() { RED } else { DIM }, outcome);
        line.render(columns) + &self.error_lines(columns)
    }

    fn mark(&self, symbols: SymbolSet) -> (&'static str, anstyle::Style) {
        match (symbols, &self.failure) {
            (SymbolSet::Symbols, None) => ("✓", GOOD),
            (SymbolSet::Words, None) => ("ok", GOOD),
            (SymbolSet::Symbols, Some(_)) => ("✗", ERROR),
            (SymbolSet::Words, Some(_)) => ("failed", ERROR),
        }
    }

    /// Facts and time; on a narrow line only the most important ones.
    fn outcome(&self, symbols: SymbolSet, width: usize) -> String {
        let changes = self.changes.map(|(added, removed)| match symbols {
            SymbolSet::Symbols => format!("+{added} −{removed}"),
            SymbolSet::Words => format!("{} added, {removed} removed", haft_text::numbers::count(added, "line")),
        });
        let took = duration(self.elapsed);
        let mut facts: Vec<&str> = changes.iter().chain(&self.facts).chain([&took]).map(String::as_str).collect();
        let before = if symbols == SymbolSet::Symbols { symbols.separator() } else { ": " };
        let joined = |facts: &[&str]| format!("{before}{}", facts.join(symbols.separator()));
        while facts.len() > 1 && joined(&facts).width() > width {
            facts.pop();
        }
        joined(&facts)
    }

    /// The error message, always shown.
    fn error_lines(&self, columns: Option<usize>) -> String {
        let Some(failure) = &self.failure else { return String::new() };
        let mut page = TextBuilder::default();
        for line in failure.lines(columns) {
            page.line(format_args!("{INDENT}{RED}{line}{RED:#}"));
        }
        if let Some(help) = &failure.help {
            let lines = match columns {
                Some(columns) => wrap_hard(&format!("{HELP}{help}"), columns.saturating_sub(INDENT.len())),
                None => vec![format!("{HELP}{help}")],
            };
            for line in lines {
                let (mark, rest) = line.strip_prefix(HELP).map_or(("", line.as_str()), |rest| (HELP, rest));
                page.line(format_args!("{INDENT}{STRONG}{mark}{STRONG:#}{rest}"));
            }
        }
        page.finish()
    }
}

/// The argument that identifies the call: one with a known name, or else the first text.
pub fn subject(arguments: &str) -> String {
    let value: Value = serde_json::from_str(arguments).unwrap_or_default();
    let first = ["path", "command", "url", "pattern", "query", "message"].iter().find_map(|name| value[*name].as_str());
    let patched = value["input"].as_str().and_then(patched_files);
    if let Some(files) = patched.filter(|_| first.is_none()) {
        return display::shorten(&files, SHOWN_CHARACTERS).into_owned();
    }
    let text = first.or_else(|| value.as_object()?.values().find_map(Value::as_str)).unwrap_or_default();
    display::shorten(text, SHOWN_CHARACTERS).into_owned()
}

/// The files of a patch: `a.txt, b.txt → c.txt`. `None` if the text is no patch.
fn patched_files(text: &str) -> Option<String> {
    let named = |line: &str, verbs: &[&str]| verbs.iter().find_map(|verb| Some(line.trim().strip_prefix(verb)?.trim().to_owned()));
    let mut files: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(file) = named(line, &["*** Add File:", "*** Delete File:", "*** Update File:"]) {
            files.push(file);
        } else if let (Some(to), Some(last)) = (named(line, &["*** Move to:"]), files.last_mut()) {
            *last = format!("{last} → {to}");
        }
    }
    (!files.is_empty()).then(|| files.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_subject_is_its_main_argument() {
        for (arguments, expected) in [
            (r#"{"limit":3,"path":"a.txt"}"#, "a.txt"),
            (r#"{"city":"Tokyo","n":1}"#, "Tokyo"),
            ("", ""),
            ("not json", ""),
            (r#"{"path":"x\u001b[2J"}"#, "x\\u{1b}[2J"),
            (r#"{"input":"*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"}"#, "a.txt"),
            (r#"{"input":"*** Update File: a\n*** Move to: b\n@@\n-x\n+*** Add File: no\n*** Add File: c\n+x"}"#, "a → b, c"),
            (r#"{"input":"plain text"}"#, "plain text"),
        ] {
            assert_eq!(subject(arguments), expected, "{arguments}");
        }
        assert_eq!(subject(&format!(r#"{{"path":"{}"}}"#, "x".repeat(100))).chars().count(), SHOWN_CHARACTERS + 1);
    }
}
