//! Liveness of session owners: a process that claims sessions holds a lock on a file of its own while it lives.
//!
//! The system drops the lock when the process ends in whatever way, so that a kill locks no session for good, and a claim
//! whose owner is gone can be told from one that holds. A process id and its start time would not tell: in another
//! container they mean nothing or another process, after a restart of the machine likewise, and a zombie
//! process still has both. They are stored only to be shown.

use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::running::RunningCalls;
use crate::StoreError;
use crate::backend::folder::PrivateFolder;
use crate::session_store::new_id;

/// Followed by an id that is never used again, so that no later owner gets the same file.
const PREFIX: &str = "haft.db.owner-";

/// The owners' files in the folder of the database.
#[derive(Debug)]
pub(super) struct Owners {
    folder: PrivateFolder,
    patience: Duration,
    mine: OnceLock<Presence>,
    /// The calls that this process has noted as running.
    pub(super) running: RunningCalls,
}

/// A file that is locked while this is held.
#[derive(Debug)]
struct Presence {
    id: String,
    _locked: File,
}

impl Owners {
    pub(super) fn new(folder: PrivateFolder, patience: Duration) -> Self {
        Self { folder, patience, mine: OnceLock::new(), running: RunningCalls::default() }
    }

    /// Announces this process as alive; returns its id.
    pub(super) fn announce(&self) -> Result<String, StoreError> {
        if let Some(id) = self.my_id() {
            return Ok(id.to_owned());
        }
        // Under the folder's lock: a file that is not locked yet looks like one that was left behind.
        let Some(_lock) = self.folder.lock(self.patience)? else {
            return Err(StoreError::Locked { path: self.folder.path().join("haft.db") });
        };
        if let Some(presence) = self.mine.get() {
            return Ok(presence.id.clone());
        }
        self.remove_left_behind()?;
        let presence = self.appear()?;
        Ok(self.mine.get_or_init(|| presence).id.clone())
    }

    fn appear(&self) -> Result<Presence, StoreError> {
        let id = new_id();
        let failed = |error| self.failed(&id, error);
        let file = self.folder.create(&name(&id)).map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
        Ok(Presence { id, _locked: file })
    }

    fn remove_left_behind(&self) -> Result<(), StoreError> {
        let names = self.folder.names().map_err(|error| StoreError::io(self.folder.path(), error))?;
        for id in names.iter().filter_map(|name| name.strip_prefix(PREFIX)) {
            if !self.is_alive(id)? {
                self.folder.remove(&name(id)).map_err(|error| self.failed(id, error))?;
            }
        }
        Ok(())
    }

    pub(super) fn is_mine(&self, id: &str) -> bool {
        self.my_id() == Some(id)
    }

    /// The id of this process, if it is announced.
    pub(super) fn my_id(&self) -> Option<&str> {
        self.mine.get().map(|presence| &*presence.id)
    }

    pub(super) fn is_alive(&self, id: &str) -> Result<bool, StoreError> {
        let file = match self.folder.read(&name(id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.failed(id, error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(self.failed(id, error.into())),
        }
    }

    fn failed(&self, id: &str, error: io::Error) -> StoreError {
        StoreError::io(&self.folder.path().join(name(id)), error)
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        if let Some(presence) = self.mine.get() {
            // A file that cannot be removed now is removed by the next owner.
            self.folder.remove(&name(&presence.id)).ok();
        }
    }
}

fn name(id: &str) -> String {
    format!("{PREFIX}{id}")
}
