//! Git folders outside of the workspace that belong to it.

use std::fs;
use std::path::Path;

/// Whether a Git folder is that of this workspace, by its own record. The pointer in the workspace does not suffice: the author of
/// its files could point it at any repository of the user.
pub(super) fn belongs_to(git: &Path, workspace: &Path) -> bool {
    is_worktree(git, workspace) || shares_worktree(git, workspace) || is_submodule(git, workspace)
}

/// The folder that a linked worktree has of its own records the path of its `.git`.
fn is_worktree(git: &Path, workspace: &Path) -> bool {
    let recorded = fs::read_to_string(git.join("gitdir")).unwrap_or_default();
    is_same(Path::new(recorded.trim()), &workspace.join(".git"))
}

/// The folder that all worktrees of a repository share.
fn shares_worktree(git: &Path, workspace: &Path) -> bool {
    let worktrees = fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten();
    worktrees.into_iter().any(|worktree| is_worktree(&worktree.path(), workspace))
}

/// The folder of a submodule names its worktree in its settings.
fn is_submodule(git: &Path, workspace: &Path) -> bool {
    let settings = fs::read_to_string(git.join("config")).unwrap_or_default();
    let mut values = settings.lines().filter_map(|line| line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('='));
    values.any(|value| is_same(&git.join(value.trim().trim_matches('"')), workspace))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.is_absolute() && one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
