//! What calls did to a file, turn by turn.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use haft_contract::{EntryKind, Host, Location, PreImage};
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
    /// Its permissions, and what it was.
    pub(super) mode: Option<u32>,
    /// What it may have left: a change that was cut off did not happen, so it need not be the last.
    pub(super) left: Vec<Option<String>>,
}

impl File {
    fn new(image: &PreImageRecord, at: Location) -> Self {
        Self { at, before: image.clone(), turns: vec![Turn::new(image)], is_remade: false }
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
        Self { record: image.record.clone(), found: image.content.clone(), mode: image.mode, left: vec![image.after.clone()] }
    }
}

/// One for each file, in the order in which they were first changed.
pub(super) fn files_of(images: &[PreImageRecord], host: &dyn Host) -> Result<Vec<File>, UndoError> {
    let mut files: Vec<File> = Vec::new();
    let mut places: HashMap<&Path, usize> = HashMap::new();
    let entries: HashSet<&Path> = images.iter().filter(|image| is_entry(image)).map(|image| &*image.path).collect();
    for image in images {
        if let Some(place) = places.get(&*image.path) {
            files[*place].add(image);
        } else {
            places.insert(&image.path, files.len());
            // What a link has taken the place of is put back before what was in it.
            let is_entry = image.path.ancestors().any(|path| entries.contains(path));
            let at = if is_entry { host.files().locate_entry(&image.path).map_err(UndoError::File)? } else { place(image, host)? };
            files.push(File::new(image, at));
        }
    }
    Ok(files)
}

/// Where a file is, if it still is where it was.
pub(super) fn place(image: &PreImageRecord, host: &dyn Host) -> Result<Location, UndoError> {
    let at = if is_entry(image) { host.files().locate_entry(&image.path) } else { host.files().locate(&image.path) };
    let at = at.map_err(UndoError::File)?;
    if at.path() == image.path { Ok(at) } else { Err(UndoError::Moved(image.path.clone())) }
}

/// Whether it is about a link or a directory itself.
fn is_entry(image: &PreImageRecord) -> bool {
    let was = image.mode.is_some_and(|mode| mode & PreImage::KIND != 0);
    was || image.after.as_deref().is_some_and(|after| PreImage::kind_of(after) != EntryKind::File)
}
