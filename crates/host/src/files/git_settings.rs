//! Files of a workspace that Git runs or trusts because the user's settings name them: a folder of hooks, an included file, the
//! script of a filter. The author of one of them decides what the user's next `git status` runs.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A larger file of settings is not read.
const MAX_BYTES: u64 = 1 << 20;
/// How deep files include each other.
const MAX_INCLUDES: usize = 5;
/// Programs that run the file that they are given.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "env", "python", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "exec"];

/// What Git does with the value of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingUse {
    /// It runs what is in this folder.
    Folder,
    /// It reads this file as settings.
    Include,
    /// It runs this command in the top folder of the working tree.
    Command,
}

/// The paths in `worktree` that Git runs or trusts by the settings in `git_folder` and by those of the user, whether they exist or not.
pub fn paths_run_by_git(worktree: &Path, git_folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let own = [git_folder.join("config"), git_folder.join("config.worktree")];
    for file in own.into_iter().chain(user_settings()) {
        collect(&file, worktree, MAX_INCLUDES, &mut found);
    }
    found.retain(|path| path.starts_with(worktree) && path != worktree && !path.starts_with(worktree.join(".git")));
    found.sort_unstable();
    found.dedup();
    found
}

/// The files in which the user's own settings are.
fn user_settings() -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(".config")));
    let named = std::env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let usual = || [xdg.map(|xdg| xdg.join("git/config")), home.map(|home| home.join(".gitconfig"))].into_iter().flatten().collect();
    named.map_or_else(usual, |named| vec![named])
}

fn collect(file: &Path, worktree: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let is_small = fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_BYTES);
    let Some(text) = is_small.then(|| fs::read(file).ok()).flatten() else { return };
    for (section, name, value) in entries(&String::from_utf8_lossy(&text)) {
        match setting_use(&section, &name) {
            Some(SettingUse::Folder) => found.extend(folder_of_hooks(&absolute(&value, worktree))),
            Some(SettingUse::Include) => {
                let included = absolute(&value, file.parent().unwrap_or(worktree));
                if depth > 0 && !found.contains(&included) {
                    found.push(included.clone());
                    collect(&included, worktree, depth - 1, found);
                }
            }
            Some(SettingUse::Command) => found.extend(scripts(&value, worktree)),
            None => {}
        }
    }
}

fn setting_use(section: &str, name: &str) -> Option<SettingUse> {
    match (section, name) {
        ("core", "hookspath") | ("init", "templatedir") => Some(SettingUse::Folder),
        ("include" | "includeif", "path") => Some(SettingUse::Include),
        ("core", "fsmonitor" | "sshcommand" | "editor" | "pager" | "askpass" | "gitproxy" | "alternaterefscommand")
        | ("filter", "clean" | "smudge" | "process")
        | ("diff", "external" | "command" | "textconv")
        | ("merge", "driver")
        | ("gpg", "program")
        | ("credential", "helper")
        | ("sequence", "editor")
        | ("interactive", "difffilter")
        | ("hook" | "tar", "command")
        | ("uploadpack", "packobjectshook")
        | ("difftool" | "mergetool", "cmd" | "path")
        | ("trailer", "command" | "cmd")
        | ("remote", "uploadpack" | "receivepack")
        | ("submodule", "update")
        | ("gc", "recentobjectshook")
        | ("pager", _) => Some(SettingUse::Command),
        _ => None,
    }
}

/// A folder of hooks. Those in a folder named `_` run the hooks in the folder above it.
fn folder_of_hooks(folder: &Path) -> Option<PathBuf> {
    if folder.ends_with("_") { folder.parent().map(Path::to_owned) } else { Some(folder.to_owned()) }
}

/// The files of the working tree that a command runs: words with a slash, and what an interpreter is given.
fn scripts(command: &str, worktree: &Path) -> Vec<PathBuf> {
    let words: Vec<&str> =
        command.trim_start_matches('!').split([' ', '\t', ';', '|', '&', '(', ')']).filter(|word| !word.is_empty()).collect();
    let mut is_script = false;
    let mut found = Vec::new();
    for word in words {
        let word = word.trim_matches(['"', '\'']);
        let name = word.rsplit('/').next().unwrap_or_default();
        if word.contains('/') || (is_script && !word.starts_with('-')) {
            found.push(absolute(word, worktree));
        }
        is_script = INTERPRETERS.contains(&name) || (is_script && word.starts_with('-'));
    }
    // A folder in a command is an argument, not a program.
    found.retain(|path| !path.is_dir());
    found
}

