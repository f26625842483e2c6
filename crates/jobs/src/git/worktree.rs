//! Linked worktrees: which may be added, removed or moved. What else ties them to a repository never changes.

use std::path::{Path, PathBuf};

use super::config::normalize;
use super::pointer::{lies_in, path_of};
use super::refname::is_branch_name;
use super::settle::Area;
use super::tree::Tree;
use super::upper::{Change, Now};

const LONGEST: u64 = 8192;

/// What becomes of the changes to a worktree's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Each is evaluated.
    Evaluate,
    /// It is added or removed, with the files that tie it.
    Apply,
    /// None is applied.
    Refuse(&'static str),
}

/// Evaluates the changes to `worktrees/NAME`.
pub(super) fn evaluate_worktree(area: &Area, folder: &Path, changes: &[&Change]) -> Verdict {
    let existed = area.lower.entry(folder).is_ok_and(|below| below.is_some());
    let is_removed = changes.iter().any(|change| change.path == folder && change.now == Now::DeletedFolder);
    let has_files = changes.iter().any(|change| matches!(change.now, Now::File | Now::Special));
    match (existed, is_removed) {
        (true, true) if has_files => Verdict::Refuse("a linked worktree was replaced by another one"),
        (true, true) if is_gone(area, folder) => Verdict::Apply,
        (true, true) => Verdict::Refuse("the linked worktree that it belongs to still exists, or lies outside of the workspace"),
        (true, false) => Verdict::Evaluate,
        (false, _) if is_sound(area.path, area.writable, area.upper, folder) => Verdict::Apply,
        (false, _) => Verdict::Refuse("it would tie a linked worktree to a folder outside of the workspace"),
    }
}

/// Whether the working tree is gone. A command does not see those outside of the workspace, and would take them for gone.
fn is_gone(area: &Area, folder: &Path) -> bool {
    let pointed = pointer(area.path, area.lower, folder, "gitdir");
    pointed.is_some_and(|path| lies_in(&path, area.writable) && path.symlink_metadata().is_err())
}

/// Whether the working tree was moved to another place in a writable root, as `git worktree move` does.
pub(super) fn is_moved(area: &Area, folder: &Path) -> bool {
    let now = pointer(area.path, area.upper, folder, "gitdir");
    is_gone(area, folder) && now.is_some_and(|path| is_place(&path, area.path, area.writable))
}

/// Whether a new worktree belongs to this repository, and its working tree lies in a writable root.
pub(super) fn is_sound(git_dir: &Path, writable: &[PathBuf], tree: &Tree, folder: &Path) -> bool {
    let is_named = folder.file_name().is_some_and(|name| is_branch_name(name.as_encoded_bytes()));
    let is_ours = tree.read(&folder.join("commondir"), LONGEST).is_ok_and(|text| text.trim_ascii() == b"../..");
    let pointed = pointer(git_dir, tree, folder, "gitdir");
    is_named && is_ours && pointed.is_some_and(|path| is_place(&path, git_dir, writable))
}

/// Whether the Git file of a working tree may be here.
fn is_place(path: &Path, git_dir: &Path, writable: &[PathBuf]) -> bool {
    path.ends_with(".git") && lies_in(path, writable) && !path.starts_with(git_dir)
}

fn pointer(git_dir: &Path, tree: &Tree, folder: &Path, name: &str) -> Option<PathBuf> {
    let named = path_of(&tree.read(&folder.join(name), LONGEST).ok()?)?;
    Some(normalize(&git_dir.join(folder).join(named)))
}
