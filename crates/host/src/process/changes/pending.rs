//! A run whose changes are kept apart, until they are read.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::{ChangeSet, ToolError};
use haft_sandbox::Overlay;

use super::super::walls::unavailable;
use super::folders::{random_id, remove, write_private};
use super::{SET, Stored, reading};
use crate::LocalFiles;

/// A run whose changes are kept apart. Dropped before they were read, they are gone.
#[derive(Debug)]
pub(in super::super) struct Pending {
    pub(super) id: String,
    folder: PathBuf,
    overlay: Overlay,
    started: SystemTime,
    session: String,
    line: String,
    files: Arc<LocalFiles>,
    /// Says to others that the run is not over.
    _lock: File,
    is_kept: bool,
}

impl Pending {
    /// A new folder among those of the sets, for a run that may change these roots.
    pub(super) fn begin(sets: &Path, session: &str, line: &str, roots: &[PathBuf], files: Arc<LocalFiles>) -> Result<Self, ToolError> {
        let failed = |error: io::Error| {
            ToolError::execution(format!("The command was not run: its changes cannot be kept apart in '{}': {error}.", sets.display()))
                .with_source(error)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(sets).map_err(failed)?;
        let id = random_id().map_err(failed)?;
        let folder = sets.join(&id);
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let lock = File::open(&folder).and_then(|lock| lock.lock_shared().map(|()| lock)).map_err(failed)?;
        let overlay = Overlay::prepare(&folder, roots).map_err(|error| {
            remove(&folder);
            unavailable(error)
        })?;
        let (started, session, line) = (SystemTime::now(), session.to_owned(), line.to_owned());
        Ok(Self { id, folder, overlay, started, session, line, files, _lock: lock, is_kept: false })
    }

    pub(in super::super) fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// Reads what the run has changed, and keeps it. Blocks.
    pub(in super::super) fn read(mut self) -> Result<Arc<ChangeSet>, String> {
        self.overlay.settle();
        let found = reading::read(self.overlay.layers(), &self.files, self.started);
        let set = ChangeSet {
            id: self.id.clone(),
            session: self.session.clone(),
            workspace: self.files.root().to_owned(),
            line: self.line.clone(),
            made: SystemTime::now(),
            changes: found.changes,
            refused: found.refused,
        };
        if !set.changes.is_empty() {
            self.keep(&set).map_err(|error| format!("its changes cannot be kept in '{}': {error}", self.folder.display()))?;
        }
        Ok(Arc::new(set))
    }

    fn keep(&mut self, set: &ChangeSet) -> io::Result<()> {
        let layers = self.overlay.layers().iter().map(|layer| (layer.lower.clone(), layer.upper.clone())).collect();
        write_private(&self.folder.join(SET), &serde_json::to_vec(&Stored { set: set.clone(), layers })?)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.folder);
        }
    }
}
