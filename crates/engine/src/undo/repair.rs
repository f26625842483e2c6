//! Repair of a call that was cut off in the middle of its changes: finished, or taken back.
//!
//! A call keeps the pre-image of a file before it changes that file, so the pre-images of a call that was killed name every file that
//! it may have changed. If all planned files are as the call would have left them, it is done and only its result was lost. Otherwise
//! it is undone: half of a patch is worth less than none.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use haft_contract::ports::Host;
use haft_store::{CallRecord, CallStatus, PreImageRecord};
use serde_json::Value;

use super::{UndoError, file_changes};
use crate::engine::Engine;

/// The `error_type` of a call whose process ended before it did.
const INTERRUPTED: &str = "interrupted";

/// What became of a call that was cut off.
#[derive(Debug)]
#[non_exhaustive]
pub enum RepairedCall {
    /// Every change had been made; the call counts as done.
    Finished(Vec<PathBuf>),
    /// Some changes had been made, and were taken back.
    TakenBack(Vec<PathBuf>),
    /// No change had been made.
    Unchanged,
    /// It ran a program or did something else that files do not show; nothing was touched.
    Unknown,
    /// Some changes had been made, and could not be taken back.
    Failed(UndoError),
}

impl Engine {
    /// Finishes or takes back a call that [`CallLog::take_interrupted`](haft_store::CallLog::take_interrupted) returned, and records
    /// that.
    pub async fn repair(&self, call: CallRecord, host: &dyn Host) -> Result<RepairedCall, UndoError> {
        let log = &self.inner.log;
        if !changes_files_alone(&call.effects) {
            log.settle_interrupted(&call.id).await?;
            return Ok(RepairedCall::Unknown);
        }
        let images = log.pre_images(&call.id).await?;
        if !images.is_empty() && self.is_finished(&call, &images, host).await.unwrap_or(false) {
            let text = "All changes were made. The process ended before the result was recorded.";
            self.record_repair(&call, CallStatus::Success, text).await?;
            return Ok(RepairedCall::Finished(paths(&images)));
        }
        let undone =
            if images.is_empty() { Ok(Vec::new()) } else { self.undo_call(call.clone(), host, false).await.map(|undone| undone.files) };
        let (text, repaired) = match undone {
            Ok(files) if files.is_empty() => ("The process ended before anything was changed.", RepairedCall::Unchanged),
            Ok(files) => ("The process ended in the middle of the changes, so they were taken back.", RepairedCall::TakenBack(files)),
            Err(error) => {
                log.settle_interrupted(&call.id).await?;
                return Ok(RepairedCall::Failed(error));
            }
        };
        self.record_repair(&call, CallStatus::Error(INTERRUPTED.to_owned()), text).await?;
        Ok(repaired)
    }

    async fn record_repair(&self, call: &CallRecord, status: CallStatus, summary: &str) -> Result<(), UndoError> {
        let log = &self.inner.log;
        log.append(CallRecord { status, summary: summary.to_owned(), ..call.clone() })?;
        Ok(log.flush().await?)
    }

    /// Whether every planned path is as the call would have left it.
    async fn is_finished(&self, call: &CallRecord, images: &[PreImageRecord], host: &dyn Host) -> Result<bool, UndoError> {
        let kept: HashSet<&Path> = images.iter().map(|image| &*image.path).collect();
        let mut planned = changed_paths(&call.effects);
        if !planned.all(|path| kept.contains(path)) {
            return Ok(false);
        }
        for file in file_changes::files_of(images, host)? {
            let now = host.files().state(&file.at).await.map_err(UndoError::File)?;
            // Of several changes to a file, only the last one is the end.
            let is_last = file.changes.last().and_then(|change| change.left.last()).is_some_and(|left| *left == now);
            if !is_last {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn paths(images: &[PreImageRecord]) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    images.iter().map(|image| image.path.clone()).filter(|path| seen.insert(path.clone())).collect()
}

fn effects(effects: &Value) -> impl Iterator<Item = (&str, &Value)> {
    effects.as_array().into_iter().flatten().map(|effect| (effect["effect"].as_str().unwrap_or_default(), effect))
}

/// Whether a call did nothing but read and change files.
fn changes_files_alone(recorded: &Value) -> bool {
    let mut kinds = effects(recorded).map(|(kind, _)| kind).peekable();
    kinds.peek().is_some() && kinds.all(|kind| matches!(kind, "read" | "write" | "delete"))
}

fn changed_paths(recorded: &Value) -> impl Iterator<Item = &Path> {
    effects(recorded)
        .filter(|(kind, _)| matches!(*kind, "write" | "delete"))
        .filter_map(|(_, effect)| effect["path"].as_str().map(Path::new))
}
