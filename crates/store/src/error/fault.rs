//! A fault of the database, without the library that it came from.

use std::fmt;

/// A fault that the database reported.
pub struct DatabaseFault {
    #[cfg(feature = "sqlite")]
    pub(crate) error: rusqlite::Error,
    /// Without a database there is none.
    #[cfg(not(feature = "sqlite"))]
    error: std::convert::Infallible,
}

#[cfg(feature = "sqlite")]
impl DatabaseFault {
    pub(crate) fn new(error: rusqlite::Error) -> Self {
        Self { error }
    }
}

impl fmt::Debug for DatabaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl fmt::Display for DatabaseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for DatabaseFault {}
