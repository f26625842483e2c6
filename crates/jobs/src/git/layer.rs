//! The overlays of a run, one for each Git folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{FileIdentity, GitReport};

use super::foreign_owners::fill_upper;
use super::hidden_entries::HiddenEntries;
use super::report::Reporter;
use super::settle::settle;
use super::tree::Tree;
use crate::changes::{change_time, is_whiteout, write_private};
use crate::quarantine::{Origin, Quarantine};

/// The index is copied if it cannot be linked and is not larger.
const MAX_COPIED_INDEX: u64 = 16 << 20;
/// The state of these is known from the start: their deletion by others is seen too.
const KNOWN: [&str; 3] = ["HEAD", "packed-refs", "config"];

/// What tells one version of a file from another.
pub(super) type Version = Option<(u64, u64, u64, i64, i64, i64, i64)>;

/// The Git folders that a run sees through overlays.
#[derive(Debug)]
pub(crate) struct GitOverlays {
    layers: Vec<GitLayer>,
    started: SystemTime,
}

/// A repository that a command removed.
#[derive(Debug)]
pub(crate) struct RemovedRepository {
    pub(crate) path: PathBuf,
    pub(crate) quarantined: String,
    /// Its open handle: as long as it is there, no new folder has the same identity.
    _layer: GitLayer,
}

/// One Git folder, and the folder for its changes.
#[derive(Debug)]
pub(super) struct GitLayer {
    pub(super) path: PathBuf,
    upper: PathBuf,
    /// The folder itself: a command can rename the folders above it.
    pub(super) lower: Tree,
    pub(super) versions: [Version; 3],
    /// The index as it was.
    pub(super) index: Option<PathBuf>,
    hidden: Option<HiddenEntries>,
}

impl GitOverlays {
    /// The overlays of these Git folders, each with its empty upper layer in a folder of its own, all in a private folder.
    /// `roots` are those of commands, and `hidden` the files and folders that the command does not see.
    pub(crate) fn over(pairs: Vec<(PathBuf, PathBuf)>, folder: &Path, roots: &[PathBuf], hidden: &[PathBuf]) -> io::Result<Self> {
        let layers = pairs.into_iter().map(|(lower, upper)| GitLayer::open(lower, upper, roots, hidden)).collect::<io::Result<Vec<_>>>()?;
        // The time of the file system, which the times of changes are compared with; its clock lags behind that of programs.
        let probe = folder.join("started");
        write_private(&probe, b"")?;
        Ok(Self { layers, started: change_time(&fs::metadata(probe)?) })
    }

    /// The Git folders and their upper layers.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.layers.iter().map(|layer| (&*layer.path, &*layer.upper))
    }

    /// When the run began, by the clock of the file system.
    pub(crate) fn started(&self) -> SystemTime {
        self.started
    }

    /// Device and inode of each Git folder.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (u64, u64)> {
        self.layers.iter().filter_map(|layer| layer.lower.metadata().ok()).map(|metadata| (metadata.dev(), metadata.ino()))
    }

    /// A Git folder that is another one than was found at its path.
    pub(crate) fn find_moved(&self, found: &BTreeMap<PathBuf, FileIdentity>) -> Option<PathBuf> {
        let is_other = |layer: &&GitLayer| {
            let now = layer.lower.metadata().ok().map(|metadata| FileIdentity::from_metadata(&metadata));
            found.get(&layer.path).is_some_and(|found| now != Some(*found))
        };
        self.layers.iter().find(is_other).map(|layer| layer.path.clone())
    }

    /// Takes the repository at a path away, if the command has emptied its Git folder, and it is not that of a root. The folder goes to
    /// quarantine as it was. Blocks.
    pub(crate) fn remove(&mut self, path: &Path, roots: &[PathBuf], quarantine: &Quarantine, origin: &Origin) -> Option<RemovedRepository> {
        let is_below_root = roots.iter().any(|root| path.starts_with(root) && path.parent() != Some(root));
        let is_it = |layer: &GitLayer| is_below_root && layer.lower.path().as_deref() == Some(path) && layer.is_emptied();
        let at = self.layers.iter().position(is_it)?;
        let quarantined = quarantine.put(path, "the command removed this repository", origin).ok()?;
        Some(RemovedRepository { path: path.to_owned(), quarantined, _layer: self.layers.remove(at) })
    }

    /// Applies what the command changed, when all its processes have ended. Blocks.
    ///
    /// The layers stay where they are; the caller removes their folder.
    pub(crate) fn settle(self, writable: &[PathBuf], quarantine: &Quarantine, origin: &Origin) -> GitReport {
        let mut report = GitReport::default();
        for layer in &self.layers {
            // Where the folder is now, should it have been moved.
            let path = layer.lower.path().unwrap_or_else(|| layer.path.clone());
            let mut reporter = Reporter::new(quarantine, origin);
            match Tree::open(&layer.upper) {
                Ok(upper) => {
                    layer.hidden.iter().for_each(|hidden| hidden.unmark(&upper, &layer.upper));
                    settle(layer, &path, &upper, self.started, writable, &mut reporter);
                }
                Err(error) => reporter.refuse(&path, format!("its changes cannot be read: {error}")),
            }
            report.add(reporter.finish());
        }
        report
    }
}

