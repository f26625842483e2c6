//! `haft undo`: the files of a call, as they were before it.

use std::path::Path;
use std::sync::Arc;

use haft_contract::visible;
use haft_engine::{UndoError, Undone};
use haft_store::{CallFilter, CallLog, CallRecord};
use serde_json::json;

use crate::arguments::{Common, Undo};
use crate::commands::{block_on, history};
use crate::failure::{Exit, Failure};
use crate::output::{Output, print};
use crate::page::Page;
use crate::wire::{self, Asking, Wire};

pub(crate) fn run(common: &Common, request: &Undo, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let undone = block_on(async {
        let log = wire::history(&wire.settings.data_folder)?;
        match request.id.as_str() {
            "last" => last(&wire, &log, request.force).await,
            id => Ok(take_back(&wire, &log, &log.get(id).await?, request.force).await??),
        }
    })?;
    show(&undone, output)?;
    Ok(Exit::Success)
}

/// The newest call of this workspace that has something to put back; those that have not are passed over.
async fn last(wire: &Wire, log: &Arc<dyn CallLog>, force: bool) -> Result<Undone, Failure> {
    loop {
        let call = newest(log, &wire.settings.workspace).await?;
        match take_back(wire, log, &call, force).await? {
            Err(UndoError::Already(_) | UndoError::NoFiles(_)) => {}
            Ok(undone) if undone.files.is_empty() => {}
            answer => return Ok(answer?),
        }
    }
}

pub(crate) async fn take_back(
    wire: &Wire,
    log: &Arc<dyn CallLog>,
    call: &CallRecord,
    force: bool,
) -> Result<Result<Undone, UndoError>, Failure> {
    // The call's own folder: paths are resolved there as they were when it ran.
    let folder = if call.workspace.is_dir() { &call.workspace } else { &wire.settings.workspace };
    let wired = wire.calling(folder, Arc::clone(log), Asking::Never)?;
    Ok(wired.engine.undo(Some(&call.id), &**wired.session.host(), force).await)
}

async fn newest(log: &Arc<dyn CallLog>, workspace: &Path) -> Result<CallRecord, Failure> {
    match log.newest_undoable().await? {
        None => Err(UndoError::Nothing.into()),
        Some(newest) if newest.workspace == workspace => Ok(newest),
        Some(newest) => newest_in(log, workspace).await?.ok_or_else(|| elsewhere(&newest, workspace)),
    }
}

/// How many calls are looked through, step by step: what is undone is mostly young.
const LOOKED_THROUGH: [usize; 3] = [100, 2_000, 100_000];

/// The newest call of this workspace that can be undone.
async fn newest_in(log: &Arc<dyn CallLog>, workspace: &Path) -> Result<Option<CallRecord>, Failure> {
    let mut seen = 0;
    for limit in LOOKED_THROUGH {
        let calls = log.list(CallFilter { limit: Some(limit), ..CallFilter::default() }).await?;
        let complete = calls.len() < limit;
        let found = calls.len();
        for call in calls.into_iter().skip(seen).filter(|call| !call.undone && call.workspace == workspace) {
            if !log.pre_images(&call.id).await?.is_empty() {
                return Ok(Some(call));
            }
        }
        if complete {
            break;
        }
        seen = found;
    }
    Ok(None)
}

fn elsewhere(newest: &CallRecord, workspace: &Path) -> Failure {
    let (here, there) = (workspace.display(), newest.workspace.display());
    let message = format!("there is no call left to undo in {here}; the newest one is in {there}: {}", newest.tool);
    Failure::failed("not_undone", message).help(format!("`haft undo {}` undoes that one", newest.id))
}

pub(crate) fn show(undone: &Undone, output: &Output) -> Result<(), Failure> {
    let Undone { call, files, kept } = undone;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if output.json {
        let kept: Vec<_> =
            kept.iter().map(|kept| json!({ "path": kept.path.to_string_lossy(), "copy": kept.copy.to_string_lossy() })).collect();
        return output.data(&json!({ "status": "success", "call": history::to_json(call), "files": files, "kept": kept }));
    }
    let mut page = Page::default();
    page.line(format_args!("undone: {} ({})", visible::line(&call.tool), call.id));
    if files.is_empty() {
        page.line("  every file was as before already");
    }
    for file in &files {
        let state = if Path::new(file).exists() { "put back" } else { "removed, as it did not exist before" };
        page.line(format_args!("  {}: {state}", visible::line(file)));
    }
    for kept in kept {
        let (path, copy) = (kept.path.to_string_lossy(), kept.copy.to_string_lossy());
        page.line(format_args!("  {}: had been changed after the call; that is kept in {}", visible::line(&path), visible::line(&copy)));
    }
    print(&page.finish())
}
