//! Completion: slash commands, their arguments, and files after `@`.

use std::path::PathBuf;

use haft_text::display;
use haft_text::truncate::ellipsize_to_width;
use reedline::{Completer, CompletionResult, Hinter, History, Span, Suggestion};
use unicode_width::UnicodeWidthStr;

use super::backend::CommandChoice;
use super::mention;
use super::slash::COMMANDS;
use crate::output::live_columns;

/// Rows of the menu.
const MENU_ROWS: usize = 8;
const LEVELS: [&str; 3] = ["read-only", "workspace-write", "full-access"];

/// Names that can be completed.
#[derive(Debug, Clone)]
pub(super) struct CompletionNames {
    pub(super) workspace: PathBuf,
    pub(super) tools: Vec<String>,
    pub(super) agents: Vec<String>,
    /// Commands of the user.
    pub(super) commands: Vec<CommandChoice>,
}

/// Completes the word before the cursor.
#[derive(Debug)]
pub(super) struct ChatCompleter(pub(super) CompletionNames);

impl Completer for ChatCompleter {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        CompletionResult::fresh(self.suggestions(line, position))
    }
}

impl ChatCompleter {
    fn suggestions(&self, line: &str, position: usize) -> Vec<Suggestion> {
        let before = line.get(..position).unwrap_or(line);
        if let Some((start, path)) = mention::find_mention(line, position) {
            let files = mention::matching_files(&self.0.workspace, path).into_iter();
            return files.map(|path| suggestion(format!("@{path}"), None, start, position)).collect();
        }
        match before.strip_prefix('/').map(|rest| rest.split_once(' ')) {
            Some(None) => {
                let known = matching_commands(&before[1..], &self.0.commands).into_iter();
                known.map(|(name, about)| suggestion(format!("/{name}"), Some(about), 0, position)).collect()
            }
            Some(Some((command, word))) if !word.contains(' ') => self.words(command, word, position),
            _ => Vec::new(),
        }
    }

    /// Arguments of a command that takes one of a few names.
    fn words(&self, command: &str, word: &str, position: usize) -> Vec<Suggestion> {
        let names: Vec<&str> = match command {
            "access" => LEVELS.to_vec(),
            "agent" => self.0.agents.iter().map(String::as_str).collect(),
            "tools" | "explain" => self.0.tools.iter().map(String::as_str).collect(),
            "details" => vec!["all"],
            _ => Vec::new(),
        };
        let start = position - word.len();
        let matching = names.into_iter().filter(|name| name.starts_with(word));
        matching.map(|name| suggestion(name.to_owned(), None, start, position)).collect()
    }
}

/// Commands with this prefix first, then those with these characters in order.
fn matching_commands<'a>(typed: &str, users: &'a [CommandChoice]) -> Vec<(&'a str, &'a str)> {
    let typed = typed.to_lowercase();
    let known = COMMANDS.iter().map(|known| (known.name, known.about));
    let all = known.chain(users.iter().map(|known| (known.name.as_str(), known.about.as_str())));
    let (mut first, rest): (Vec<_>, Vec<_>) = all.partition(|(name, _)| name.starts_with(&typed));
    first.extend(rest.into_iter().filter(|(name, _)| mention::has_chars_in_order(name, &typed)));
    first
}

fn suggestion(value: String, about: Option<&str>, start: usize, end: usize) -> Suggestion {
    let description = about.map(str::to_owned);
    Suggestion { value, description, span: Span::new(start, end), append_whitespace: true, ..Suggestion::default() }
}

/// Shows the rest of the command that is being typed, and below it the commands that match.
#[derive(Debug, Default)]
pub(super) struct CommandHint {
    rest: String,
    /// Commands of the user.
    users: Vec<CommandChoice>,
}

impl CommandHint {
    pub(super) fn new(users: Vec<CommandChoice>) -> Self {
        Self { rest: String::new(), users }
    }
}

