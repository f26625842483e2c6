//! Restoring an entry of the quarantine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_contract::QuarantineRecord;

use super::{ENTRY, Origin, Quarantine, moving};
use crate::changes::remove_folder;
use crate::git::Tree;

/// Why an entry was not restored.
#[derive(Debug)]
pub enum RestoreError {
    /// Something is where it was.
    Occupied(PathBuf),
    /// The system refused it.
    Failed(io::Error),
}

impl From<io::Error> for RestoreError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl std::fmt::Display for RestoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Occupied(path) => write!(formatter, "'{}' exists now", path.display()),
            Self::Failed(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for RestoreError {}

impl Quarantine {
    /// Moves an entry back to where it was. What is there now is moved to quarantine if this is forced; its id is returned.
    pub fn restore(&self, record: &QuarantineRecord, force: bool) -> Result<Option<String>, RestoreError> {
        let target = &record.path;
        let replaced = match fs::symlink_metadata(target) {
            Ok(_) if !force => return Err(RestoreError::Occupied(target.clone())),
            Ok(_) => {
                let origin =
                    Origin { session: record.session.clone(), call: None, command: format!("haft quarantine restore {}", record.id) };
                Some(self.put(target, "a restored version replaced it", &origin)?)
            }
            Err(_) => None,
        };
        let relative = target.strip_prefix("/").map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let name = target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // No link was on the way to it when it was taken: one that is there now was made by a command, perhaps.
        let root = Tree::open(Path::new("/"))?;
        root.make_parents(relative)?;
        let (parent, _) = root.parent(relative)?;
        let folder = self.folder.join(&record.id);
        moving::open(&folder.join(ENTRY), record.mode)?;
        moving::move_entry(&Tree::open(&folder)?, Path::new(ENTRY), &parent, Path::new(name))?;
        remove_folder(&folder);
        Ok(replaced)
    }
}
