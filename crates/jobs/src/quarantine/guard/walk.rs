//! The walk through the writable roots. Names are compared first; only those that could be protected are looked at.

use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::ports::FileSystem;
use haft_host::{LocalFiles, may_be_protected, paths_run_by_git};

use super::folders::{FolderCache, ListedFolder, SEARCH, is_git};
use super::{Findings, Guard};
use crate::changes::change_time;
use crate::git::{Tree, is_harmless_list};
use crate::own_data::OwnData;

/// Part of what is checked out, so that Git must be able to replace it: its content is checked.
const SUBMODULES: &str = ".gitmodules";
/// Folders that are looked at; beyond them a walk is not complete.
const MAX_FOLDERS: usize = 1_000_000;
/// The same while a command runs: the walk is made every second.
const MAX_FOLDERS_WATCHED: usize = 200_000;
/// Names in a folder that take as long as a folder.
const NAMES_PER_FOLDER: usize = 32;
/// Files that are looked at in one place that Git runs.
const MAX_RUN_BY_GIT: usize = 1_000;
/// Generated folders: packages bring protected names, which nothing acts on there. Repositories are looked for all the same.
const GENERATED: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__", "site-packages"];

/// What of a workspace must be known before a run.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    /// Protected files and folders, and the `config` of bare repositories: for [`Guard::new`].
    pub(crate) protected: Vec<PathBuf>,
    /// Every `.git`.
    pub(crate) git: Vec<PathBuf>,
    /// Every repository without a working tree.
    pub(crate) bare: Vec<PathBuf>,
    /// What Git runs or trusts because the settings of a repository name it, and Haft's own files: for [`Guard::with_run_by_git`].
    pub(crate) run_by_git: Vec<PathBuf>,
    /// Whether everything was looked at.
    pub(crate) is_complete: bool,
}

/// How far a walk goes after a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkExtent {
    /// The command still runs, and is looked at again.
    Running,
    /// The command has ended: all that it may have made is looked at.
    Ended,
}

/// Looks through the writable roots before a run, not through the data of this program.
pub(crate) fn find_existing(files: &LocalFiles, cache: &FolderCache, data: &Path) -> Existing {
    let mut existing = Existing::default();
    existing.is_complete = walk(files, cache, data, Walk { most: MAX_FOLDERS, run: None }, |folder| {
        if folder.is_private {
            return;
        }
        if folder.is_bare {
            existing.protected.push(folder.path.join("config"));
            existing.protected.extend(hooks_of(folder.path));
            existing.bare.push(folder.path.to_owned());
        }
        for (name, kind) in folder.entries {
            let path = folder.path.join(name);
            if is_git(name) {
                if kind.is_dir() {
                    existing.protected.extend(hooks_of(&path));
                } else {
                    existing.protected.push(path.clone());
                }
                existing.git.push(path);
            } else if !folder.is_generated && may_be_protected(name) && reason(files, &path).is_some() {
                existing.protected.push(path);
            }
        }
    });
    existing.run_by_git = files.run_by_git();
    existing.run_by_git.extend(files.own_files());
    let nested = existing.git.iter().filter(|git| git.is_dir()).filter_map(|git| Some((git, git.parent()?)));
    existing.run_by_git.extend(nested.flat_map(|(git, worktree)| paths_run_by_git(worktree, git)));
    existing.run_by_git.sort_unstable();
    existing.run_by_git.dedup();
    existing.protected.extend(existing.run_by_git.iter().flat_map(|path| files_at(path)));
    existing
}

/// The hooks of a repository, without the examples.
fn hooks_of(git: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    files_at(&git.join("hooks")).into_iter().filter(|path| path.extension().is_none_or(|extension| extension != "sample"))
}

/// A file, or the files in a folder; with those below it, as far as folders of hooks are deep.
fn files_at(path: &Path) -> Vec<PathBuf> {
    let (mut left, mut found) = (vec![path.to_owned()], Vec::new());
    while let Some(path) = left.pop().filter(|_| found.len() + left.len() < MAX_RUN_BY_GIT) {
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            left.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if fs::symlink_metadata(&path).is_ok() {
            found.push(path);
        }
    }
    found
}

