//! `haft undo`: restores the files that a call or a session changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_engine::{OverwrittenCopy, UndoError, UndoneCall, UndoneSession};
use haft_store::{CallFilter, CallLog, CallRecord, CallStatus, StateStore};
use haft_text::display;
use haft_tui::{calls, effects, irreversible};
use serde_json::{Value, json};

use crate::arguments::{Common, UndoArgs};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note, print};
use crate::text_builder::TextBuilder;
use crate::wire::{self, Wire};

/// Names the newest call, or the newest session, of this workspace.
const LAST: &str = "last";

pub(crate) fn run(common: &Common, request: &UndoArgs, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    block_on(async {
        let store = wire::store(&wire.settings.data_folder)?;
        let log = &(Arc::clone(&store) as Arc<dyn CallLog>);
        if let Some(wanted) = &request.session {
            let session = session_of(&store, wanted, &wire.settings.workspace).await?;
            let recorded = irreversible::calls_of(log, &session).await?;
            let undone = undo_session(&wire, log, &session, request.force).await?;
            let beyond: Vec<String> = recorded.iter().flat_map(irreversible::effects_of).collect();
            return show_session(&session, &undone, &beyond, output);
        }
        let undone = match request.id.as_deref() {
            None | Some(LAST) => last(&wire, log, request.force).await?,
            Some(id) => undo_call(&wire, log, &log.get(id).await?, request.force).await??,
        };
        show(&undone, output)
    })?;
    Ok(Exit::Success)
}

/// The id of a session; `last` is the session of the newest call of this workspace that can be undone.
async fn session_of(store: &Arc<StateStore>, wanted: &str, workspace: &Path) -> Result<String, Failure> {
    let log = &(Arc::clone(store) as Arc<dyn CallLog>);
    if wanted == LAST {
        return Ok(newest(log, workspace).await?.session);
    }
    // A single call has a session that is no conversation.
    match newest_of(log, wanted).await? {
        Some(call) => Ok(call.session),
        None => Ok(store.sessions().open(wanted).await?.id),
    }
}

async fn newest_of(log: &Arc<dyn CallLog>, session: &str) -> Result<Option<CallRecord>, Failure> {
    let filter = CallFilter { session: Some(session.to_owned()), limit: Some(1), ..CallFilter::default() };
    Ok(log.list(filter).await?.pop())
}

pub(crate) async fn undo_session(wire: &Wire, log: &Arc<dyn CallLog>, session: &str, force: bool) -> Result<UndoneSession, Failure> {
    let call = newest_of(log, session).await?.ok_or_else(|| UndoError::NothingIn(session.to_owned()))?;
    let setup = wire.restoring(folder_of(&call, wire), Arc::clone(log))?;
    Ok(setup.engine.undo_session(session, &**setup.session.host(), force).await?)
}

/// Undoes the newest call of this workspace that changed files.
async fn last(wire: &Wire, log: &Arc<dyn CallLog>, force: bool) -> Result<UndoneCall, Failure> {
    loop {
        let call = newest(log, &wire.settings.workspace).await?;
        match undo_call(wire, log, &call, force).await? {
            Err(UndoError::Already(_) | UndoError::NoFiles(_)) => {}
            Ok(undone) if undone.files.is_empty() => {}
            answer => return Ok(answer?),
        }
    }
}

pub(crate) async fn undo_call(
    wire: &Wire,
    log: &Arc<dyn CallLog>,
    call: &CallRecord,
    force: bool,
) -> Result<Result<UndoneCall, UndoError>, Failure> {
    let setup = wire.restoring(folder_of(call, wire), Arc::clone(log))?;
    Ok(setup.engine.undo(Some(&call.id), &**setup.session.host(), force).await)
}

/// The folder of the call, so that its paths resolve as when it ran.
fn folder_of<'a>(call: &'a CallRecord, wire: &'a Wire) -> &'a Path {
    if call.workspace.is_dir() { &call.workspace } else { &wire.settings.workspace }
}

/// The newest call of this workspace that changed something. A newer one whose changes are not known is not passed over.
async fn newest(log: &Arc<dyn CallLog>, workspace: &Path) -> Result<CallRecord, Failure> {
    let newest = log.newest_undoable().await?;
    let undoable = match &newest {
        Some(newest) if newest.workspace == workspace => Some(newest.clone()),
        Some(_) => newest_in(log, workspace).await?,
        None => None,
    };
    if let Some(unfinished) = unfinished_since(log, workspace, undoable.as_ref()).await? {
        return Err(UndoError::Unfinished(Box::new(unfinished)).into());
    }
    match (undoable, newest) {
        (Some(undoable), _) => Ok(undoable),
        (None, Some(newest)) => Err(elsewhere(&newest, workspace)),
        (None, None) => Err(UndoError::Nothing.into()),
    }
}

