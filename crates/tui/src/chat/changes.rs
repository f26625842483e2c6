//! What a conversation changed: `/diff` shows it, `/undo` lets the user choose what to take back, and `/why` explains the last refusal.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use haft_engine::SessionFile;
use haft_patch::diff::unified;
use haft_store::{CallLog, CallRecord, CallStatus};
use haft_text::advice::for_user;
use haft_text::display;
use haft_text::numbers::count;

use super::chat_session::ChatSession;
use super::input::ChatInput;
use super::session_choice::ago;
use crate::failure::Failure;
use crate::output::{DIM, note, note_columns, print};
use crate::sessions::short_id;
use crate::table::wrap_hard;
use crate::terminal::call_subject;
use crate::text_builder::TextBuilder;
use crate::{diff, irreversible};

/// The largest file that is compared.
const MOST_BYTES: u64 = 1 << 20;
/// Lines around a change.
const CONTEXT: usize = 3;
/// Lines of all changes that are shown.
const MOST_LINES: usize = 2_000;
/// How many calls the user can choose from.
const MOST_CHOICES: usize = 100;
/// Errors of calls that were refused.
const REFUSED: [&str; 8] = [
    "permission_denied",
    "path_not_allowed",
    "approval_timeout",
    "blocked",
    "tool_not_available",
    "tool_globally_disabled",
    "loop_blocked",
    "tool_not_found",
];

impl ChatSession<'_> {
    /// Prints what the files of the conversation were and are.
    pub(super) async fn diff(&self) -> Result<(), Failure> {
        self.conversation.log.flush().await?;
        let files = self.conversation.runner.engine.session_files(&self.conversation.record.id).await?;
        let text = all_changes(&files, self.backend.workspace());
        if text.is_empty() {
            note("this conversation has changed no files");
        }
        print(&text)
    }

    /// The call that the user wants to undo; `None` if they chose none.
    pub(super) async fn choose_undo(&self, input: &mut ChatInput) -> Result<Option<String>, Failure> {
        let calls = undoable(&self.conversation.log, &self.conversation.record.id).await?;
        let now = SystemTime::now();
        let options = calls.iter().map(|call| describe(call, now)).collect();
        Ok(input.choose("Undo which call? Only its own changes are taken back.", options).await?.map(|index| calls[index].id.clone()))
    }

    /// Explains the last call of the conversation that was refused.
    pub(super) async fn why(&self) -> Result<(), Failure> {
        self.conversation.log.flush().await?;
        let calls = irreversible::calls_of(&self.conversation.log, &self.conversation.record.id).await?;
        let Some(call) = calls.iter().find(|call| is_refused(call)) else {
            note("no call of this conversation was refused");
            return Ok(());
        };
        for line in wrap_hard(&refusal(call, SystemTime::now()), note_columns().unwrap_or(usize::MAX)) {
            note(&line);
        }
        self.backend.explain(&call.tool, Some(call.arguments.to_string())).await
    }
}

/// `write_file ../x was refused 2 s ago: Access denied.`.
pub(super) fn refusal(call: &CallRecord, now: SystemTime) -> String {
    let title = format!("{} {}", display::escape_line(&call.tool), call_subject(&call.arguments.to_string()));
    format!("{} was refused {}: {}", title.trim_end(), since(call, now), display::escape_lines(&for_user(&call.summary)))
}

fn since(call: &CallRecord, now: SystemTime) -> String {
    ago(now.duration_since(call.started).unwrap_or_default())
}

/// Whether a call was refused, and did not run.
fn is_refused(call: &CallRecord) -> bool {
    matches!(&call.status, CallStatus::Error(kind) if REFUSED.contains(&kind.as_str()))
}

/// The calls whose files can be put back, newest first.
async fn undoable(log: &Arc<dyn CallLog>, session: &str) -> Result<Vec<CallRecord>, Failure> {
    let mut found = Vec::new();
    for call in irreversible::calls_of(log, session).await?.into_iter().filter(|call| !call.undone) {
        if found.len() < MOST_CHOICES && !log.pre_images(&call.id).await?.is_empty() {
            found.push(call);
        }
    }
    Ok(found)
}

/// `e248c0e0  2 min ago  edit_file hello.txt`.
pub(super) fn describe(call: &CallRecord, now: SystemTime) -> String {
    let title = format!("{} {}", display::escape_line(&call.tool), call_subject(&call.arguments.to_string()));
    format!("{}  {:>9}  {}", short_id(&call.id), since(call, now), title.trim_end())
}

/// The diff of every file, with a summary first.
pub(super) fn all_changes(files: &[SessionFile], workspace: &Path) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut changed, mut added, mut removed) = (0_usize, 0, 0);
    for file in files {
        let name = file.path.strip_prefix(workspace).unwrap_or(&file.path).to_string_lossy().into_owned();
        let Some(text) = change(file, &name) else {
            lines.push(format!("{} cannot be compared: it is too large, or no file any more", display::escape_line(&name)));
            continue;
        };
        if !text.is_empty() {
            let (more, less) = diff::counts(&text);
            (changed, added, removed) = (changed + 1, added + more, removed + less);
            lines.extend(text.lines().map(|line| display::escape_lines(line).into_owned()));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let mut page = TextBuilder::default();
    page.line(format_args!("{DIM}{}, {} added, {removed} removed{DIM:#}", count(changed, "file"), count(added, "line")));
    for line in diff::style_lines(&lines[..lines.len().min(MOST_LINES)]) {
        page.line(format_args!("{line}"));
    }
    if lines.len() > MOST_LINES {
        page.line(format_args!("{DIM}({} more lines){DIM:#}", lines.len() - MOST_LINES));
    }
    page.finish()
}

/// The diff of a file; empty if it is as before, `None` if it cannot be compared.
fn change(file: &SessionFile, name: &str) -> Option<String> {
    let before = match &file.before {
        Some(copy) => content(copy)?,
        None => Vec::new(),
    };
    let after = content(&file.path)?;
    Some(if before == after { String::new() } else { unified(&before, &after, name, CONTEXT) })
}

/// The content of a file, empty if there is none; `None` if it cannot be compared.
fn content(path: &Path) -> Option<Vec<u8>> {
    match fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() <= MOST_BYTES => fs::read(path).ok(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
        _ => None,
    }
}