impl Hinter for CommandHint {
    fn handle(&mut self, line: &str, position: usize, _: &dyn History, coloured: bool, _: &str) -> String {
        self.rest.clear();
        if position != line.len() {
            return String::new();
        }
        let about = match hint(line) {
            Some((rest, about)) => {
                self.rest = rest;
                about
            }
            None => String::new(),
        };
        let columns = live_columns().unwrap_or(80);
        // Beside the prompt and what is typed.
        let inline = ellipsize_to_width(&format!("{}{about}", self.rest), columns.saturating_sub(line.width() + 3));
        let lines = std::iter::once(inline).chain(menu(line, &self.users, columns));
        let styled = |line: String| if coloured && !line.is_empty() { format!("\x1b[2m{line}\x1b[0m") } else { line };
        lines.map(styled).collect::<Vec<_>>().join("\n")
    }
    fn complete_hint(&self) -> String {
        self.rest.clone()
    }
    fn next_hint_token(&self) -> String {
        self.rest.clone()
    }
}

/// The rows of the menu below a line that begins with `/`: the commands that match, with what they do.
pub(super) fn menu(line: &str, users: &[CommandChoice], columns: usize) -> Vec<String> {
    let Some(typed) = line.strip_prefix('/').filter(|typed| !typed.contains([' ', '/'])) else { return Vec::new() };
    let commands = matching_commands(typed, users);
    let widest = commands.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let row = |(name, about): &(&str, &str)| {
        let text = format!("  /{name}{}  {about}", " ".repeat(widest.saturating_sub(name.width())));
        ellipsize_to_width(&display::escape_line(&text), columns.saturating_sub(1))
    };
    let mut rows: Vec<String> = commands.iter().take(MENU_ROWS).map(row).collect();
    if commands.len() > MENU_ROWS {
        rows.push(ellipsize_to_width(&format!("  {} more; Tab chooses", commands.len() - MENU_ROWS), columns.saturating_sub(1)));
    }
    rows
}

/// The rest of a command, and its description.
fn hint(line: &str) -> Option<(String, String)> {
    let typed = line.strip_prefix('/')?;
    if typed.is_empty() {
        return Some((String::new(), "  Tab chooses".into()));
    }
    let known = COMMANDS.iter().find(|known| known.name.starts_with(typed))?;
    let takes = if known.takes.is_empty() { String::new() } else { format!(" {}", known.takes) };
    Some((known.name[typed.len()..].to_owned(), format!("{takes}  {}", known.about)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_offers_commands_arguments_and_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["one.txt", "other.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let (tools, agents) = (vec!["read_file".into(), "write_file".into()], vec!["main".into(), "coder".into()]);
        let completion = ChatCompleter(CompletionNames { workspace: folder.path().into(), tools, agents, commands: Vec::new() });
        for (line, expected) in [
            ("/co", &["/cost", "/context", "/compact"][..]),
            ("/cpt", &["/compact"]),
            ("/access w", &["workspace-write"]),
            ("/agent ", &["main", "coder"]),
            ("/explain re", &["read_file"]),
            ("/explain read_file {", &[]),
            ("/cost ", &[]),
            ("see @o", &["@one.txt", "@other.txt"]),
            ("see /co", &[]),
            ("hello", &[]),
        ] {
            let offered = completion.suggestions(line, line.len());
            assert_eq!(offered.iter().map(|one| one.value.as_str()).collect::<Vec<_>>(), expected, "{line}");
            for one in offered {
                let whole = format!("{}{}", &line[..one.span.start], one.value);
                assert_eq!((one.span.end, whole.starts_with(&line[..one.span.start])), (line.len(), true), "{line}");
            }
        }
        assert_eq!(completion.suggestions("/", 1).len(), COMMANDS.len());
    }

    #[test]
    fn hint_completes_the_command_that_is_typed() {
        for (line, rest, about) in [
            ("/he", "lp", "  list these commands"),
            ("/help", "", "  list these commands"),
            ("/access", "", " [LEVEL]  show or change the access level; as --access"),
            ("/", "", "  Tab chooses"),
        ] {
            assert_eq!(hint(line), Some((rest.to_owned(), about.to_owned())), "{line}");
        }
        assert_eq!((hint("/xyz"), hint("hello"), hint("/help x")), (None, None, None));
    }
}
