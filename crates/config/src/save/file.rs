//! Finds, locks, reads and atomically replaces the file.

#![allow(clippy::disallowed_types, reason = "the bans are for tools: this is the user's own configuration")]

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::SaveError;
use crate::read;

/// The target of a link, so that the link stays; any other file is its own.
pub(super) fn target(file: &Path) -> Result<PathBuf, SaveError> {
    let unusable = |why: String| SaveError::Unusable { file: file.to_owned(), why };
    match file.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => {
            file.canonicalize().map_err(|error| unusable(format!("it is a symbolic link that leads nowhere: {error}")))
        }
        _ => std::path::absolute(file).map_err(|error| unusable(error.to_string())),
    }
}

/// Creates the folder of the file, private to the user, if it is missing.
pub(super) fn make_folder(file: &Path) -> Result<(), SaveError> {
    let folder = folder_of(file);
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| SaveError::Write { file: folder.to_owned(), source })
}

/// Locks the file against other processes. The lock is a file of its own, because the file itself is replaced.
pub(super) fn lock(file: &Path, timeout: Duration) -> Result<File, SaveError> {
    const PAUSE: Duration = Duration::from_millis(5);
    let path = beside(file, "lock");
    let failed = |source| SaveError::Write { file: path.clone(), source };
    let lock = private().create(true).truncate(false).open(&path).map_err(failed)?;
    let started = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if started.elapsed() >= timeout => return Err(SaveError::Busy { file: path }),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

/// The text of the file; `None` if it is not there.
pub(super) fn read(file: &Path) -> Result<Option<String>, SaveError> {
    let unusable = |why: String| SaveError::Unusable { file: file.to_owned(), why };
    // A rename would replace a read-only file, so this is checked here.
    if file.metadata().is_ok_and(|metadata| metadata.permissions().readonly()) {
        return Err(unusable("it is read-only".into()));
    }
    read::read(file).map_err(unusable)
}

/// Replaces the file atomically, with its mode.
pub(super) fn replace(file: &Path, text: &str) -> Result<(), SaveError> {
    if text.len() as u64 > read::MAX_BYTES {
        let why = format!("it would be larger than {} bytes", read::MAX_BYTES);
        return Err(SaveError::Unusable { file: file.to_owned(), why });
    }
    let draft = beside(file, "new");
    let written = write(&draft, file, text).and_then(|()| std::fs::rename(&draft, file)).and_then(|()| sync(folder_of(file)));
    written.map_err(|source| {
        // The error of the write matters more than a draft that stays.
        std::fs::remove_file(&draft).ok();
        SaveError::Write { file: file.to_owned(), source }
    })
}

/// Removes the file.
pub(super) fn remove(file: &Path) -> Result<(), SaveError> {
    let removed = std::fs::remove_file(file).and_then(|()| sync(folder_of(file)));
    removed.map_err(|source| SaveError::Write { file: file.to_owned(), source })
}

fn write(draft: &Path, file: &Path, text: &str) -> std::io::Result<()> {
    // A draft that a crash left behind: the lock is held, so no other process writes it.
    if draft.symlink_metadata().is_ok() {
        std::fs::remove_file(draft)?;
    }
    let mut new = private().create_new(true).open(draft)?;
    if let Ok(metadata) = file.metadata() {
        new.set_permissions(metadata.permissions())?;
    }
    new.write_all(text.as_bytes())?;
    new.sync_all()
}

#[cfg(unix)]
fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("/"))
}

/// A hidden file beside it.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    folder_of(file).join(format!(".{name}.{ending}"))
}
