//! What can go wrong with the store, each with what to do about it.

use std::path::PathBuf;

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database was written by a newer Haft.
    #[error("the database {path} has schema version {found}, this haft knows up to {known}: use a newer haft, or another HAFT_HOME")]
    Newer {
        /// Which file.
        path: PathBuf,
        /// What it says.
        found: i64,
        /// What this binary knows.
        known: i64,
    },
    /// Another process held the database too long.
    #[error("the database {path} is locked by another process: wait for it to finish, or stop it")]
    Locked {
        /// Which file.
        path: PathBuf,
    },
    /// The disk or its permissions said no.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The database said no.
    #[error("the database could not be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// The writer is gone: the process is ending or the writer failed earlier.
    #[error("the store is closed: {0}")]
    Closed(String),
    /// There is no such thing.
    #[error("no {what} '{id}'")]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// Its id.
        id: String,
    },
}
