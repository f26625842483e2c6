//! What calls did to a file, turn by turn.

use std::collections::HashMap;
use std::path::Path;

use haft_contract::{Host, Location};
use haft_store::{BlobId, PreImageRecord};

use super::UndoError;

/// A file, and the calls that changed it.
pub(super) struct File {
    pub(super) at: Location,
    /// What it was before it was first changed, with the directories of all its changes.
    pub(super) before: PreImageRecord,
    /// One for each call, in the order in which they changed it.
    pub(super) turns: Vec<Turn>,
    /// Whether it was removed and made anew: then it may hold what it held before, and still have other permissions.
    pub(super) is_remade: bool,
}

/// What one call did to a file.
pub(super) struct Turn {
    record: String,
    /// What it found there.
    pub(super) found: Option<BlobId>,
    /// What it may have left: a change that was cut off did not happen, so it need not be the last.
    pub(super) left: Vec<Option<String>>,
}

impl File {
    fn new(image: &PreImageRecord, host: &dyn Host) -> Result<Self, UndoError> {
        Ok(Self { at: place(image, host)?, before: image.clone(), turns: vec![Turn::new(image)], is_remade: false })
    }

    fn add(&mut self, image: &PreImageRecord) {
        self.before.created_directories.extend_from_slice(&image.created_directories);
        self.is_remade |= image.content.is_none();
        match self.turns.last_mut() {
            Some(turn) if turn.record == image.record => turn.left.push(image.after.clone()),
            _ => self.turns.push(Turn::new(image)),
        }
    }
}

impl Turn {
    fn new(image: &PreImageRecord) -> Self {
        Self { record: image.record.clone(), found: image.content.clone(), left: vec![image.after.clone()] }
    }
}

/// One for each file, in the order in which they were first changed.
pub(super) fn files_of(images: &[PreImageRecord], host: &dyn Host) -> Result<Vec<File>, UndoError> {
    let mut files: Vec<File> = Vec::new();
    let mut places: HashMap<&Path, usize> = HashMap::new();
    for image in images {
        if let Some(place) = places.get(&*image.path) {
            files[*place].add(image);
        } else {
            places.insert(&image.path, files.len());
            files.push(File::new(image, host)?);
        }
    }
    Ok(files)
}

/// Where a file is, if it still is where it was.
pub(super) fn place(image: &PreImageRecord, host: &dyn Host) -> Result<Location, UndoError> {
    let at = host.files().locate(&image.path).map_err(UndoError::File)?;
    if at.path() == image.path { Ok(at) } else { Err(UndoError::Moved(image.path.clone())) }
}
