//! What a command wrote and mounts could not prevent: protected names and repositories, found by a walk after the run.

mod folders;
#[cfg(target_os = "linux")]
mod replaced;
/// Without mounts no file is replaced under one.
#[cfg(not(target_os = "linux"))]
mod replaced {
    #[derive(Debug)]
    pub(super) struct ReplacedFiles;

    #[derive(Debug, Default)]
    pub(super) struct UserChanges {
        pub(super) replaced: Vec<(std::path::PathBuf, super::KeptFile)>,
        pub(super) removed: Vec<std::path::PathBuf>,
    }

    impl ReplacedFiles {
        pub(super) fn watch<'a>(_: impl Iterator<Item = &'a std::path::Path>) -> Option<Self> {
            None
        }
        pub(super) fn take_changes(&mut self, _: impl FnOnce() -> Option<haft_sandbox::RunActivity>) -> UserChanges {
            UserChanges::default()
        }
    }
}
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use haft_contract::RefusedChange;
use haft_host::LocalFiles;
use haft_sandbox::RunActivity;

pub(crate) use self::folders::FolderCache;
use self::replaced::{ReplacedFiles, UserChanges};
use self::walk::find_new;
pub(crate) use self::walk::{WalkExtent, find_existing};
use super::moving::replace_file;
use super::{Origin, Quarantine};
use crate::git::{GitOverlays, NewRepository, sanitize_new};

/// Larger files are not copied, so a changed one is not restored.
const MAX_COPY: u64 = 1 << 20;
/// All copies of a run together.
const MAX_COPIES: u64 = 32 << 20;

/// Protected files and settings of repositories as they were before a run.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    files: BTreeMap<PathBuf, KeptFile>,
}

#[derive(Debug)]
struct KeptFile {
    /// Inode, size and times.
    version: (u64, u64, i64, i64, i64, i64),
    mode: u32,
    /// `None` if it is no ordinary file, or too large.
    bytes: Option<Vec<u8>>,
}

impl Snapshot {
    /// Copies the small files among these; links are not followed.
    pub(crate) fn take(paths: &[PathBuf]) -> Self {
        let mut left = MAX_COPIES;
        let mut keep = |path: &PathBuf| {
            let metadata = fs::symlink_metadata(path).ok()?;
            let is_small = metadata.is_file() && metadata.len() <= MAX_COPY.min(left);
            let bytes = if is_small { fs::read(path).ok() } else { None };
            left -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64).min(left);
            Some((path.clone(), KeptFile { version: version(&metadata), mode: metadata.mode(), bytes }))
        };
        Self { files: paths.iter().filter_map(&mut keep).collect() }
    }

    /// Whether an entry is still what was there; another file with the same content is.
    fn has(&self, path: &Path, metadata: &fs::Metadata) -> bool {
        let is_same = |kept: &KeptFile| {
            let bytes = kept.bytes.as_ref().filter(|bytes| metadata.is_file() && metadata.len() == bytes.len() as u64);
            kept.version == version(metadata) || bytes.is_some_and(|bytes| fs::read(path).is_ok_and(|now| now == *bytes))
        };
        self.files.get(path).is_some_and(is_same)
    }

    /// Whether this very file was somewhere, and is unchanged.
    fn has_version(&self, metadata: &fs::Metadata) -> bool {
        let wanted = version(metadata);
        self.files.values().any(|kept| kept.version == wanted)
    }

    fn bytes(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).and_then(|kept| kept.bytes.as_deref())
    }
}

/// Device and inode.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn version(metadata: &fs::Metadata) -> (u64, u64, i64, i64, i64, i64) {
    (metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec())
}

/// What a walk found, each protected path with the reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Protected entries that are new or changed.
    pub(crate) protected: Vec<(PathBuf, String)>,
    /// Protected files that are gone.
    pub(crate) deleted: Vec<(PathBuf, String)>,
    /// `.git` entries and bare repositories that had no overlay.
    pub(crate) repositories: Vec<PathBuf>,
    /// Whether everything was looked at.
    pub(crate) is_complete: bool,
}

/// Guards the writable roots during a run. It can be asked as often as needed, also while the command runs.
#[derive(Debug)]
pub(crate) struct Guard {
    started: SystemTime,
    snapshot: Snapshot,
    /// Device and inode of the Git folders with overlays.
    known: HashSet<(u64, u64)>,
    /// Of all repositories that were there.
    repositories: HashSet<(u64, u64)>,
    overlaid: Vec<PathBuf>,
    /// Inode of each protected file that a mount makes read-only for the command.
    mounted: BTreeMap<PathBuf, u64>,
    watched: Mutex<Option<ReplacedFiles>>,
    /// Versions of protected files by which the user has replaced others meanwhile.
    accepted: Mutex<Snapshot>,
    /// Protected files that the user has removed meanwhile.
    removed: Mutex<HashSet<PathBuf>>,
    folders: Arc<FolderCache>,
    /// What Git runs or trusts because its settings name it.
    run_by_git: Vec<PathBuf>,
    /// Whether everything was looked at before the run.
    knows_all: bool,
}

impl Guard {
    /// Before a run, with the protected files that exist, and the `config` of bare repositories.
    pub(crate) fn new(existing: &[PathBuf], git: &GitOverlays) -> Self {
        let overlaid = git.pairs().map(|(path, _)| path.to_owned()).collect();
        Self {
            started: git.started(),
            snapshot: Snapshot::take(existing),
            known: git.identities().collect(),
            repositories: HashSet::new(),
            overlaid,
            mounted: BTreeMap::new(),
            watched: Mutex::default(),
            accepted: Mutex::default(),
            removed: Mutex::default(),
            folders: Arc::default(),
            run_by_git: Vec::new(),
            knows_all: true,
        }
    }

