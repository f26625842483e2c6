//! The changes of calls, file by file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use haft_contract::{
    EntryKind, Location,
    ports::{Host, PreImage},
};
use haft_store::{BlobId, PreImageRecord};

use super::UndoError;

/// A file, and the calls that changed it.
pub(super) struct ChangedFile {
    pub(super) at: Location,
    /// Its pre-image before the first change, with the directories of all its changes.
    pub(super) before: PreImageRecord,
    /// One for each call, in the order in which they changed it.
    pub(super) changes: Vec<CallChange>,
    /// Whether it was removed and created again: with the same content it may still have other permissions.
    pub(super) is_remade: bool,
}

/// The changes of one call to a file.
pub(super) struct CallChange {
    record: String,
    /// The content that it found.
    pub(super) found: Option<BlobId>,
    /// The permissions and type that it found.
    pub(super) mode: Option<u32>,
    /// The states that it may have left: an interrupted change did not happen, so it need not be the last.
    pub(super) left: Vec<Option<String>>,
}

impl ChangedFile {
    fn new(image: &PreImageRecord, at: Location) -> Self {
        Self { at, before: image.clone(), changes: vec![CallChange::new(image)], is_remade: false }
    }

    fn add(&mut self, image: &PreImageRecord) {
        self.before.created_directories.extend_from_slice(&image.created_directories);
        self.is_remade |= image.content.is_none();
        match self.changes.last_mut() {
            Some(turn) if turn.record == image.record => turn.left.push(image.after.clone()),
            _ => self.changes.push(CallChange::new(image)),
        }
    }
}

impl CallChange {
    fn new(image: &PreImageRecord) -> Self {
        Self { record: image.record.clone(), found: image.content.clone(), mode: image.mode, left: vec![image.after.clone()] }
    }
}

/// Whether the former state was not kept.
pub(super) fn is_unknown(image: &PreImageRecord) -> bool {
    image.mode == Some(PreImage::UNKNOWN)
}

/// One for each file, in the order in which they were first changed.
pub(super) fn files_of(images: &[PreImageRecord], host: &dyn Host) -> Result<Vec<ChangedFile>, UndoError> {
    let mut files: Vec<ChangedFile> = Vec::new();
    let mut indexes: HashMap<&Path, usize> = HashMap::new();
    let entries: HashSet<&Path> = images.iter().filter(|image| is_entry(image)).map(|image| &*image.path).collect();
    for image in images {
        if let Some(index) = indexes.get(&*image.path) {
            files[*index].add(image);
        } else {
            indexes.insert(&image.path, files.len());
            // A directory that a link has replaced is restored before its entries.
            let is_entry = image.path.ancestors().any(|path| entries.contains(path));
            let at = if is_entry { host.files().locate_entry(&image.path).map_err(UndoError::File)? } else { locate(image, host)? };
            files.push(ChangedFile::new(image, at));
        }
    }
    Ok(files)
}

/// The location of a file, if its path still leads there.
pub(super) fn locate(image: &PreImageRecord, host: &dyn Host) -> Result<Location, UndoError> {
    let at = if is_entry(image) { host.files().locate_entry(&image.path) } else { host.files().locate(&image.path) };
    let at = at.map_err(UndoError::File)?;
    if at.path() == image.path { Ok(at) } else { Err(UndoError::Moved(image.path.clone())) }
}

/// Whether it is about a link or a directory itself.
fn is_entry(image: &PreImageRecord) -> bool {
    let was = image.mode.is_some_and(|mode| mode & PreImage::KIND != 0);
    was || image.after.as_deref().is_some_and(|after| PreImage::kind_of(after) != EntryKind::File)
}
