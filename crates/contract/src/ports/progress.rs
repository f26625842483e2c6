//! Port for the progress of a running call.

use crate::{CallInfo, Progress};

/// Receives progress.
pub trait ProgressSink: Send + Sync {
    /// Called for each update of a running call; must not block.
    fn progress(&self, call: &CallInfo, progress: Progress);
}