/// A path of a setting, with `~` and relative to a folder, without `.` and `..`.
fn absolute(value: &str, folder: &Path) -> PathBuf {
    let home = value.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
    let joined = home.unwrap_or_else(|| folder.join(value));
    let mut path = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}

/// The entries of a file of settings: section and name in lower case, without subsection, and the value.
fn entries(text: &str) -> Vec<(String, String, String)> {
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.replace("\\\r\n", "").replace("\\\n", "").lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let end = end_of_header(header);
            section = header[..end].split(['"', ' ', '\t', '.']).next().unwrap_or_default().to_lowercase();
            // An entry may follow on the same line.
            line = header[end..].trim_start_matches(']').trim();
        }
        if let Some((name, value)) = line.split_once('=').filter(|(name, _)| !name.starts_with(['#', ';'])) {
            found.push((section.clone(), name.trim().to_lowercase(), unquoted(value)));
        }
    }
    found
}

/// The bracket that ends a header: one in quotes does not.
fn end_of_header(header: &str) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, ch) in header.char_indices() {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return at,
            _ => {}
        }
    }
    header.len()
}

/// A value without its quotes, escapes and comment.
fn unquoted(value: &str) -> String {
    let (mut text, mut is_quoted, mut characters) = (String::new(), false, value.trim().chars());
    while let Some(ch) = characters.next() {
        match ch {
            '"' => is_quoted = !is_quoted,
            '\\' => text.extend(characters.next()),
            '#' | ';' if !is_quoted => break,
            ch => text.push(ch),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_settings_of_git_run_are_found_in_every_form() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap();
        let git = work.join(".git");
        fs::create_dir_all(&git).unwrap();
        fs::create_dir_all(work.join("src")).unwrap();
        let whole = format!("[core]\nhooksPath = {}/x\n", work.display());
        for (settings, expected) in [
            ("[core]\n\thooksPath = .husky\n", &[".husky"][..]),
            ("[core]\n\thooksPath = .husky/_\n", &[".husky"]),
            ("[core] hooksPath=\"my hooks\" # ours\n", &["my hooks"]),
            ("[CORE]\nHOOKSPATH = ./a/../b\n", &["b"]),
            (&whole, &["x"]),
            ("[core]\nhooksPath = .\n", &[]),
            ("[core]\nhooksPath = /elsewhere\n", &[]),
            ("[core]\nhooksPath = .git/hooks\n", &[]),
            ("[core]\n# hooksPath = x\n; fsmonitor = ./x\n", &[]),
            ("[filter \"x\"]\n clean = ./tools/clean %f\n smudge = \"sh -e tools/smudge\"\n", &["tools/clean", "tools/smudge"]),
            ("[filter \"lfs\"]\n clean = git-lfs clean -- %f\n", &[]),
            ("[filter \"x\"]\n clean = python3 clean.py src/\n", &["clean.py"]),
            ("[core]\n fsmonitor = tools/\\\nwatch\n", &["tools/watch"]),
            ("[core]\n fsmonitor = true\n", &[]),
            ("[remote \"o\"]\n uploadpack = ./up\n[submodule \"s\"]\n update = !tools/s\n path = a/b\n", &["tools/s", "up"]),
            ("[tar \"x\"]\n command = sh -c tools/pack\n[gc]\n recentObjectsHook = ./recent\n", &["recent", "tools/pack"]),
            ("[includeIf \"gitdir:/a]/\"] path = ../settings\n", &["settings"]),
            ("[alias]\n st = !./tools/st\n[remote \"o\"]\n url = ./other\n", &[]),
        ] {
            fs::write(git.join("config"), settings).unwrap();
            let expected: Vec<PathBuf> = expected.iter().map(|path| work.join(path)).collect();
            assert_eq!(paths_run_by_git(&work, &git), expected, "{settings}");
        }
    }

    #[test]
    fn settings_in_included_files_count_and_circles_end() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap();
        fs::create_dir_all(work.join(".git")).unwrap();
        fs::write(work.join(".git/config"), "[include]\npath = ../one\n").unwrap();
        fs::write(work.join("one"), "[include]\npath = two\n").unwrap();
        fs::write(work.join("two"), "[include]\npath = one\n[diff]\nexternal = ./show\n").unwrap();
        assert_eq!(paths_run_by_git(&work, &work.join(".git")), ["one", "show", "two"].map(|name| work.join(name)));
    }
}
