//! To-do lists of sessions.

use std::time::SystemTime;

/// How many versions of a list are kept; the newest stay.
pub(crate) const MAX_VERSIONS: u64 = 1_000;

/// One version of a to-do list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoVersion {
    /// The call that made it.
    pub call: String,
    /// When.
    pub at: SystemTime,
    /// JSON text, which the store does not look into.
    pub body: String,
}

impl TodoVersion {
    /// A version that is made now.
    pub fn new(call: impl Into<String>, body: impl Into<String>) -> Self {
        Self { call: call.into(), at: SystemTime::now(), body: body.into() }
    }
}
