//! Progress of a call, one line for each update: what is finished is never redrawn.

use haft_contract::visible;
use haft_contract::{CallInfo, Progress, ProgressSink};

use crate::output::DIM;

/// Shows progress on standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalProgress;

impl ProgressSink for TerminalProgress {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        super::in_its_place(&format!("{DIM}{}: {}{DIM:#}\n", visible::line(&call.tool), visible::line(&progress.message)));
    }
}
