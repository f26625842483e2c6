//! Syntax errors, confirmed by a shell: the parser has gaps of its own.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use haft_contract::ToolError;
use haft_shell::SyntaxFault;
use haft_text::display;
use haft_text::truncate::ellipsize;

use super::line::SHELLS;

/// The longest part of a shell's message that is repeated.
const LONGEST_MESSAGE: usize = 160;

/// Refuses a line that the shell cannot read, with the place. Nothing of it runs.
pub(super) fn check(line: &str, fault: Option<&SyntaxFault>) -> Result<(), ToolError> {
    let Some(message) = shell_message(line) else { return Ok(()) };
    Err(ToolError::validation(format!("Shell syntax error: {}.", describe(line, &message, fault))))
}

/// What the shell has against a line; nothing if it can read it, or if there is no shell to ask.
fn shell_message(line: &str) -> Option<String> {
    let shell = SHELLS.iter().map(Path::new).find(|shell| shell.exists())?;
    let mut command = Command::new(shell);
    // Only reads: and with a clean environment no file is run before.
    command.arg("-n").env_clear().current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    if shell.ends_with("bash") && line.contains("extglob") {
        command.args(["-O", "extglob"]);
    }
    let mut reading = command.spawn().ok()?;
    // A shell that stops at an error reads no further.
    let _ = reading.stdin.take()?.write_all(line.as_bytes());
    let output = reading.wait_with_output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().next().unwrap_or_default();
    (!output.status.success()).then(|| first.to_owned())
}

fn describe(line: &str, message: &str, fault: Option<&SyntaxFault>) -> String {
    let place = |row: usize, column: usize| {
        if line.contains('\n') { format!("line {row}, column {column}") } else { format!("column {column}") }
    };
    let is_open = message.contains("unexpected EOF") || message.contains("unexpected end of file") || message.contains("nterminated");
    match (fault, token(message)) {
        (Some(SyntaxFault { unclosed: Some(mark), line, column, .. }), _) if is_open => {
            format!("unclosed {mark} at {}", place(*line, *column))
        }
        (_, Some(token)) if token != "newline" => match find(line, message, token) {
            Some((row, column)) => format!("unexpected '{token}' at {}", place(row, column)),
            None => format!("unexpected '{token}'"),
        },
        (Some(fault), _) => format!("{} at {}", clean_message(message), place(fault.line, fault.column)),
        (None, _) => clean_message(message),
    }
}

/// The token that the shell names: near unexpected token `)'.
fn token(message: &str) -> Option<&str> {
    let behind = message.split_once("unexpected token `")?.1;
    behind.rsplit_once('\'').map(|(token, _)| token)
}

/// Where the token stands, if there is one place only in the row that the shell names.
fn find(line: &str, message: &str, token: &str) -> Option<(usize, usize)> {
    let row: usize = message.split_once("line ")?.1.split(':').next()?.trim().parse().ok()?;
    let text = line.lines().nth(row.checked_sub(1)?)?;
    let mut places = text.match_indices(token);
    let (at, _) = places.next()?;
    places.next().is_none().then(|| (row, text[..at].chars().count() + 1))
}

/// The message without the name of the program that says it.
fn clean_message(message: &str) -> String {
    let text = message.rsplit_once("syntax error").map_or(message, |(_, rest)| rest).trim_matches([':', ' ']);
    let text = if text.is_empty() { "the shell cannot read it" } else { text };
    display::escape_line(&ellipsize(text, LONGEST_MESSAGE)).into_owned()
}