impl GitLayer {
    fn open(path: PathBuf, upper: PathBuf, roots: &[PathBuf], hidden: &[PathBuf]) -> io::Result<Self> {
        let lower = Tree::open_in(&path, roots)?;
        fill_upper(&lower, &upper);
        let index = keep_index(&lower, &path, &upper);
        let versions = KNOWN.map(|name| version(&lower, Path::new(name)));
        let worktree = path.parent().unwrap_or(&path);
        let beneath = |path: &PathBuf| path.strip_prefix(worktree).ok().map(|name| name.as_os_str().as_bytes().to_vec());
        let hidden: Vec<Vec<u8>> = hidden.iter().filter_map(beneath).collect();
        let hidden = HiddenEntries::mark(&lower, &upper, &hidden);
        Ok(Self { path, upper, lower, versions, index, hidden })
    }

    /// Whether nothing of the folder is left for the command.
    fn is_emptied(&self) -> bool {
        let Ok(upper) = Tree::open(&self.upper) else { return false };
        let (Ok(deleted), Ok(below)) = (upper.names(Path::new("")), self.lower.names(Path::new(""))) else { return false };
        let is_deleted = |name: &OsString| upper.entry(Path::new(name)).is_ok_and(|entry| entry.is_some_and(|entry| is_whiteout(&entry)));
        deleted.iter().all(is_deleted) && below.iter().all(|name| deleted.contains(name))
    }

    /// Whether another program changed, created or deleted a file since the start; `None` if only its times tell.
    pub(super) fn is_changed(&self, path: &Path) -> Option<bool> {
        let known = KNOWN.iter().position(|name| Path::new(name) == path)?;
        Some(version(&self.lower, path) != self.versions[known])
    }
}

fn version(tree: &Tree, path: &Path) -> Version {
    let identify = |file: Metadata| (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
    tree.entry(path).ok().flatten().map(identify)
}

/// Keeps the index: Git replaces it whenever it refreshes the times in it, and only a comparison shows that nothing else changed.
/// A link costs nothing, and Git never writes to an index in place.
fn keep_index(lower: &Tree, path: &Path, upper: &Path) -> Option<PathBuf> {
    let kept = upper.with_file_name("index");
    let index = lower.entry(Path::new("index")).ok().flatten().filter(Metadata::is_file)?;
    let linked = fs::hard_link(path.join("index"), &kept);
    if linked.is_err() && index.len() <= MAX_COPIED_INDEX {
        fs::copy(path.join("index"), &kept).ok()?;
        return Some(kept);
    }
    linked.ok().map(|()| kept)
}
