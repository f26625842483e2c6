//! Classification of failures: of one change, of the connection, or of the server.

use std::error::Error;
use std::io;

use tokio_postgres::error::SqlState;

use crate::{ServerFault, StoreError};

/// Why something could not be read or written.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the connection said no.
    Server(tokio_postgres::Error),
    /// The same, where there is no error of the library.
    Fault(ServerFault, String),
    /// The store itself says no.
    Store(StoreError),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Of the file that is copied from.
impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(crate::error::SqlFault::from(error).into())
    }
}

impl From<deadpool_postgres::PoolError> for Failure {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error)
            | deadpool_postgres::PoolError::PostCreateHook(deadpool_postgres::HookError::Backend(error)) => Self::Server(error),
            deadpool_postgres::PoolError::Timeout(_) => {
                Self::Fault(ServerFault::Unreachable, "no connection was free or could be made in time".to_owned())
            }
            other => Self::Fault(ServerFault::Other, other.to_string()),
        }
    }
}

impl Failure {
    pub(super) fn unreadable(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Fault(ServerFault::Unreadable, format!("{what}: {error}"))
    }

    pub(super) fn fault(&self) -> Option<ServerFault> {
        match self {
            Self::Server(error) => Some(fault_of(error)),
            Self::Fault(fault, _) => Some(*fault),
            Self::Store(_) => None,
        }
    }

    /// Whether it failed because of what was to be written: trying it again would fail again.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.fault(), None | Some(ServerFault::Rejected | ServerFault::Unreadable))
    }

    /// Whether it is likely to be over soon.
    pub(super) fn is_passing(&self) -> bool {
        let is_conflict = |error: &tokio_postgres::Error| {
            error.code().is_some_and(|code| [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code))
        };
        match self {
            Self::Server(error) if is_conflict(error) => true,
            _ => matches!(self.fault(), Some(ServerFault::Unreachable | ServerFault::TooManyConnections)),
        }
    }

    /// The error for a caller.
    pub(super) fn to_store_error(&self, server: &str) -> StoreError {
        let of = |fault, said| StoreError::Server { server: server.to_owned(), fault, said };
        match self {
            Self::Server(error) => of(fault_of(error), server_message(error)),
            Self::Fault(fault, said) => of(*fault, said.clone()),
            Self::Store(error) => of(ServerFault::Other, error.to_string()),
        }
    }

    /// The error for the only caller.
    pub(super) fn into_error(self, server: &str) -> StoreError {
        match self {
            Self::Store(error) => error,
            other => other.to_store_error(server),
        }
    }
}

/// What the server said, or why there is no server.
fn server_message(error: &tokio_postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        return match told.detail() {
            Some(detail) => format!("{}: {detail}", told.message()),
            None => told.message().to_owned(),
        };
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn fault_of(error: &tokio_postgres::Error) -> ServerFault {
    let Some(code) = error.code() else { return fault_without_code(error) };
    fault_with_code(code.code(), error.as_db_error().map(tokio_postgres::error::DbError::message).unwrap_or_default())
}

fn fault_with_code(code: &str, message: &str) -> ServerFault {
    match (code, code.get(..2).unwrap_or_default()) {
        ("57P01" | "57P02" | "57P03" | "57P05", _) | (_, "08") => ServerFault::Unreachable,
        ("53300", _) => ServerFault::TooManyConnections,
        ("25006", _) => ServerFault::ReadOnly,
        // One that misses a file of its own is broken, and not full.
        ("58030", _) | (_, "53") => ServerFault::Full,
        // A new connection writes one, and its error has no code of its own when the disk is full.
        ("XX000", _) if message == "could not write init file" => ServerFault::Full,
        ("3D000" | "42501", _) | (_, "28") => ServerFault::Refused,
        (_, "22" | "23" | "54") => ServerFault::Rejected,
        _ => ServerFault::Other,
    }
}

fn fault_without_code(error: &tokio_postgres::Error) -> ServerFault {
    let text = error.to_string();
    if text.starts_with("error performing TLS") {
        return ServerFault::Unencrypted;
    }
    let is_io = error.source().is_some_and(|source| source.downcast_ref::<io::Error>().is_some());
    if error.is_closed() || is_io || text.starts_with("error connecting") || text.starts_with("timeout") {
        return ServerFault::Unreachable;
    }
    if text.starts_with("error serializing") {
        return ServerFault::Rejected;
    }
    if text.starts_with("error deserializing") || text.starts_with("invalid column") {
        return ServerFault::Unreadable;
    }
    if text.starts_with("authentication") || text.starts_with("invalid config") {
        return ServerFault::Refused;
    }
    ServerFault::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_known_by_its_code_or_by_its_message() {
        for (code, message, fault) in [
            ("53100", "could not extend file", ServerFault::Full),
            ("58030", "could not write to file", ServerFault::Full),
            ("XX000", "could not write init file", ServerFault::Full),
            ("XX000", "cache lookup failed", ServerFault::Other),
            ("", "", ServerFault::Other),
        ] {
            assert_eq!(fault_with_code(code, message), fault, "{code} {message}");
        }
    }
}
