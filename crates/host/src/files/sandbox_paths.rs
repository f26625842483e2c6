//! The session's file rules as the paths that a sandbox mounts, protects and hides.

mod hard_links;
mod repositories;
mod scan;

use std::path::{Path, PathBuf};

use haft_contract::Zone;

use self::scan::Scan;
use super::LocalFiles;

pub use self::scan::ScanCache;

/// The paths of a session, by what a sandbox does with them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SandboxPaths {
    /// Roots that commands may write.
    pub writable: Vec<PathBuf>,
    /// Roots that commands may only read.
    pub read_only: Vec<PathBuf>,
    /// Files and folders inside writable roots that commands may not change.
    pub protected: Vec<PathBuf>,
    /// Secrets and Haft's own folders, inside the roots, which commands may not see.
    pub masked: Vec<PathBuf>,
    /// Those of the masked and protected ones that rules know by their place, so that no folder above them may be moved.
    pub pinned: Vec<PathBuf>,
    /// Git folders: those of the repositories in writable roots, and the one outside that a root is a linked worktree of.
    pub repositories: Vec<PathBuf>,
    /// Parts of the roots that could not be searched, as sentences for the user: their secrets would be visible.
    pub uncovered: Vec<String>,
}

impl LocalFiles {
    /// The roots in which files may be written.
    pub fn writable(&self) -> Vec<PathBuf> {
        self.roots().writable().map(|root| root.path().to_owned()).collect()
    }

    /// What Git runs or trusts in the roots because its settings name it.
    pub fn run_by_git(&self) -> Vec<PathBuf> {
        self.rules.paths_run_by_git().map(Path::to_owned).collect()
    }

    /// Searches the roots for secrets, protected names and repositories. Folders that have not changed since the last search are
    /// taken from the cache.
    pub fn sandbox_paths(&self, cache: &ScanCache) -> SandboxPaths {
        let mut paths = SandboxPaths::default();
        for root in self.roots().all() {
            let is_writable = match root.zone() {
                Zone::Workspace => true,
                Zone::ReadOnlyRoot => false,
                Zone::Outside => continue,
            };
            if is_writable { &mut paths.writable } else { &mut paths.read_only }.push(root.path().to_owned());
            Scan::new(&self.sandbox_rules, root.path(), is_writable).run(cache, &mut paths);
        }
        // Before Haft's own: those are no secrets, and share files with repositories.
        hard_links::hide(&mut paths);
        self.add_own_paths(&mut paths);
        for found in [&mut paths.protected, &mut paths.masked, &mut paths.pinned, &mut paths.repositories] {
            found.sort_unstable();
            found.dedup();
        }
        paths
    }

    /// Haft's folders are hidden; its single files, such as scripts of hooks, can be read.
    fn add_own_paths(&self, paths: &mut SandboxPaths) {
        let roots: Vec<PathBuf> = paths.writable.iter().chain(&paths.read_only).cloned().collect();
        let is_beneath = |path: &Path, roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root) && path != root);
        for path in self.rules.own_paths().filter(|path| is_beneath(path, &roots)) {
            if path.is_dir() { &mut paths.masked } else { &mut paths.protected }.push(path.to_owned());
            paths.pinned.push(path.to_owned());
        }
        let run_by_git = self.rules.paths_run_by_git().filter(|path| is_beneath(path, &roots) && is_file_or_folder(path));
        paths.protected.extend(run_by_git.map(Path::to_owned));
        for git in self.rules.git_paths().filter(|path| path.is_dir()) {
            let is_inside = is_beneath(git, &paths.writable);
            if is_inside || paths.writable.iter().any(|root| repositories::belongs_to(git, root)) {
                paths.repositories.push(git.to_owned());
            }
        }
        // The folder of a linked worktree lies in the one that all worktrees share.
        let all = paths.repositories.clone();
        paths.repositories.retain(|git| !all.iter().any(|other| git != other && git.starts_with(other)));
    }
}

/// What is a link cannot be mounted: it is checked after the run.
fn is_file_or_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
}

#[cfg(test)]
mod tests;