    /// For a workspace of which not everything was looked at.
    pub(crate) fn with_unknown_parts(self, has_some: bool) -> Self {
        Self { knows_all: !has_some, ..self }
    }

    /// With paths that Git runs or trusts because its settings name them.
    pub(crate) fn with_run_by_git(self, run_by_git: Vec<PathBuf>) -> Self {
        Self { run_by_git, ..self }
    }

    /// With the repositories that exist: of another one everything is looked at, for an earlier command may have made parts of it.
    pub(crate) fn with_repositories<'a>(mut self, paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        self.repositories = paths.filter_map(|path| identity(path)).collect();
        self
    }

    /// With folders that are known already.
    pub(crate) fn with_folders(self, folders: Arc<FolderCache>) -> Self {
        Self { folders, ..self }
    }

    /// With protected paths that are read-only mounts: as long as one is the same file, only the user can have changed it. A mount
    /// does not hold when the user replaces the file.
    pub(crate) fn with_mounts(mut self, paths: &[PathBuf]) -> Self {
        let files = paths.iter().filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()));
        self.watched = Mutex::new(ReplacedFiles::watch(files.map(PathBuf::as_path)));
        let inode = |path: &PathBuf| Some((path.clone(), fs::symlink_metadata(path).ok()?.ino()));
        self.mounted = paths.iter().filter_map(inode).collect();
        self
    }

    /// With Git folders that are read-only for the command: only the user can have changed them.
    pub(crate) fn with_read_only(mut self, folders: &[PathBuf]) -> Self {
        self.known.extend(folders.iter().filter_map(|path| identity(path)));
        self
    }

    fn is_held_by_mount(&self, path: &Path, metadata: &fs::Metadata) -> bool {
        self.mounted.get(path) == Some(&metadata.ino())
    }

    /// Finds what may not be there, after the repositories were settled.
    pub(crate) fn find(&self, files: &LocalFiles, data: &Path, extent: WalkExtent) -> Findings {
        find_new(files, self, data, extent)
    }

    /// Moves what may not be there to quarantine, restores what was there before, and cleans new repositories. The changes of the user
    /// were accepted before. The second value says whether everything was looked at. Blocks.
    pub(crate) fn check(
        &self,
        files: &LocalFiles,
        quarantine: &Quarantine,
        origin: &Origin,
        extent: WalkExtent,
    ) -> (Vec<RefusedChange>, bool) {
        let Findings { protected, deleted, repositories, is_complete } = self.find(files, quarantine.data_folder(), extent);
        let mut refused: Vec<_> = protected.into_iter().map(|(path, why)| self.take_back(path, why, quarantine, origin)).collect();
        refused.extend(deleted.into_iter().map(|(path, why)| self.restore(path, format!("its deletion was taken back: {why}"), None)));
        let writable = files.writable();
        let kept: Vec<PathBuf> = self.snapshot.files.keys().cloned().collect();
        for git in repositories {
            let was_here = identity(&git).is_some_and(|identity| self.repositories.contains(&identity));
            let new = NewRepository {
                writable: &writable,
                overlaid: &self.overlaid,
                since: if was_here { self.started } else { SystemTime::UNIX_EPOCH },
                old_config: self.snapshot.bytes(&git.join("config")).filter(|_| was_here),
                kept: &kept,
                staged: None,
                is_running: extent == WalkExtent::Running,
                quarantine,
                origin,
            };
            refused.extend(sanitize_new(&git, &new));
        }
        (refused, is_complete)
    }

    /// Whether it matters what the command does from moment to moment.
    pub(crate) fn watches_files(&self) -> bool {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Notes the files that the user has replaced or removed: they stay as the user left them. `activity` tells what the command has
    /// done so far.
    pub(crate) fn accept_changes(&self, activity: impl FnOnce() -> Option<RunActivity>) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let UserChanges { replaced, removed } = watched.as_mut().map(|watched| watched.take_changes(activity)).unwrap_or_default();
        let mut gone = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        gone.retain(|path| replaced.iter().all(|(other, _)| other != path));
        gone.extend(removed);
        self.accepted().files.extend(replaced);
    }

    /// Whether the user has removed a protected file.
    fn is_removed_by_user(&self, path: &Path) -> bool {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
    }

    fn accepted(&self) -> MutexGuard<'_, Snapshot> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_back(&self, path: PathBuf, why: String, quarantine: &Quarantine, origin: &Origin) -> RefusedChange {
        match quarantine.put(&path, &why, origin) {
            Ok(id) => self.restore(path, why, Some(id)),
            Err(error) => RefusedChange { path, why: format!("{why}; it cannot be moved to quarantine: {error}"), quarantined: None },
        }
    }

    /// Puts a protected file back as it was.
    fn restore(&self, path: PathBuf, why: String, quarantined: Option<String>) -> RefusedChange {
        let accepted = self.accepted();
        let kept = accepted.files.get(&path).or_else(|| self.snapshot.files.get(&path));
        let Some(kept) = kept else { return RefusedChange { path, why, quarantined } };
        let restored = match &kept.bytes {
            Some(bytes) => replace_file(&path, bytes, kept.mode).map_err(|error| error.to_string()),
            None => Err("it was too large to be copied".to_owned()),
        };
        let why = match restored {
            Ok(()) => why,
            Err(error) => format!("{why}; the former version cannot be restored: {error}"),
        };
        RefusedChange { path, why, quarantined }
    }
}

#[cfg(test)]
mod tests;
