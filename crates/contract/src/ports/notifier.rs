//! Port for notices to the user.

use crate::{BoxFuture, ToolError};

/// A notice to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The text.
    pub message: String,
    /// `low`, `normal`, `high` or `critical`.
    pub urgency: String,
    /// The recipient.
    pub recipient: String,
}

/// Shows notices.
pub trait Notifier: Send + Sync {
    /// Shows a notice; returns where.
    fn notify(&self, notice: Notice) -> BoxFuture<'_, Result<String, ToolError>>;
}
