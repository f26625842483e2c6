//! The session's file rules as the paths that a sandbox mounts, protects and hides.

mod folder_reader;
mod hard_links;
mod known_secrets;
mod repositories;
mod scan;
mod watched_folders;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_contract::{FileIdentity, Zone};

use self::folder_reader::FolderReader;
use self::scan::{Scan, SearchDepth, SearchMemory};
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
    /// What was at the roots, and at the masked and protected paths and repositories, links apart: all at one moment.
    pub identities: BTreeMap<PathBuf, FileIdentity>,
    /// Parts of the roots that could not be searched, as sentences for the user: their secrets would be visible.
    pub uncovered: Vec<String>,
    /// Folders that something moved or changed as long as they were searched, so that secrets may have been missed.
    pub moving: Vec<PathBuf>,
}

impl SandboxPaths {
    fn add_masked(&mut self, path: PathBuf, identity: Option<FileIdentity>) {
        self.identities.extend(identity.map(|identity| (path.clone(), identity)));
        self.masked.push(path);
    }

    /// What is hidden, by what it is.
    fn found_secrets(&self) -> BTreeMap<FileIdentity, PathBuf> {
        self.masked.iter().filter_map(|path| Some((*self.identities.get(path)?, path.clone()))).collect()
    }

    /// A path where something else, or nothing, is now.
    pub fn moved(&self) -> Option<PathBuf> {
        let is_elsewhere = |(path, identity): &(&PathBuf, &FileIdentity)| identity_of(path).is_none_or(|now| now != **identity);
        self.identities.iter().find(is_elsewhere).map(|(path, _)| path.clone())
    }
}

/// What is at a path, if it is no link.
fn identity_of(path: &Path) -> Option<FileIdentity> {
    path.symlink_metadata().ok().filter(|metadata| !metadata.is_symlink()).map(|metadata| FileIdentity::from_metadata(&metadata))
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

    /// Haft's own files in the roots that may be written, such as scripts of hooks, also where there is none yet; not its folders, which
    /// are hidden.
    pub fn own_files(&self) -> Vec<PathBuf> {
        let roots = self.writable();
        let is_beneath = |path: &&Path| roots.iter().any(|root| path.starts_with(root) && path != root);
        self.rules.own_paths().filter(is_beneath).filter(|path| !path.is_dir()).map(Path::to_owned).collect()
    }

    /// Searches the roots for secrets, protected names and repositories. Folders that have not changed since the last search are
    /// taken from the cache.
    pub fn sandbox_paths(&self, cache: &ScanCache) -> SandboxPaths {
        let mut paths = self.search_roots(&mut cache.lock());
        // Before Haft's own: those are no secrets, and share files with repositories.
        hard_links::hide(&mut paths);
        self.add_own_paths(&mut paths);
        for found in [&mut paths.protected, &mut paths.masked, &mut paths.pinned, &mut paths.repositories] {
            found.sort_unstable();
            found.dedup();
        }
        paths
    }

    /// Goes through the roots until all that was found was there at one moment.
    fn search_roots(&self, memory: &mut SearchMemory) -> SandboxPaths {
        memory.secrets.refresh();
        let SearchMemory {
            folders,
            secrets,
            #[cfg(test)]
            before_read,
        } = memory;
        let mut reader = FolderReader::new(folders);
        #[cfg(test)]
        {
            reader.before_read = before_read.as_mut().map(|hook| &mut *hook.0 as &mut dyn FnMut(&Path));
        }
        let mut depth = SearchDepth::Usual;
        loop {
            let (mut paths, roots) = self.present_roots();
            let scans: Vec<Scan<'_>> =
                roots.iter().map(|root| Scan::new(&self.sandbox_rules, root, paths.writable.contains(root))).collect();
            for scan in &scans {
                scan.pass(&mut reader, secrets, depth, &mut paths);
            }
            let found = paths.found_secrets();
            let ended = reader.end_pass(&|entry| scans.iter().any(|scan| scan.matters(entry)));
            if depth == SearchDepth::Usual && secrets.are_missing_in(&found, &roots) {
                depth = SearchDepth::Everywhere;
                continue;
            }
            match ended {
                Ok(false) => continue,
                Ok(true) if paths.uncovered.is_empty() => secrets.update(&found, &roots),
                Ok(true) => {}
                Err(moving) => paths.moving.push(moving),
            }
            return paths;
        }
    }

    /// The roots that are there, and what they are; then all of them, the one that changed last first: it may have to be read.
    fn present_roots(&self) -> (SandboxPaths, Vec<PathBuf>) {
        let (mut paths, mut changed) = (SandboxPaths::default(), Vec::new());
        for root in self.roots().all() {
            let roots = match root.zone() {
                Zone::Workspace => &mut paths.writable,
                Zone::ReadOnlyRoot => &mut paths.read_only,
                Zone::Outside => continue,
            };
            let Ok(metadata) = root.path().symlink_metadata() else { continue };
            roots.push(root.path().to_owned());
            paths.identities.insert(root.path().to_owned(), FileIdentity::from_metadata(&metadata));
            changed.push(((metadata.ctime(), metadata.ctime_nsec()), root.path().to_owned()));
        }
        changed.sort_by(|one, other| other.cmp(one));
        (paths, changed.into_iter().map(|(_, root)| root).collect())
    }

    /// Haft's folders are hidden; its single files, such as scripts of hooks, can be read. Nothing is mounted where there is none yet: what
    /// a command makes there is found afterwards.
    fn add_own_paths(&self, paths: &mut SandboxPaths) {
        let roots: Vec<PathBuf> = paths.writable.iter().chain(&paths.read_only).cloned().collect();
        let is_beneath = |path: &Path, roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root) && path != root);
        let is_there = |path: &&Path| path.symlink_metadata().is_ok();
        for path in self.rules.own_paths().filter(|path| is_beneath(path, &roots)).filter(is_there) {
            if path.is_dir() { &mut paths.masked } else { &mut paths.protected }.push(path.to_owned());
            paths.identities.extend(identity_of(path).map(|identity| (path.to_owned(), identity)));
            paths.pinned.push(path.to_owned());
        }
        let run_by_git = self.rules.paths_run_by_git().filter(|path| is_beneath(path, &roots) && is_file_or_folder(path));
        let run_by_git: Vec<PathBuf> = run_by_git.map(Path::to_owned).collect();
        paths.identities.extend(run_by_git.iter().filter_map(|path| Some((path.clone(), identity_of(path)?))));
        paths.protected.extend(run_by_git);
        for git in self.rules.git_paths().filter(|path| path.is_dir()) {
            let is_inside = is_beneath(git, &paths.writable);
            if is_inside || paths.writable.iter().any(|root| repositories::belongs_to(git, root)) {
                paths.repositories.push(git.to_owned());
                paths.identities.extend(identity_of(git).map(|identity| (git.to_owned(), identity)));
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
