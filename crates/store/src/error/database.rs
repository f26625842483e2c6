//! What SQLite reports, sorted by what to do about it.

use std::io::{self, ErrorKind};
use std::path::Path;

use rusqlite::{ErrorCode, ffi};
use rustix::fs::{Access, StatVfsMountFlags};

use super::{DatabaseFault, StoreError};

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

impl StoreError {
    /// Classifies a database error: some have a remedy of their own.
    pub(crate) fn database(path: &Path, source: impl Into<DatabaseFault>) -> Self {
        let source = source.into();
        let path = path.to_owned();
        match source.error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source },
            _ if is_moved(&source.error) => Self::Vanished { path },
            Some(
                ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure,
            ) => {
                let (kind, cause) = disk_state(&path);
                let source = io::Error::new(kind, format!("{cause} ({source})"));
                Self::Io { path, source }
            }
            _ => Self::Database(source),
        }
    }
}

/// Less free space than this is none: a database needs a few pages.
const MIN_FREE_BYTES: u64 = 64 << 10;

/// Why a file of the database cannot be used: its own errors hardly say.
fn disk_state(path: &Path) -> (ErrorKind, &'static str) {
    let folder = path.parent().unwrap_or(path);
    let disk = rustix::fs::statvfs(folder);
    match disk {
        Err(_) => (ErrorKind::NotFound, "its folder cannot be found"),
        Ok(disk) if disk.f_flag.contains(StatVfsMountFlags::RDONLY) => (ErrorKind::ReadOnlyFilesystem, "the disk is mounted read-only"),
        Ok(disk) if disk.f_bavail.saturating_mul(disk.f_frsize) < MIN_FREE_BYTES => (ErrorKind::StorageFull, "the disk is full"),
        Ok(_) if [folder, path].iter().any(|path| rustix::fs::access(*path, Access::WRITE_OK).is_err()) => {
            (ErrorKind::PermissionDenied, "it may not be written")
        }
        Ok(_) => (ErrorKind::Other, "the disk reports an error"),
    }
}

/// The failure of a database whose file is no longer the one that was opened.
pub(crate) fn moved() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY_DBMOVED), None)
}

fn is_moved(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code == ffi::SQLITE_READONLY_DBMOVED)
}
