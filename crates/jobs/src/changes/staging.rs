//! The staging of a run: its private folder with an overlay, until its changes are read.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::{ChangeSet, ToolError};
use haft_host::LocalFiles;
use haft_sandbox::Overlay;
use haft_text::display;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::process::geteuid;

use super::interrupted;
use super::overlay::{OverlayChanges, read_changes};
use super::repositories::{StagedRepository, find_repositories};
use super::{ID_PREFIX, SET_FILE, StoredChanges};
use crate::git::is_foreign;
use crate::sandboxer::unavailable;

/// `OVERLAYFS_SUPER_MAGIC` of the kernel.
const OVERLAY_FILE_SYSTEM: rustix::fs::FsWord = 0x794c_7630;
/// A younger folder without a set may belong to a run that has not locked it yet.
const MIN_ABANDONED_AGE: Duration = Duration::from_mins(1);

/// A run whose changes are staged. Dropped before they are read, they are removed.
#[derive(Debug)]
pub(crate) struct StagedRun {
    pub(super) id: String,
    folder: PathBuf,
    overlay: Overlay,
    pub(super) started: SystemTime,
    pub(super) session: String,
    pub(super) command: String,
    /// What earlier runs of the session had changed that were cut off.
    interrupted: Vec<ChangeSet>,
    files: Arc<LocalFiles>,
    /// Shows other processes that the run is not over.
    _lock: File,
    is_stored: bool,
}

impl StagedRun {
    /// Prepares a new folder in that of the sets.
    pub(super) fn prepare(sets: &Path, session: &str, command: &str, roots: &[PathBuf], files: Arc<LocalFiles>) -> Result<Self, ToolError> {
        let failed = |error: io::Error| {
            ToolError::execution(format!("The command was not run: its changes cannot be staged in '{}': {error}.", sets.display()))
                .with_source(error)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(sets).map_err(failed)?;
        let id = random_id().map_err(failed)?;
        let folder = sets.join(&id);
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let lock = File::open(&folder).and_then(|lock| lock.lock_shared().map(|()| lock)).map_err(failed)?;
        let overlay = Overlay::prepare(&folder, roots).map_err(|error| {
            remove_folder(&folder);
            unavailable(error)
        })?;
        let (started, session, command) = (SystemTime::now(), session.to_owned(), command.to_owned());
        Ok(Self { id, folder, overlay, started, session, command, interrupted: Vec::new(), files, _lock: lock, is_stored: false })
    }

    pub(super) fn after(mut self, interrupted: Vec<ChangeSet>) -> Self {
        self.interrupted = interrupted;
        self
    }

    /// Stores what is needed to make a set of its changes should this process be killed.
    pub(super) fn describe(&self) -> Result<(), ToolError> {
        interrupted::describe(self, &self.folder, self.files.root()).map_err(|error| {
            ToolError::execution(format!("The command was not run: its changes cannot be staged in '{}': {error}.", self.folder.display()))
                .with_source(error)
        })
    }

    /// What to do about earlier runs that were cut off.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |set: &ChangeSet| {
            let (command, count) = (display::shorten(&set.command, 80), set.changes.len());
            format!(
                "An earlier command was cut off with Haft ('{}'): {count} paths that it had changed are staged, and what it did in \
                 repositories is lost. exec with commit={} and nothing else applies them.",
                display::escape_line(&command),
                set.id
            )
        };
        self.interrupted.iter().map(note).collect()
    }

    pub(crate) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// The repositories that the run made. Blocks.
    pub(crate) fn repositories(&self) -> Vec<StagedRepository> {
        find_repositories(self.overlay.layers())
    }

    /// Reads the changes of the run, and stores them as a set; those in the Git folders that were cleaned are checked ones. Blocks.
    pub(crate) fn read(mut self, cleaned: &[StagedRepository]) -> Result<Arc<ChangeSet>, String> {
        self.overlay.remove_work_folders();
        let OverlayChanges { mut changes, refused } = read_changes(self.overlay.layers(), &self.files, self.started);
        let folders: Vec<_> = cleaned.iter().map(|cleaned| &cleaned.path).filter(|path| path.ends_with(".git")).collect();
        for change in &mut changes {
            change.is_checked = folders.iter().any(|folder| change.path.starts_with(folder));
        }
        let set = ChangeSet {
            id: self.id.clone(),
            session: self.session.clone(),
            workspace: self.files.root().to_owned(),
            command: self.command.clone(),
            made: SystemTime::now(),
            changes,
            refused,
        };
        if !set.changes.is_empty() {
            self.store(&set).map_err(|error| format!("its changes cannot be stored in '{}': {error}", self.folder.display()))?;
        }
        Ok(Arc::new(set))
    }

    fn store(&mut self, set: &ChangeSet) -> io::Result<()> {
        let layers = self.overlay.layers().iter().map(|layer| (layer.lower.clone(), layer.upper.clone())).collect();
        write_private(&self.folder.join(SET_FILE), &serde_json::to_vec(&StoredChanges { set: set.clone(), layers })?)?;
        self.is_stored = true;
        Ok(())
    }
}

impl Drop for StagedRun {
    fn drop(&mut self) {
        if !self.is_stored {
            remove_folder(&self.folder);
        }
    }
}

/// Why no overlay can be made of these roots with its changes in this folder, as far as that is known without trying.
pub(crate) fn staging_gap(sets: &Path, roots: &[PathBuf]) -> Option<&'static str> {
    let existing = sets.ancestors().find_map(|folder| folder.canonicalize().ok())?;
    if roots.iter().any(|root| existing.starts_with(root)) {
        return Some("the data folder lies in the workspace");
    }
    if rustix::fs::statfs(&existing).is_ok_and(|found| found.f_type == OVERLAY_FILE_SYSTEM) {
        return Some("the data folder lies on an overlay, as in a container");
    }
    let is_shared = !geteuid().is_root() && roots.iter().any(|root| is_of_another_group(root));
    is_shared.then_some("the files of the workspace belong to another user or group, and the kernel copies no such file into an overlay")
}

/// Whether a root has an owner whom the sandbox of this user does not know, or a file in it that the user owns has such a group. It is
/// rarely true of folders below alone.
fn is_of_another_group(root: &Path) -> bool {
    let mut entries = fs::read_dir(root).into_iter().flatten().flatten().filter_map(|entry| entry.metadata().ok());
    let is_own = |entry: &Metadata| entry.uid() == geteuid().as_raw();
    fs::metadata(root).is_ok_and(|root| is_foreign(&root)) || entries.any(|entry| is_own(&entry) && is_foreign(&entry))
}

/// Writes a new file that only the user may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, bytes)
}

/// An id that cannot be guessed.
fn random_id() -> io::Result<String> {
    let mut random = [0; 10];
    SystemRandom::new().fill(&mut random).map_err(|_| io::Error::other("the machine has no random numbers"))?;
    Ok(format!("{ID_PREFIX}{}", haft_text::hex::encode(random)))
}

/// Whether a folder without a set belongs to a run that was interrupted.
pub(super) fn is_abandoned(folder: &Path) -> bool {
    let modified = fs::metadata(folder).and_then(|metadata| metadata.modified());
    let is_old = modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > MIN_ABANDONED_AGE));
    is_old && File::open(folder).is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Removes a folder, even if a command took away the permissions of a directory in it.
pub(crate) fn remove_folder(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        restore_access(folder);
        fs::remove_dir_all(folder).ok();
    }
}

fn restore_access(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).ok();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            restore_access(&entry.path());
        }
    }
}
