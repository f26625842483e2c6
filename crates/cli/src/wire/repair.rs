//! Repair at the start: calls that were cut off when their process was killed.

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::ports::Services;
use haft_engine::{RepairedCall, UndoError};
use haft_store::{CallLog, CallRecord};
use haft_text::{display, numbers};
use haft_tui::time::local_time;

use super::{JobSettings, UserPrompts, Wire};
use crate::arguments::CallerArgs;
use crate::failure::Failure;
use crate::output::warn;

/// How many files a message names.
const MAX_NAMED: usize = 5;

impl Wire {
    /// Finishes or takes back the changes of calls that were cut off, and prints that.
    pub(crate) async fn repair_interrupted(&self, log: &Arc<dyn CallLog>) {
        let interrupted = match log.take_interrupted().await {
            Ok(interrupted) => interrupted,
            Err(error) => return warn(&format!("calls that were cut off cannot be looked for: {error}")),
        };
        for call in interrupted {
            // The folder may be on a disk that is not there now; the next start tries again.
            if !call.workspace.is_dir() {
                continue;
            }
            match self.repair(log, call.clone()).await {
                Ok(repaired) => describe(&call, &repaired).iter().for_each(|text| warn(text)),
                Err(failure) => warn(&format!("{} cannot be repaired: {}", name(&call), failure.message)),
            }
        }
    }

    async fn repair(&self, log: &Arc<dyn CallLog>, call: CallRecord) -> Result<RepairedCall, Failure> {
        let setup = self.calling(
            &call.workspace,
            Arc::clone(log),
            JobSettings::default,
            UserPrompts::Never,
            &CallerArgs::default(),
            Services::default(),
        )?;
        Ok(setup.engine.repair(call, &**setup.session.host()).await?)
    }
}

fn name(call: &CallRecord) -> String {
    format!("{} of {} ({})", display::escape_line(&call.tool), local_time(call.started, "%Y-%m-%d %H:%M"), call.id)
}

fn describe(call: &CallRecord, repaired: &RepairedCall) -> Option<String> {
    let cut = format!("{} was cut off when its process ended", name(call));
    Some(match repaired {
        RepairedCall::Finished(files) => format!("{cut}: all its changes had been made, and stay ({})", join_names(files)),
        RepairedCall::TakenBack(files) => format!("{cut}: its changes were incomplete and were taken back ({})", join_names(files)),
        RepairedCall::Failed(UndoError::Changed(files)) => format!(
            "{cut}: its changes are incomplete and stay, because these files were changed since: {}; `haft undo {} --force` takes them \
             back and keeps a copy",
            join_names(files),
            call.id
        ),
        RepairedCall::Failed(why) => {
            format!("{cut}: its changes are incomplete and could not be taken back: {why}; `haft undo {}` tries again", call.id)
        }
        // Nothing changed, or nobody can tell: the history says so.
        _ => return None,
    })
}

fn join_names(files: &[PathBuf]) -> String {
    let shown: Vec<_> = files.iter().take(MAX_NAMED).map(|file| display::escape_line(&file.to_string_lossy()).into_owned()).collect();
    match files.len().saturating_sub(MAX_NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), numbers::group_digits(more)),
    }
}
