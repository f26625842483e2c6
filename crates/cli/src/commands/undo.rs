//! `haft undo`: the files of a call, as they were before it.

use std::path::Path;
use std::sync::Arc;

use haft_contract::visible;
use haft_engine::{UndoError, Undone};
use haft_store::{CallLog, CallRecord};
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
        let log = wire::history(&wire.settings.paths.data_folder)?;
        let call = find(&log, &request.id).await?;
        // The call's own folder: paths are resolved there as they were when it ran.
        let folder = if call.workspace.is_dir() { call.workspace.clone() } else { wire.settings.workspace.clone() };
        let wired = wire.calling(&folder, log, Asking::Never)?;
        Ok(wired.engine.undo(Some(&call.id), &**wired.session.host(), request.force).await?)
    })?;
    show(&undone, output)?;
    Ok(Exit::Success)
}

async fn find(log: &Arc<dyn CallLog>, id: &str) -> Result<CallRecord, Failure> {
    match id {
        "last" => log.newest_undoable().await?.ok_or_else(|| UndoError::Nothing.into()),
        id => Ok(log.get(id).await?),
    }
}

fn show(undone: &Undone, output: &Output) -> Result<(), Failure> {
    let Undone { call, files } = undone;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if output.json {
        return output.data(&json!({ "status": "success", "call": history::to_json(call), "files": files }));
    }
    let mut page = Page::default();
    page.line(format_args!("undone: {} ({})", visible::line(&call.tool), call.id));
    for file in &files {
        let state = if Path::new(file).exists() { "put back" } else { "removed, as it did not exist before" };
        page.line(format_args!("  {}: {state}", visible::line(file)));
    }
    print(&page.finish())
}