/// How many newer calls are searched for one whose outcome is not known.
const SEARCHED_UNFINISHED: usize = 200;

/// A newer call of this workspace that was begun, could change files, and has no outcome.
async fn unfinished_since(log: &Arc<dyn CallLog>, workspace: &Path, undoable: Option<&CallRecord>) -> Result<Option<CallRecord>, Failure> {
    let calls = log.list(CallFilter { limit: Some(SEARCHED_UNFINISHED), ..CallFilter::default() }).await?;
    let newer = calls.into_iter().take_while(|call| undoable.is_none_or(|undoable| call.id > undoable.id));
    let changes_files = |call: &CallRecord| {
        effects::all(&call.effects).iter().any(|effect| matches!(effect["effect"].as_str(), Some("write" | "delete" | "exec" | "unknown")))
    };
    let is_unfinished =
        |call: &CallRecord| call.status == CallStatus::Begun && !call.undone && call.workspace == workspace && changes_files(call);
    Ok(newer.into_iter().find(is_unfinished))
}

/// How many calls are searched, in steps: most undone calls are recent.
const SEARCH_STEPS: [usize; 3] = [100, 2_000, 100_000];

/// The newest call of this workspace that can be undone.
async fn newest_in(log: &Arc<dyn CallLog>, workspace: &Path) -> Result<Option<CallRecord>, Failure> {
    let mut seen = 0;
    for limit in SEARCH_STEPS {
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

pub(crate) fn show(undone: &UndoneCall, output: &Output) -> Result<(), Failure> {
    let UndoneCall { call, files, kept, uncovered } = undone;
    if output.json {
        let (files, kept, uncovered) = (files_to_json(files), kept_to_json(kept), files_to_json(uncovered));
        let data = json!({ "status": "success", "call": calls::to_json(call), "files": files, "kept": kept, "uncovered": uncovered });
        return output.data(&data);
    }
    let mut page = TextBuilder::default();
    page.line(format_args!("undone: {} ({})", display::escape_line(&call.tool), call.id));
    list(&mut page, files, kept, "after the call");
    list_uncovered(&mut page, uncovered);
    print(&page.finish())
}

fn show_session(session: &str, undone: &UndoneSession, beyond: &[String], output: &Output) -> Result<(), Failure> {
    let UndoneSession { calls, files, kept, uncovered } = undone;
    if output.json {
        let calls: Vec<_> = calls.iter().map(calls::to_json).collect();
        let (files, kept, uncovered) = (files_to_json(files), kept_to_json(kept), files_to_json(uncovered));
        return output.data(&json!({
            "status": "success", "session": session, "calls": calls, "files": files, "kept": kept, "uncovered": uncovered, "beyond": beyond,
        }));
    }
    let mut page = TextBuilder::default();
    let count = if calls.len() == 1 { "1 call".to_owned() } else { format!("{} calls", calls.len()) };
    page.line(format_args!("undone: session {} ({count})", display::escape_line(session)));
    list(&mut page, files, kept, "by something else");
    list_uncovered(&mut page, uncovered);
    if let Some(text) = irreversible::describe(beyond) {
        note(&display::escape_line(&text));
    }
    print(&page.finish())
}

fn list(page: &mut TextBuilder, files: &[PathBuf], kept: &[OverwrittenCopy], how: &str) {
    if files.is_empty() {
        page.line("  every file was restored already");
    }
    for file in files {
        let state = if file.exists() { "restored" } else { "removed, as it did not exist before" };
        page.line(format_args!("  {}: {state}", display::escape_line(&file.to_string_lossy())));
    }
    for kept in kept {
        let (path, copy) = (kept.path.to_string_lossy(), kept.copy.to_string_lossy());
        page.line(format_args!(
            "  {}: had been changed {how}; that is kept in {}",
            display::escape_line(&path),
            display::escape_line(&copy)
        ));
    }
}

/// The changes that stay.
fn list_uncovered(page: &mut TextBuilder, uncovered: &[PathBuf]) {
    for path in uncovered {
        page.line(format_args!("  {}: NOT restored, as its former state was not kept", display::escape_line(&path.to_string_lossy())));
    }
}

fn files_to_json(files: &[PathBuf]) -> Value {
    files.iter().map(|file| file.to_string_lossy()).collect()
}

pub(crate) fn kept_to_json(kept: &[OverwrittenCopy]) -> Value {
    kept.iter().map(|kept| json!({ "path": kept.path.to_string_lossy(), "copy": kept.copy.to_string_lossy() })).collect()
}
