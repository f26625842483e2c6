//! The Git identity of the user, for commits in the sandbox. Nothing else of the user's Git settings is there: they name programs
//! and credentials.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// The keys that are passed on.
const KEYS: &str = r"^(user\.(name|email)|init\.defaultbranch)$";
/// Settings of the machine, which the generated file replaces.
const SYSTEM: &str = "/etc/gitconfig";

/// Writes the generated settings, with a list of what is to be ignored.
pub(super) fn write(file: &Path, excludes: &str) -> io::Result<()> {
    replace(file, &render(&read().unwrap_or_default(), excludes))
}

/// Writes a file, unless it is like that already.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    if fs::read_to_string(file).is_ok_and(|now| now == text) {
        return Ok(());
    }
    // By a rename: a command that starts at the same time must not see half of it.
    let new = file.with_extension(format!("{}-{}", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    fs::write(&new, text)?;
    fs::rename(&new, file)
}

/// Patterns by which Git ignores what the command does not see, for the repositories with these working trees: `git add -A` would fail
/// otherwise. What Git tracks is not ignored by them.
pub(super) fn excludes<'a>(hidden: &[PathBuf], worktrees: &(impl Iterator<Item = &'a Path> + Clone)) -> String {
    let patterns = hidden.iter().flat_map(|path| worktrees.clone().filter_map(move |tree| path.strip_prefix(tree).ok()));
    let mut lines: Vec<String> = patterns.filter_map(|path| path.to_str().map(pattern)).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.concat()
}

fn pattern(path: &str) -> String {
    let escape = |ch: char| if "\\*?[ ".contains(ch) { format!("\\{ch}") } else { ch.to_string() };
    format!("/{}\n", path.chars().map(escape).collect::<String>())
}

/// The settings of the user, each as its key, a newline and its value.
fn read() -> Option<Vec<(String, String)>> {
    let mut git = Command::new("git");
    git.args(["config", "--global", "--includes", "--null", "--get-regexp", KEYS]).current_dir("/").stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let pair = |entry: &str| entry.split_once('\n').map(|(key, value)| (key.to_owned(), value.to_owned()));
    Some(text.split('\0').filter_map(pair).collect())
}

fn render(settings: &[(String, String)], excludes: &str) -> String {
    let section = |(key, value): &(String, String)| {
        let (section, name) = key.split_once('.')?;
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        Some(format!("[{section}]\n\t{name} = \"{value}\"\n"))
    };
    let own: String = settings.iter().filter_map(section).collect();
    format!("[include]\n\tpath = {SYSTEM}\n{own}[core]\n\texcludesFile = {excludes}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_settings_are_read_by_git_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gitconfig");
        let settings =
            [("user.name", "A \"quoted\" \\ name # no comment"), ("user.email", "a@example.org"), ("init.defaultbranch", "trunk")];
        fs::write(&file, render(&settings.map(|(key, value)| (key.to_owned(), value.to_owned())), "/run/x")).unwrap();
        for (key, value) in settings {
            let read = Command::new("git").args(["config", "--file"]).arg(&file).args(["--get", key]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap().trim_end(), value, "{key}");
        }
        assert!(render(&[], "/run/x").ends_with("excludesFile = /run/x\n"));
    }

    #[test]
    fn hidden_files_are_ignored_in_their_repositories_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let git = |words: &[&str]| Command::new("git").args(words).current_dir(root).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        git(&["init", "-q"]);
        let odd = "deep/a [b]*c .env";
        for name in [".env", "deep/.env", odd, "other/.env", "deep/abc .env"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        let hidden = [root.join(".env"), root.join(odd), "/elsewhere/other/.env".into()];
        let list = root.join(".git/list");
        fs::write(&list, excludes(&hidden, &[root, Path::new("/x")].into_iter())).unwrap();
        let exclude = format!("core.excludesFile={}", list.display());
        let seen = git(&["-c", &exclude, "-c", "core.quotePath=false", "ls-files", "-o", "--exclude-standard"]);
        assert_eq!(String::from_utf8(seen.stdout).unwrap(), "deep/.env\ndeep/abc .env\nother/.env\n");
    }
}
