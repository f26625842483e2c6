//! The state of a Git repository, read from its files: Git itself would run programs that the repository's settings name.

mod index;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

use haft_text::{display, numbers};

/// How many folders up a repository is looked for.
const MAX_DEPTH: usize = 32;
/// Most bytes of a small file of Git.
const MAX_SMALL: u64 = 4096;
/// Characters of a commit.
const SHORT_COMMIT: usize = 10;

/// Files that exist while Git waits for the user.
const OPERATIONS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge is in progress"),
    ("rebase-merge", "a rebase is in progress"),
    ("rebase-apply", "a rebase is in progress"),
    ("CHERRY_PICK_HEAD", "a cherry-pick is in progress"),
    ("REVERT_HEAD", "a revert is in progress"),
    ("BISECT_LOG", "a bisection is in progress"),
];

/// Branch and short state of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GitState {
    /// The branch; `None` on a commit without one.
    pub branch: Option<String>,
    /// The commit, where there is no branch.
    pub commit: Option<String>,
    /// What Git is in the middle of.
    pub operation: Option<&'static str>,
    /// How many files differ from the index; `None` if there are too many to look at.
    pub changed: Option<usize>,
}

/// The nearest folder upwards that has a `.git`.
pub fn repository_root(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().take(MAX_DEPTH).find(|folder| folder.join(".git").symlink_metadata().is_ok()).map(Path::to_owned)
}

impl GitState {
    /// Reads the state of the repository with this root.
    pub fn read(root: &Path) -> Option<Self> {
        let folder = git_folder(root)?;
        let head = small_file(&folder.join("HEAD"))?;
        let head = head.trim();
        let branch = head.strip_prefix("ref: refs/heads/").map(|name| display::shorten(name, 200).into_owned());
        let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        let commit = (branch.is_none() && is_commit).then(|| head[..SHORT_COMMIT].to_owned());
        if branch.is_none() && commit.is_none() {
            return None;
        }
        let operation = OPERATIONS.iter().find(|(name, _)| folder.join(name).symlink_metadata().is_ok()).map(|(_, what)| *what);
        Some(Self { branch, commit, operation, changed: index::changed_files(&folder.join("index"), root) })
    }
}

impl fmt::Display for GitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.branch, &self.commit) {
            (Some(branch), _) => write!(f, "branch {branch}")?,
            (None, Some(commit)) => write!(f, "on commit {commit}, without a branch")?,
            (None, None) => f.write_str("without commits")?,
        }
        match self.changed {
            Some(0) => f.write_str(", no changed files")?,
            Some(changed) => write!(f, ", {} not staged", numbers::count(changed, "changed file"))?,
            None => {}
        }
        self.operation.map_or(Ok(()), |operation| write!(f, ", {operation}"))
    }
}

/// The folder with Git's files: `.git` itself, or that of a worktree. A file that names another folder counts only if that folder names
/// it, too: a project must not make us read elsewhere.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let entry = root.join(".git");
    let kind = entry.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return Some(entry);
    }
    if !kind.is_file() {
        return None;
    }
    let text = small_file(&entry)?;
    let folder = root.join(text.trim().strip_prefix("gitdir: ")?);
    let back = small_file(&folder.join("gitdir"))?;
    let named = folder.join(back.trim()).canonicalize().ok()?;
    (named == entry.canonicalize().ok()?).then_some(folder)
}

/// The text of an ordinary file, not through a link.
fn small_file(path: &Path) -> Option<String> {
    let mut text = String::new();
    open_plain(path)?.take(MAX_SMALL).read_to_string(&mut text).ok()?;
    Some(text)
}

fn open_plain(path: &Path) -> Option<File> {
    if !path.symlink_metadata().ok()?.file_type().is_file() {
        return None;
    }
    OpenOptions::new().read(true).open(path).ok()
}

#[cfg(test)]
mod tests;
