//! The Git identity of the user, for commits in the sandbox. Nothing else of the user's Git settings is there: they name programs
//! and credentials.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::environment;

/// The keys that are passed on.
const KEYS: &str = r"^(user\.(name|email)|init\.defaultbranch)$";
/// Settings of the machine, which the generated file replaces.
const SYSTEM: &str = "/etc/gitconfig";

/// Writes the generated settings, with a list of what is to be ignored. Git itself is not taken from these roots.
pub(super) fn write(file: &Path, excludes: &str, roots: &[PathBuf]) -> io::Result<()> {
    replace(file, &render(&read(roots).unwrap_or_default(), excludes))
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

/// What a command does not see, and where repositories are.
pub(super) struct HiddenFiles<'a> {
    pub(super) hidden: &'a [PathBuf],
    /// Those of them that a rule names by their place.
    pub(super) by_place: &'a [PathBuf],
    pub(super) roots: &'a [PathBuf],
    /// The working trees of repositories.
    pub(super) worktrees: &'a [PathBuf],
}

impl HiddenFiles<'_> {
    /// Patterns by which Git ignores what the command does not see: `git add -A` would fail otherwise. What Git tracks is not ignored by
    /// them. The command may make a repository anywhere, so that a secret, which is hidden wherever it is, is ignored in all of them.
    pub(super) fn excludes(&self) -> String {
        let mut lines: Vec<String> = self.hidden.iter().flat_map(|path| self.patterns(path)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.concat()
    }

    fn patterns<'b>(&'b self, path: &'b Path) -> impl Iterator<Item = String> + 'b {
        let is_anywhere = !self.by_place.iter().any(|named| named == path);
        let is_inside = move |above: &&Path| is_anywhere && self.roots.iter().any(|root| above.starts_with(root));
        let above = path.ancestors().skip(1).take_while(is_inside);
        let bases = self.worktrees.iter().chain(self.roots).map(PathBuf::as_path).chain(above);
        bases.filter_map(|base| path.strip_prefix(base).ok()?.to_str().map(pattern))
    }
}

fn pattern(path: &str) -> String {
    let escape = |ch: char| if "\\*?[ ".contains(ch) { format!("\\{ch}") } else { ch.to_string() };
    format!("/{}\n", path.chars().map(escape).collect::<String>())
}

/// The settings of the user, each as its key, a newline and its value.
fn read(roots: &[PathBuf]) -> Option<Vec<(String, String)>> {
    let mut git = Command::new(environment::find_program("git", roots)?);
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
    fn hidden_files_are_ignored_in_every_repository_that_holds_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let git = |words: &[&str]| Command::new("git").args(words).current_dir(root).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        git(&["init", "-q"]);
        let odd = "deep/a [b]*c .env";
        for name in [".env", "config", "deep/config", "deep/.env", odd, "other/.env", "deep/abc .env"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        let hidden = [root.join(".env"), root.join(odd), root.join("deep/config"), "/elsewhere/other/.env".into()];
        let files = HiddenFiles { hidden: &hidden, by_place: &hidden[2..3], roots: &[root.to_owned()], worktrees: &["/x".into()] };
        let list = root.join(".git/list");
        fs::write(&list, files.excludes()).unwrap();
        let exclude = format!("core.excludesFile={}", list.display());
        let others = |folder: &str| {
            let seen = git(&["-C", folder, "-c", &exclude, "-c", "core.quotePath=false", "ls-files", "-o", "--exclude-standard"]);
            String::from_utf8(seen.stdout).unwrap()
        };
        assert_eq!(others("."), "config\ndeep/.env\ndeep/abc .env\nother/.env\n");
        // One that the command makes below.
        git(&["init", "-q", "deep"]);
        assert_eq!(others("deep"), "abc .env\nconfig\n");
    }
}
