//! Classification of failures (of one change, or of the database), and copies of them for several callers.

use rusqlite::{Error, ErrorCode, ffi};

/// Whether a statement failed because of what it was to write: trying it again would fail again.
pub(super) fn is_own(error: &Error) -> bool {
    match error {
        Error::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch)
        }
        _ => true,
    }
}

/// The same failure once more; errors cannot be cloned.
pub(super) fn copy_of(error: &Error) -> Error {
    match error {
        Error::SqliteFailure(failure, message) => Error::SqliteFailure(*failure, message.clone()),
        other => Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(other.to_string())),
    }
}
