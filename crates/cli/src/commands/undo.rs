//! `haft undo`: the files of a call, or of a session, as they were before it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::visible;
use haft_engine::{Kept, UndoError, Undone, UndoneSession};
use haft_store::{CallFilter, CallLog, CallRecord};
use serde_json::{Value, json};

use crate::arguments::{Common, Undo};
use crate::commands::chat::back;
use crate::commands::{block_on, history};
use crate::failure::{Exit, Failure};
use crate::output::{Output, note, print};
use crate::page::Page;
use crate::wire::{self, Asking, Following, Stores, Wire};

/// Names the newest call, or the newest session, of this workspace.
const LAST: &str = "last";

pub(crate) fn run(common: &Common, request: &Undo, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    block_on(async {
        let stores = wire::stores(&wire.settings.data_folder)?;
        let log = &stores.log;
        if let Some(wanted) = &request.session {
            let session = session_of(&stores, wanted, &wire.settings.workspace).await?;
            let calls = back::calls_of(log, &session).await?;
            let undone = take_session_back(&wire, log, &session, request.force).await?;
            let beyond: Vec<String> = calls.iter().flat_map(back::lasting).collect();
            return show_session(&session, &undone, &beyond, output);
        }
        let undone = match request.id.as_deref() {
            None | Some(LAST) => last(&wire, log, request.force).await?,
            Some(id) => take_back(&wire, log, &log.get(id).await?, request.force).await??,
        };
        show(&undone, output)
    })?;
    Ok(Exit::Success)
}

/// The id of a session; the last one is that of the newest call in this workspace with something to put back.
async fn session_of(stores: &Stores, wanted: &str, workspace: &Path) -> Result<String, Failure> {
    if wanted == LAST {
        return Ok(newest(&stores.log, workspace).await?.session);
    }
    // Not every session is a conversation: a single call has one as well.
    match newest_of(&stores.log, wanted).await? {
        Some(call) => Ok(call.session),
        None => Ok(stores.sessions.open(wanted).await?.id),
    }
}

async fn newest_of(log: &Arc<dyn CallLog>, session: &str) -> Result<Option<CallRecord>, Failure> {
    let filter = CallFilter { session: Some(session.to_owned()), limit: Some(1), ..CallFilter::default() };
    Ok(log.list(filter).await?.pop())
}

async fn take_session_back(wire: &Wire, log: &Arc<dyn CallLog>, session: &str, force: bool) -> Result<UndoneSession, Failure> {
    let call = newest_of(log, session).await?.ok_or_else(|| UndoError::NothingIn(session.to_owned()))?;
    let wired = wire.calling(folder_of(&call, wire), Arc::clone(log), Following::default(), Asking::Never)?;
    Ok(wired.engine.undo_session(session, &**wired.session.host(), force).await?)
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
    let wired = wire.calling(folder_of(call, wire), Arc::clone(log), Following::default(), Asking::Never)?;
    Ok(wired.engine.undo(Some(&call.id), &**wired.session.host(), force).await)
}

/// The call's own folder: paths are resolved there as they were when it ran.
fn folder_of<'a>(call: &'a CallRecord, wire: &'a Wire) -> &'a Path {
    if call.workspace.is_dir() { &call.workspace } else { &wire.settings.workspace }
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
    if output.json {
        let (files, kept) = (files_to_json(files), kept_to_json(kept));
        return output.data(&json!({ "status": "success", "call": history::to_json(call), "files": files, "kept": kept }));
    }
    let mut page = Page::default();
    page.line(format_args!("undone: {} ({})", visible::line(&call.tool), call.id));
    list(&mut page, files, kept, "after the call");
    print(&page.finish())
}

fn show_session(session: &str, undone: &UndoneSession, beyond: &[String], output: &Output) -> Result<(), Failure> {
    let UndoneSession { calls, files, kept } = undone;
    if output.json {
        let calls: Vec<_> = calls.iter().map(history::to_json).collect();
        let (files, kept) = (files_to_json(files), kept_to_json(kept));
        let data = json!({ "status": "success", "session": session, "calls": calls, "files": files, "kept": kept, "beyond": beyond });
        return output.data(&data);
    }
    let mut page = Page::default();
    let count = if calls.len() == 1 { "1 call".to_owned() } else { format!("{} calls", calls.len()) };
    page.line(format_args!("undone: session {} ({count})", visible::line(session)));
    list(&mut page, files, kept, "by something else");
    if let Some(told) = back::told(beyond) {
        note(&visible::line(&told));
    }
    print(&page.finish())
}

fn list(page: &mut Page, files: &[PathBuf], kept: &[Kept], how: &str) {
    if files.is_empty() {
        page.line("  every file was as before already");
    }
    for file in files {
        let state = if file.exists() { "put back" } else { "removed, as it did not exist before" };
        page.line(format_args!("  {}: {state}", visible::line(&file.to_string_lossy())));
    }
    for kept in kept {
        let (path, copy) = (kept.path.to_string_lossy(), kept.copy.to_string_lossy());
        page.line(format_args!("  {}: had been changed {how}; that is kept in {}", visible::line(&path), visible::line(&copy)));
    }
}

fn files_to_json(files: &[PathBuf]) -> Value {
    files.iter().map(|file| file.to_string_lossy()).collect()
}

fn kept_to_json(kept: &[Kept]) -> Value {
    kept.iter().map(|kept| json!({ "path": kept.path.to_string_lossy(), "copy": kept.copy.to_string_lossy() })).collect()
}
