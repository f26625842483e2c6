//! The private folders that change sets lie in.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};

use super::NAME;

/// A folder without a set, of a run that is not over or was cut off, is left alone for this long.
const SETTLING: Duration = Duration::from_mins(1);

/// Writes a new file that only this person may read.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, bytes)
}

/// A name for a set that nobody can foresee.
pub(super) fn random_id() -> io::Result<String> {
    let mut random = [0; 10];
    SystemRandom::new().fill(&mut random).map_err(|_| io::Error::other("the machine has no random numbers"))?;
    Ok(format!("{NAME}{}", crate::files::hex_of(&random)))
}

/// Whether the run of a folder without a set was cut off.
pub(super) fn is_abandoned(folder: &Path) -> bool {
    let is_old =
        fs::metadata(folder).and_then(|metadata| metadata.modified()).is_ok_and(|made| made.elapsed().is_ok_and(|age| age > SETTLING));
    is_old && File::open(folder).is_ok_and(|lock| lock.try_lock().is_ok())
}

/// Removes a folder, even where a command has shut a directory of its own. What is left is tried again with the next run.
pub(super) fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        open_all(folder);
        fs::remove_dir_all(folder).ok();
    }
}

fn open_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).ok();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_all(&entry.path());
        }
    }
}
