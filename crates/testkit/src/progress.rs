//! Progress, written down.

use std::sync::Mutex;

use haft_contract::{CallInfo, Progress, ports::ProgressSink};

use crate::sync::lock;

/// Progress, written down in the order it came.
#[derive(Debug, Default)]
pub struct ProgressRecorder {
    seen: Mutex<Vec<(String, Progress)>>,
}

impl ProgressRecorder {
    /// Each update with the id of its call.
    pub fn seen(&self) -> Vec<(String, Progress)> {
        lock(&self.seen).clone()
    }
    /// The messages alone.
    pub fn messages(&self) -> Vec<String> {
        lock(&self.seen).iter().map(|(_, progress)| progress.message.clone()).collect()
    }
}

impl ProgressSink for ProgressRecorder {
    fn progress(&self, call: &CallInfo, progress: Progress) {
        lock(&self.seen).push((call.id.clone(), progress));
    }
}