/// What is new or changed of what Git or Haft runs by its settings. A link above it could lead to other files.
fn find_new_run_by_settings(files: &LocalFiles, guard: &Guard, roots: &[PathBuf]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in &guard.run_by_git {
        let is_inside = |above: &Path| roots.iter().any(|root| above.starts_with(root) && above != root);
        // The rules of the session do not know the settings of nested repositories.
        let why = reason(files, path).unwrap_or_else(|| "the settings of Git name it, so that Git runs or trusts it".to_owned());
        let links = path.ancestors().filter(|above| is_inside(above) && above.is_symlink() && guard.is_new(above));
        match links.last() {
            Some(link) => found.push((link.to_owned(), why)),
            None => found.extend(files_at(path).into_iter().filter(|file| guard.is_new(file)).map(|file| (file, why.clone()))),
        }
    }
    found
}

/// Looks for what is new or changed since a run began.
pub(super) fn find_new(files: &LocalFiles, guard: &Guard, data: &Path, extent: WalkExtent) -> Findings {
    let mut findings = Findings::default();
    let most = match extent {
        WalkExtent::Running => MAX_FOLDERS_WATCHED,
        // It took longer to make them.
        WalkExtent::Ended if guard.knows_all => usize::MAX,
        WalkExtent::Ended => MAX_FOLDERS,
    };
    findings.is_complete = walk(files, &guard.folders, data, Walk { most, run: Some((guard.started, extent)) }, |folder| {
        if folder.is_bare && !guard.is_known(folder.path) {
            findings.repositories.push(folder.path.to_owned());
        }
        let has_new_git = folder.entries.iter().any(|(name, _)| is_git(name) && !guard.is_known(&folder.path.join(name)));
        for (name, kind) in folder.entries {
            let path = folder.path.join(name);
            if is_git(name) {
                if !guard.is_known(&path) {
                    match guard.snapshot.files.get(&path).filter(|_| guard.is_new(&path)).and_then(|_| reason(files, &path)) {
                        Some(why) => findings.protected.push((path, why)),
                        None => findings.repositories.push(path),
                    }
                }
            } else if folder.is_private {
                // A home of commands: only repositories matter, to which Git could be led from the workspace.
            } else if kind.is_symlink() && guard.is_new(&path) && leads_into(&path, data) {
                findings.protected.push((path, "it leads into Haft's data, parts of which commands write".to_owned()));
            } else if !folder.is_generated && may_be_protected(name) && guard.is_new(&path) {
                // The list of submodules of a new clone is as harmless as the rest of the clone.
                let is_free = name == SUBMODULES && (has_new_git || is_harmless_list(&path, data));
                findings.protected.extend(reason(files, &path).filter(|_| !is_free).map(|why| (path, why)));
            }
        }
    });
    findings.protected.extend(find_new_run_by_settings(files, guard, &files.writable()));
    // What is in an entry goes with it.
    findings.protected.sort_unstable();
    findings.protected.dedup_by(|(inner, _), (outer, _)| inner.starts_with(outer));
    findings.repositories.retain(|path| !findings.protected.iter().any(|(outer, _)| path.starts_with(outer)));
    // With the folder above it, a file may go.
    let is_gone = |path: &Path| {
        let parent = path.parent().and_then(|parent| fs::symlink_metadata(parent).ok());
        fs::symlink_metadata(path).is_err() && parent.is_some_and(|parent| parent.is_dir())
    };
    let gone = guard.snapshot.files.iter().filter(|(path, kept)| kept.bytes.is_some() && is_gone(path) && !guard.is_removed_by_user(path));
    // Git removes the list of submodules with the last of them.
    let gone = gone.filter(|(path, _)| !path.ends_with(SUBMODULES));
    let gone = gone.filter_map(|(path, _)| reason(files, path).map(|why| (path.clone(), why)));
    findings.deleted.extend(gone);
    findings
}

impl Guard {
    /// Whether a repository had an overlay, or is as it was.
    fn is_known(&self, path: &Path) -> bool {
        let Ok(metadata) = fs::symlink_metadata(path) else { return true };
        self.known.contains(&(metadata.dev(), metadata.ino())) || (!metadata.is_dir() && change_time(&metadata) < self.started)
    }

    /// Whether an entry was neither here nor protected elsewhere, and a folder above it changed: an earlier command may have made it
    /// under another name, and a rename leaves the times of what is in the folder.
    fn came_with_folder(&self, path: &Path, metadata: &Metadata) -> bool {
        let is_changed = |above: &Path| fs::symlink_metadata(above).is_ok_and(|metadata| change_time(&metadata) >= self.started);
        let is_known = self.snapshot.files.contains_key(path) || self.snapshot.has_version(metadata);
        !is_known && path.ancestors().skip(1).any(is_changed)
    }

