//! Git folders that do not bear the name `.git`.
//!
//! A `.git` that is a link, or a file that says `gitdir: elsewhere`, puts hooks and configuration under another name,
//! and the rules on names would not see them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use haft_contract::Zone;

use super::beneath::{READ, open_beneath};
use super::git_settings::paths_run_by_git;
use super::protected::ProtectedRules;
use super::resolve::resolve;
use super::roots::Roots;

/// Pointers are one short line.
const LONGEST_POINTER: u64 = 8192;

/// Protects the Git folders that the roots point to. What cannot be resolved is of no use to Git either.
pub(super) fn protect(roots: &Roots, rules: &mut ProtectedRules) {
    for root in roots.writable() {
        let folders = folders_of(roots, rules, root.path());
        let mut run_by_git: Vec<PathBuf> = folders.iter().flat_map(|folder| paths_run_by_git(root.path(), folder)).collect();
        run_by_git.extend(run_by_repository_above(root.path()));
        for folder in folders {
            rules.protect_git(&folder);
        }
        for path in run_by_git {
            // Where it lies, and where a link at that place leads to.
            let real = resolve(roots, rules, &path).ok().filter(|resolved| resolved.place.root.zone() == Zone::Workspace);
            if let Some(real) = real.map(|resolved| resolved.path).filter(|real| *real != path && real != root.path()) {
                rules.protect_run_by_git(&real);
            }
            rules.protect_run_by_git(&path);
        }
    }
}

fn folders_of(roots: &Roots, rules: &ProtectedRules, root: &Path) -> Vec<PathBuf> {
    let real = |path: PathBuf| resolve(roots, rules, &path).ok().map(|resolved| resolved.path);
    let dot_git = root.join(".git");
    let pointed = pointer(roots, rules, &dot_git).and_then(|line| real(root.join(line.strip_prefix("gitdir:")?.trim())));
    let common = pointed.as_ref().and_then(|folder| real(folder.join(pointer(roots, rules, &folder.join("commondir"))?.trim())));
    [real(dot_git), pointed, common].into_iter().flatten().collect()
}

/// What the repository runs that a root lies in, as far as it lies in that root.
fn run_by_repository_above(root: &Path) -> Vec<PathBuf> {
    let above = root.ancestors().skip(1).find(|folder| folder.join(".git").exists());
    let found = above.map(|worktree| paths_run_by_git(worktree, &worktree.join(".git"))).unwrap_or_default();
    found.into_iter().filter(|path| path.starts_with(root) && path != root).collect()
}

/// The text of a pointer file; `None` if there is none that can be read.
fn pointer(roots: &Roots, rules: &ProtectedRules, path: &Path) -> Option<String> {
    let place = resolve(roots, rules, path).ok()?.place;
    let file = File::from(open_beneath(&place.root, &place.beneath, READ).ok()?);
    let mut text = String::new();
    if file.metadata().ok()?.is_file() {
        file.take(LONGEST_POINTER).read_to_string(&mut text).ok()?;
    }
    Some(text)
}
