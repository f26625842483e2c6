//! What SQLite reports, sorted by what to do about it.

use std::io::{self, ErrorKind};
use std::path::Path;

use rusqlite::{ErrorCode, ffi};
use rustix::fs::{Access, StatVfsMountFlags};

use super::{DatabaseFault, StoreError};

/// What a statement fails with, before it is known of which file. Within this crate: what an embedding program gets names no type of
/// the database's library.
#[derive(Debug)]
pub(crate) enum SqlFault {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl SqlFault {
    /// Says of which file it was.
    pub(crate) fn in_file(self, path: &Path) -> StoreError {
        match self {
            Self::Sql(error) => StoreError::database(path, error),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for SqlFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for SqlFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SqlFault> for StoreError {
    fn from(fault: SqlFault) -> Self {
        match fault {
            SqlFault::Sql(error) => Self::Database(DatabaseFault::new(error)),
            SqlFault::Store(error) => error,
        }
    }
}

impl StoreError {
    /// Classifies a database error: some have a remedy of their own.
    pub(crate) fn database(path: &Path, error: rusqlite::Error) -> Self {
        let source = DatabaseFault::new(error);
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