    fn is_new(&self, path: &Path) -> bool {
        let is_later = |metadata: &Metadata| {
            let is_kept = self.snapshot.has(path, metadata) || self.accepted().has(path, metadata);
            let is_changed = change_time(metadata) >= self.started || self.came_with_folder(path, metadata);
            is_changed && !is_kept && !self.is_held_by_mount(path, metadata)
        };
        fs::symlink_metadata(path).is_ok_and(|metadata| is_later(&metadata))
    }
}

/// A folder on the walk.
struct Folder<'a> {
    path: &'a Path,
    entries: &'a [(OsString, FileType)],
    /// Whether it is a repository without a working tree.
    is_bare: bool,
    /// Whether it lies in a generated folder.
    is_generated: bool,
    /// Whether it is one of the private folders of commands, in the data of this program.
    is_private: bool,
}

/// How a walk is made.
#[derive(Debug, Clone, Copy)]
struct Walk {
    /// How many folders are looked at.
    most: usize,
    /// When the command began, which may have closed folders, and whether it has ended.
    run: Option<(SystemTime, WalkExtent)>,
}

impl Walk {
    /// The names in a folder. One that the command has closed is opened first: a user who opens it later would find what is in it.
    fn list(self, cache: &FolderCache, path: &Path, roots: &[PathBuf]) -> Option<Arc<ListedFolder>> {
        // Without a right to use what is in it there may be names, and no more. Root needs no right.
        let is_open = |listed: &ListedFolder| listed.is_searchable || path.join(".").symlink_metadata().is_ok();
        let listed = cache.list(path);
        if listed.as_deref().is_some_and(is_open) || self.open(path, roots).is_none() {
            return listed;
        }
        cache.list(path)
    }

    /// Gives the owner rights to a folder that changed meanwhile; `None` if that was not so, or does not help.
    fn open(self, path: &Path, roots: &[PathBuf]) -> Option<()> {
        let (since, extent) = self.run?;
        let folder = Tree::open_in(path, roots).ok()?;
        let metadata = folder.metadata().ok()?;
        // Nobody uses what is in it now, and the command may have closed it to see just that.
        let can_wait = extent == WalkExtent::Running && metadata.mode() & SEARCH == 0;
        (!can_wait && change_time(&metadata) >= since && folder.open_to_owner().ok()?).then_some(())
    }
}

/// Visits the folders of the writable roots, not those of Git, and follows no link. Of a data folder in a root it visits what commands
/// write: their homes and temporary folders. Whether all were visited.
fn walk(files: &LocalFiles, cache: &FolderCache, data: &Path, how: Walk, mut visit: impl FnMut(&Folder)) -> bool {
    let roots = files.writable();
    let mut folders: Vec<_> = roots.iter().map(|root| (root.clone(), false, false)).collect();
    let data = OwnData::new(data);
    let mut seen = 0;
    while let Some((path, is_generated, is_private)) = folders.pop() {
        let Some(listed) = how.list(cache, &path, &roots) else { continue };
        let ListedFolder { count, entries, is_bare, .. } = &*listed;
        seen += 1 + count / NAMES_PER_FOLDER;
        if seen > how.most {
            return false;
        }
        visit(&Folder { path: &path, entries, is_bare: *is_bare, is_generated, is_private });
        if *is_bare {
            continue;
        }
        for (name, _) in entries.iter().filter(|(name, kind)| kind.is_dir() && !is_git(name)) {
            let inner = path.join(name);
            if inner == data.folder() {
                folders.extend(data.written_by_commands().map(|folder| (folder, true, true)));
            } else {
                folders.push((inner, is_generated || GENERATED.iter().any(|generated| name == generated), is_private));
            }
        }
    }
    true
}

/// Why a path is protected.
fn reason(files: &LocalFiles, path: &Path) -> Option<String> {
    // A path that no tool may name, such as one with control characters, was not made by an honest program.
    let Ok(location) = files.locate_entry(path) else { return Some("its path cannot be checked".to_owned()) };
    let why = location.no_write()?;
    let why = why.split_once("because ").map_or(why, |(_, why)| why);
    Some(why.split_once(". ").map_or(why, |(why, _)| why).trim_end_matches('.').to_owned())
}

fn leads_into(link: &Path, folder: &Path) -> bool {
    let target = fs::read_link(link).unwrap_or_default();
    let target = link.parent().unwrap_or(Path::new("/")).join(target);
    crate::git::normalize(&target).starts_with(folder) || link.canonicalize().is_ok_and(|real| real.starts_with(folder))
}
