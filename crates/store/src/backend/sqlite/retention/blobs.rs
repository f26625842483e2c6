//! Files beside the database: pre-images and spills.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_contract::{Prunable, StoredEntry};

use crate::StoreError;
use crate::backend::file_blobs::{PRE_IMAGES, SPILLS, UNFINISHED, folder_name};
use crate::backend::folder::PrivateFolder;

/// A blob is never written for longer: an older unfinished one was abandoned.
const LONGEST_WRITING: Duration = Duration::from_hours(24);

/// The files of a folder and of the folders in it.
pub(in crate::backend) struct BlobFiles {
    folder: PathBuf,
    /// Names of files and of folders that are in use.
    in_use: HashSet<String>,
}

impl BlobFiles {
    pub(in crate::backend) fn pre_images(data: &PrivateFolder, in_use: HashSet<String>) -> Self {
        Self { folder: data.path().join(PRE_IMAGES), in_use }
    }

    pub(in crate::backend) fn spills(data: &PrivateFolder, sessions: &HashSet<String>) -> Self {
        Self { folder: data.path().join(SPILLS), in_use: sessions.iter().map(|session| folder_name(session)).collect() }
    }

    pub(in crate::backend) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a file or folder of this name is in use.
    pub(in crate::backend) fn is_in_use(&self, name: &str) -> bool {
        self.in_use.contains(name)
    }

    /// The files of one folder, and the folders in it.
    fn read(&self, folder: &Path, is_used: bool, files: &mut Vec<StoredEntry<PathBuf>>) -> io::Result<Vec<(PathBuf, bool)>> {
        let mut folders = Vec::new();
        for entry in folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Another process may have removed it.
            let Ok(metadata) = entry.path().symlink_metadata() else { continue };
            let in_use = is_used || self.in_use.contains(&name) || is_being_written(&name, &metadata);
            if metadata.is_dir() {
                folders.push((entry.path(), in_use));
            } else if metadata.is_file() {
                let written = metadata.modified().unwrap_or_else(|_| SystemTime::now());
                files.push(StoredEntry { key: entry.path(), written, bytes: metadata.len(), in_use });
            }
        }
        Ok(folders)
    }
}

fn is_being_written(name: &str, metadata: &std::fs::Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
    name.ends_with(UNFINISHED) && age < LONGEST_WRITING
}

impl Prunable for BlobFiles {
    type Key = PathBuf;
    type Error = StoreError;

    fn entries(&self) -> Result<Vec<StoredEntry<PathBuf>>, StoreError> {
        let mut files = Vec::new();
        let folders = match self.read(&self.folder, false, &mut files) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
            folders => folders.map_err(|error| StoreError::io(&self.folder, error))?,
        };
        for (folder, in_use) in folders {
            self.read(&folder, in_use, &mut files).map_err(|error| StoreError::io(&folder, error))?;
        }
        Ok(files)
    }

    /// A folder goes with its last file.
    fn remove(&self, keys: Vec<PathBuf>) -> Result<(), StoreError> {
        for file in &keys {
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StoreError::io(file, error)),
                _ => {}
            }
        }
        let parents: HashSet<&Path> = keys.iter().filter_map(|file| file.parent()).filter(|parent| *parent != self.folder).collect();
        for parent in parents {
            // One that is not empty stays.
            std::fs::remove_dir(parent).ok();
        }
        Ok(())
    }
}
