//! Staged changes of commands for the page.

use haft_contract::{ChangeKind, ChangeSet, ChangeSets, ChangeSide, EntryKind, FileChange, ToolResult};
use haft_gateway::{ChangeDecision, ChangeRequest, ToolRequest};
use serde_json::{Value, json};

use super::backend::ServeBackend;
use super::{machine, tools};
use crate::failure::Failure;
use crate::wire::CallSetup;

/// Sets that are listed, and paths of each.
const MOST_SETS: usize = 64;
const MOST_FILES: usize = 5_000;
/// The largest file that is compared.
const MOST_BYTES: usize = 1 << 20;
/// Lines around a change.
const CONTEXT: usize = 3;

pub(super) async fn answer(backend: &ServeBackend, request: ChangeRequest<'_>) -> Result<Value, Failure> {
    let setup = machine::workspace_session(backend)?;
    let sets = sets(&setup)?;
    match request {
        ChangeRequest::List => Ok(sets.list().iter().take(MOST_SETS).map(|set| summary(set)).collect()),
        ChangeRequest::Show(id) => {
            let set = find(sets, id)?;
            let mut value = summary(&set);
            value["files"] = set.changes.iter().take(MOST_FILES).map(|change| file(&set, change)).collect();
            Ok(value)
        }
        ChangeRequest::Diff(id, path) => {
            let set = find(sets, id)?;
            let index = index_of(&set, path)?;
            let mut value = file(&set, &set.changes[index]);
            value["diff"] = json!(difference(sets, &set, index).await);
            Ok(value)
        }
    }
}

/// Drops what is to be dropped, and commits the rest as the user. What was dropped comes back when the commit does not take place.
pub(super) async fn decide(backend: &ServeBackend, decision: &ChangeDecision, call_id: &str) -> Result<Option<ToolResult>, Failure> {
    let setup = machine::workspace_session(backend)?;
    let sets = sets(&setup)?;
    let set = find(sets, &decision.id)?;
    let kept = select_applied(&set, decision)?;
    if !decision.drop.is_empty() {
        let claimed = sets.claim(setup.session.id(), &set.id)?;
        if kept.is_empty() {
            sets.remove(&claimed.set).await;
            return Ok(None);
        }
        sets.retain(&claimed.set, &kept).await;
        // What was not stored would be applied.
        if find(sets, &set.id)?.changes.len() != kept.len() {
            return Err(Failure::failed("execution_error", "nothing was applied: the decision cannot be stored in the data folder")
                .help("free space there, then decide again"));
        }
    }
    let mut request = ToolRequest::new("exec", None);
    request.arguments = Some(json!({ "commit": set.id }));
    let result = tools::invoke(backend, &request, call_id).await;
    let is_applied = result.as_ref().is_ok_and(|result| result.outcome.is_ok());
    if !is_applied && !decision.drop.is_empty() {
        let all: Vec<usize> = (0..set.changes.len()).collect();
        sets.retain(&set, &all).await;
    }
    result.map(Some)
}

fn sets(setup: &CallSetup) -> Result<&dyn ChangeSets, Failure> {
    let missing = || Failure::failed("not_found", "commands are not staged on this machine");
    setup.session.host().processes().change_sets().ok_or_else(missing)
}

fn find(sets: &dyn ChangeSets, id: &str) -> Result<std::sync::Arc<ChangeSet>, Failure> {
    let missing = || Failure::failed("not_found", format!("there is no change set '{id}', or it was committed"));
    sets.list().into_iter().find(|set| set.id == id).ok_or_else(missing)
}

fn index_of(set: &ChangeSet, path: &str) -> Result<usize, Failure> {
    let mut found = set.changes.iter().enumerate().filter(|(_, change)| change.path.to_string_lossy() == path);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        _ => Err(Failure::failed("conflict", format!("the change set has no single path '{path}' now")).help("load it again")),
    }
}

/// The changes that are applied, by their index. Every path has to be decided on, so that nothing is lost by oversight.
fn select_applied(set: &ChangeSet, decision: &ChangeDecision) -> Result<Vec<usize>, Failure> {
    let indices = |paths: &[String]| paths.iter().map(|path| index_of(set, path)).collect::<Result<Vec<_>, _>>();
    let (mut kept, dropped) = (indices(&decision.apply)?, indices(&decision.drop)?);
    kept.sort_unstable();
    let mut all = [kept.as_slice(), dropped.as_slice()].concat();
    all.sort_unstable();
    if !all.iter().copied().eq(0..set.changes.len()) {
        return Err(Failure::failed("conflict", "the change set has other paths now").help("load it again, and decide on each path once"));
    }
    let is_new_folder = |change: &FileChange| change.entry == EntryKind::Directory && change.kind == ChangeKind::Created;
    let missing = |kept: &usize| {
        dropped.iter().find(|dropped| {
            let folder = &set.changes[**dropped];
            is_new_folder(folder) && set.changes[*kept].path.starts_with(&folder.path)
        })
    };
    match kept.iter().find_map(|kept| Some((kept, missing(kept)?))) {
        Some((file, folder)) => {
            let [file, folder] = [file, folder].map(|index| set.display(&set.changes[*index]).into_owned());
            Err(Failure::usage(format!("'{file}' is in the new folder '{folder}', which would be dropped")).help("apply the folder too"))
        }
        None => Ok(kept),
    }
}

fn summary(set: &ChangeSet) -> Value {
    let (created, changed, deleted) = set.counts();
    json!({
        "id": set.id, "session": set.session, "command": set.command, "refused": set.refused,
        "made": haft_tui::time::local_time(set.made, "%Y-%m-%dT%H:%M:%S%:z"), "created": created, "changed": changed, "deleted": deleted,
    })
}

fn file(set: &ChangeSet, change: &FileChange) -> Value {
    json!({
        "path": change.path.to_string_lossy(), "name": set.display(change), "kind": change.kind, "entry": change.entry,
        "size": change.size, "mode": change.mode, "mode_before": change.mode_before,
        "target": change.target.as_ref().map(|target| target.to_string_lossy()), "hidden": change.hidden, "applies": change.applies(),
    })
}

/// The difference as text; `None` where there is none to show.
async fn difference(sets: &dyn ChangeSets, set: &ChangeSet, index: usize) -> Option<String> {
    let change = &set.changes[index];
    if change.entry != EntryKind::File || change.hidden {
        return None;
    }
    let mut sides = [Vec::new(), Vec::new()];
    let is_there = [change.kind != ChangeKind::Created, change.kind != ChangeKind::Deleted];
    for ((content, is_there), side) in sides.iter_mut().zip(is_there).zip([ChangeSide::Before, ChangeSide::After]) {
        if is_there {
            *content = sets.content(set, index, side, MOST_BYTES + 1).await.ok()?;
        }
    }
    let is_text = |content: &Vec<u8>| content.len() <= MOST_BYTES && !content.contains(&0);
    sides.iter().all(is_text).then(|| haft_patch::diff::unified(&sides[0], &sides[1], &set.display(change), CONTEXT))
}
