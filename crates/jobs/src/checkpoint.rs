//! Checkpoints: what the files of the writable folders were before a command, so that its changes can be listed and undone.
//!
//! A checkpoint covers the files that Git does not ignore. An index remembers each file by its size, times and inode, so an
//! unchanged file costs one look; the content of a new or changed file is copied once into a private store under its
//! fingerprint. No Git program runs: attributes and filters of a foreign repository must not decide what is kept. A `.git`
//! folder is never covered, because its changes are staged and applied on their own.

mod diff;
mod index;
mod objects;
mod prune;
mod rules;
mod snapshot;
mod walk;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{DirectChanges, RetentionLimit, ports::PreImage};
use haft_host::LocalFiles;
use haft_text::hex;
use ring::digest::{SHA256, digest};

use self::objects::ObjectStore;
pub(crate) use self::prune::last_use;
use self::snapshot::{Snapshot, Unstored};
use self::walk::Walk;
use crate::CommandRetention;

/// The limits of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointLimits {
    /// How many entries are covered.
    pub entries: usize,
    /// How many bytes of new content one checkpoint copies.
    pub new_bytes: u64,
    /// How large a covered file may be.
    pub file_bytes: u64,
}

impl CheckpointLimits {
    /// The usual limits.
    pub const STANDARD: Self = Self { entries: 100_000, new_bytes: 2 << 30, file_bytes: 256 << 20 };
}

/// The checkpoints of a machine's user, one store for each folder that commands write to.
#[derive(Debug)]
pub struct CheckpointStore {
    folder: PathBuf,
    limits: CheckpointLimits,
    retention: RetentionLimit,
    files: Arc<LocalFiles>,
    /// The last known state of each root, so that a session reads its index once.
    known: Mutex<HashMap<PathBuf, Arc<Snapshot>>>,
}

/// The state of the writable folders at one moment.
#[derive(Debug)]
pub struct Checkpoint {
    store: Arc<CheckpointStore>,
    roots: Vec<RootState>,
    /// Roots of which no state is known, and why.
    problems: Vec<(PathBuf, String)>,
}

#[derive(Debug)]
struct RootState {
    root: PathBuf,
    before: Arc<Snapshot>,
}

/// What happened since a checkpoint.
#[derive(Debug)]
pub struct CheckpointChanges {
    /// The changed paths.
    pub changes: DirectChanges,
    /// The former state of each, in the order in which a journal must keep them.
    pub images: Vec<PreImage>,
    /// The state now.
    pub now: Checkpoint,
}

/// The name of the folder that holds the state of a root.
pub(crate) fn store_name(root: &Path) -> String {
    hex::encode(digest(&SHA256, root.as_os_str().as_encoded_bytes()))[..32].to_owned()
}

impl CheckpointStore {
    /// A store in this private folder. The folder above it, which holds all data, may lie in a root: it is never covered itself.
    pub fn new(folder: PathBuf, limits: CheckpointLimits, files: Arc<LocalFiles>) -> Self {
        Self { folder, limits, retention: CommandRetention::STANDARD.checkpoints, files, known: Mutex::default() }
    }

    /// With other limits on how long the state of a folder stays in which no command runs.
    #[must_use]
    pub fn with_retention(self, retention: RetentionLimit) -> Self {
        Self { retention, ..self }
    }

    /// Takes a checkpoint of these folders. What could not be covered is reported with the changes. Blocks.
    pub fn take(self: &Arc<Self>, roots: &[PathBuf]) -> Checkpoint {
        let outermost = |root: &&PathBuf| !roots.iter().any(|other| other != *root && root.starts_with(other));
        let mut checkpoint = Checkpoint { store: Arc::clone(self), roots: Vec::new(), problems: Vec::new() };
        for root in roots.iter().filter(outermost) {
            match self.snapshot(root, None) {
                Ok(before) => checkpoint.roots.push(RootState { root: root.clone(), before }),
                Err(error) => checkpoint.problems.push((root.clone(), error.to_string())),
            }
        }
        checkpoint
    }

    /// The state of a root now. With a state before, what that covered is covered again, whatever ignore files say by now.
    fn snapshot(&self, root: &Path, before: Option<&Snapshot>) -> std::io::Result<Arc<Snapshot>> {
        let folder = self.folder_of(root);
        let objects = ObjectStore::open(&folder)?;
        let cached = self.lock_snapshots().get(root).cloned();
        let index = folder.join("index");
        let (known, is_stored) = match cached {
            Some(known) => (known, index.exists()),
            None => index::read(&index).map_or_else(|| (Arc::default(), false), |known| (Arc::new(known), true)),
        };
        // The data folder that the stores lie in: no command sees it.
        let hidden = self.folder.parent().filter(|data| *data != root).unwrap_or(&self.folder);
        let walk = Walk { root, hidden, known: &known, before, limits: self.limits, objects: &objects };
        let mut snapshot = walk.run()?;
        if !is_stored || snapshot.unstored.is_much() {
            index::write(&index, &snapshot)?;
            snapshot.unstored = Unstored::default();
        }
        let snapshot = Arc::new(snapshot);
        self.lock_snapshots().insert(root.to_owned(), Arc::clone(&snapshot));
        if before.is_none() {
            prune::prune_if_due(&self.folder, &folder, &snapshot, self.retention);
        }
        Ok(snapshot)
    }

    fn folder_of(&self, root: &Path) -> PathBuf {
        self.folder.join(store_name(root))
    }

    fn lock_snapshots(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Snapshot>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what is known of a root: some of its content is lost.
    fn forget(&self, root: &Path) {
        self.lock_snapshots().remove(root);
        std::fs::remove_file(self.folder_of(root).join("index")).ok();
    }
}

impl Checkpoint {
    /// What has changed since. Blocks.
    pub fn changes(&self) -> CheckpointChanges {
        let mut found = diff::RootChanges::default();
        let mut now = Self { store: Arc::clone(&self.store), roots: Vec::new(), problems: Vec::new() };
        for (root, why) in &self.problems {
            found.uncovered.push(format!("all of '{}': {why}", root.display()));
            found.images.push(PreImage::unknown(root.clone()));
        }
        for RootState { root, before } in &self.roots {
            match self.store.snapshot(root, Some(before)) {
                Ok(after) => {
                    self.compare(root, before, &after, &mut found);
                    now.roots.push(RootState { root: root.clone(), before: after });
                }
                Err(error) => {
                    found.uncovered.push(format!("all of '{}': {error}", root.display()));
                    found.images.push(PreImage::unknown(root.clone()));
                }
            }
        }
        let workspace = self.roots.first().map(|state| state.root.clone()).unwrap_or_default();
        let changes = DirectChanges { workspace, changes: found.changes, uncovered: found.uncovered, undo: Ok(()) };
        CheckpointChanges { changes, images: found.images, now }
    }

    fn compare(&self, root: &Path, before: &Snapshot, after: &Snapshot, found: &mut diff::RootChanges) {
        let folder = self.store.folder_of(root);
        let compared = diff::compare(root, before, after, &folder, &self.store.files);
        if compared.is_content_lost {
            self.store.forget(root);
        }
        found.changes.extend(compared.changes);
        found.images.extend(compared.images);
        found.uncovered.extend(compared.uncovered);
    }
}

#[cfg(test)]
mod tests;
