//! Hints for a command that fails: paths that it names and that its sandbox does not show.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use haft_contract::{Zone, ports::FileSystem};
use haft_host::LocalFiles;
use haft_shell::{Analysis, Command, Word};
use haft_text::{display, paths};

use super::line::{PRIVATE_FOLDERS, SYSTEM_FOLDERS};

/// The most hints: a command that names many paths outside has another problem.
const MOST: usize = 3;
/// Spellings of the home folder.
const HOME: &[&str] = &["~/", "$HOME/", "${HOME}/"];

/// One hint for each folder that the line names and that is not visible.
pub(super) fn find(analysis: &Analysis, base: &Path, files: &LocalFiles) -> Vec<String> {
    let home = std::env::home_dir();
    let words = analysis.commands.iter().flat_map(words);
    let paths = words.filter_map(|word| path(word, home.as_deref())).map(|path| normal(&base.join(path)));
    let mut named: Vec<PathBuf> = Vec::new();
    for path in paths.filter(|path| !is_visible(path, home.as_deref(), files)) {
        if named.len() < MOST && named.iter().all(|known| folder(known) != folder(&path)) {
            named.push(path);
        }
    }
    named.iter().map(|path| hint(path, home.as_deref())).collect()
}

/// The folder that would have to be opened.
fn folder(path: &Path) -> &Path {
    if path.extension().is_some() { path.parent().unwrap_or(path) } else { path }
}

fn words(command: &Command) -> impl Iterator<Item = &Word> {
    let targets = command.redirections.iter().filter_map(|redirection| redirection.target.as_ref());
    std::iter::once(&command.program).chain(&command.arguments).chain(targets)
}

/// The path that a word names, if it leads away: a whole one, one in the home folder, or one above.
fn path(word: &Word, home: Option<&Path>) -> Option<PathBuf> {
    let text = match word {
        Word::Literal(text) => text.as_str(),
        Word::Expanded(expanded) => expanded.text.trim_matches('"'),
    };
    let value = text.split_once('=').filter(|(name, _)| name.starts_with('-')).map_or(text, |(_, value)| value);
    if let Word::Expanded(_) = word {
        let rest = HOME.iter().find_map(|start| value.strip_prefix(start))?;
        return (!rest.contains(['$', '`', '*', '?', '[', '{', '"', '\''])).then_some(home?.join(rest));
    }
    let is_address = value.contains("://") || value.contains(char::is_whitespace);
    let leads_away = value.starts_with('/') || value.starts_with("../") || value == "..";
    (leads_away && !is_address).then(|| PathBuf::from(value))
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

/// Whether the sandbox shows it, or may have its own at that place, or it holds secrets, which no hint opens.
fn is_visible(path: &Path, home: Option<&Path>, files: &LocalFiles) -> bool {
    let is_system = SYSTEM_FOLDERS.iter().chain(PRIVATE_FOLDERS).any(|folder| path.starts_with(folder));
    let beneath = home.and_then(|home| path.strip_prefix(home).ok());
    let is_hidden = beneath.and_then(|rest| rest.iter().next()).is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let is_home = home == Some(path);
    let is_top = path.components().count() < 3;
    if is_system || is_hidden || is_home || is_top {
        return true;
    }
    files.locate(path).map_or(true, |location| location.zone() != Zone::Outside || location.no_read().is_some())
}

fn hint(path: &Path, home: Option<&Path>) -> String {
    let folder = folder(path);
    let shown = display::escape_line(&path.to_string_lossy()).into_owned();
    let start = format!("'{shown}' is not visible in the sandbox.");
    if paths::is_wide_folder(folder, home) {
        return format!("{start} Copy it into the workspace, or into a folder of its own that the user opens with workspace.roots.");
    }
    let root = spelled(folder, home);
    format!("{start} The user can open that folder and all in it: workspace.roots = [{{ path = \"{root}\", access = \"read-only\" }}]")
}

/// With `~` for the home folder, as the user would write it.
fn spelled(folder: &Path, home: Option<&Path>) -> String {
    let short = home.and_then(|home| folder.strip_prefix(home).ok()).filter(|rest| !rest.as_os_str().is_empty());
    let text = short
        .map_or_else(|| folder.to_string_lossy().into_owned(), |rest| Path::new(OsStr::new("~")).join(rest).to_string_lossy().into_owned());
    display::escape_line(&text).replace('"', "\\\"")
}
