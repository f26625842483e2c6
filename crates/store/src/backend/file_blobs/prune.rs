//! Removes old spills, and unfinished files that a crash left.

use std::io;
use std::time::{Duration, SystemTime};

use super::file_writer::UNFINISHED;
use crate::StoreError;
use crate::backend::folder::PrivateFolder;

/// A blob is never written for longer: an older unfinished one was abandoned.
const LONGEST_WRITING: Duration = Duration::from_hours(24);

/// Removes spills older than `age` and says how many. Pre-images stay: without them a call cannot be taken back.
pub(super) fn prune(spills: &PrivateFolder, pre_images: &PrivateFolder, age: Duration) -> Result<usize, StoreError> {
    let now = SystemTime::now();
    let abandoned = now.checked_sub(age.max(LONGEST_WRITING));
    remove_old(pre_images, |name| abandoned.filter(|_| is_unfinished(name)))?;
    let limit = |name: &str| if is_unfinished(name) { abandoned } else { now.checked_sub(age) };
    let mut removed = remove_old(spills, limit)?;
    for name in session_folders(spills)? {
        let folder = spills.folder(&name)?;
        let modified = folder.path().symlink_metadata().and_then(|found| found.modified());
        removed += remove_old(&folder, limit)?;
        // A younger one may be in use. One that holds spills cannot be removed, and stays.
        if modified.is_ok_and(|modified| now.checked_sub(age).is_some_and(|limit| modified < limit)) {
            spills.remove_folder(&name).ok();
        }
    }
    Ok(removed)
}

/// The folders of sessions among the spills.
fn session_folders(spills: &PrivateFolder) -> Result<Vec<String>, StoreError> {
    let names = spills.names().map_err(|error| StoreError::io(spills.path(), error))?;
    let is_folder =
        |name: &String| name != "." && name != ".." && spills.path().join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
    Ok(names.into_iter().filter(is_folder).collect())
}

fn is_unfinished(name: &str) -> bool {
    name.ends_with(UNFINISHED)
}

/// Removes the ordinary files that were last changed before the time for their name.
fn remove_old(folder: &PrivateFolder, limit: impl Fn(&str) -> Option<SystemTime>) -> Result<usize, StoreError> {
    let mut removed = 0;
    for name in folder.names().map_err(|error| StoreError::io(folder.path(), error))? {
        let Some(limit) = limit(&name) else { continue };
        match remove_if_older(folder, &name, limit) {
            Ok(true) => removed += 1,
            Ok(false) => {}
            // Another process prunes too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io(&folder.path().join(name), error)),
        }
    }
    Ok(removed)
}

fn remove_if_older(folder: &PrivateFolder, name: &str, limit: SystemTime) -> io::Result<bool> {
    let found = folder.path().join(name).symlink_metadata()?;
    let old = found.is_file() && found.modified()? < limit;
    if old {
        folder.remove(name)?;
    }
    Ok(old)
}
