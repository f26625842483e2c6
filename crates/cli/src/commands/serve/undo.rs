//! Undo for the page: looked at first, then done.

use std::io::Read;
use std::path::Path;

use haft_contract::ports::PreImage;
use haft_gateway::{LaterChanges, UndoRequest};
use haft_store::{BlobId, Blobs, PreImageRecord};
use haft_tui::irreversible;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::commands::undo::{kept_to_json, undo_call, undo_session};
use crate::failure::Failure;
use crate::wire::open_blobs;

/// The largest file that is compared.
const MOST_BYTES: u64 = 1 << 20;
/// Files that are compared.
const MOST_FILES: usize = 200;

pub(super) async fn answer(backend: &ServeBackend, request: UndoRequest<'_>) -> Result<Value, Failure> {
    let (wire, log) = (backend.wire_of(None)?, haft_gateway::GatewayBackend::calls(backend));
    match request {
        UndoRequest::PreviewCall(id) => {
            let call = log.get(id).await?;
            let images = log.pre_images(&call.id).await?;
            preview(&wire.settings.data_folder, images, irreversible::effects_of(&call)).await
        }
        UndoRequest::PreviewSession(id) => {
            let images = log.session_images(id).await?;
            let calls = irreversible::calls_of(&log, id).await?;
            preview(&wire.settings.data_folder, images, calls.iter().flat_map(irreversible::effects_of).collect()).await
        }
        UndoRequest::Call(id, later) => {
            let undone = undo_call(&wire, &log, &log.get(id).await?, later == LaterChanges::Overwrite).await??;
            Ok(result(&undone.files, &kept_to_json(&undone.kept), &undone.uncovered))
        }
        UndoRequest::Session(id, later) => {
            let undone = undo_session(&wire, &log, id, later == LaterChanges::Overwrite).await?;
            Ok(result(&undone.files, &kept_to_json(&undone.kept), &undone.uncovered))
        }
    }
}

fn result(files: &[std::path::PathBuf], kept: &Value, uncovered: &[std::path::PathBuf]) -> Value {
    let skipped: Vec<Value> =
        uncovered.iter().map(|path| json!({ "path": path.to_string_lossy(), "reason": "its former state was not kept" })).collect();
    json!({ "restored": files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>(), "kept": kept, "skipped": skipped })
}

/// The files that an undo would change. The first image of a path is what it becomes.
async fn preview(data_folder: &Path, images: Vec<PreImageRecord>, irreversible: Vec<String>) -> Result<Value, Failure> {
    let blobs = open_blobs(data_folder, None)?;
    let (mut files, mut seen) = (Vec::new(), std::collections::HashSet::new());
    for image in images.iter().filter(|image| seen.insert(image.path.clone())).take(MOST_FILES) {
        let newest = images.iter().rev().find(|other| other.path == image.path).unwrap_or(image);
        files.push(file(&*blobs, image, newest).await);
    }
    Ok(json!({ "files": files, "irreversible": irreversible }))
}

async fn file(blobs: &dyn Blobs, image: &PreImageRecord, newest: &PreImageRecord) -> Value {
    let now = content(&image.path);
    let before = match &image.content {
        Some(id) => read_blob(blobs, id).await,
        None => Some(Vec::new()),
    };
    let action = match (&image.content, image.path.exists()) {
        _ if image.mode == Some(PreImage::UNKNOWN) => "none",
        (None, _) => "delete",
        (Some(_), true) => "restore",
        (Some(_), false) => "create",
    };
    let path = image.path.to_string_lossy();
    let name = path.trim_start_matches('/');
    let diff = now.as_ref().zip(before.as_ref()).map(|(now, before)| haft_patch::diff::unified(now, before, name, 2));
    let is_changed = now.as_ref().is_some_and(|now| newest.after.as_ref().is_some_and(|after| *after != hash(now)));
    let conflict = is_changed.then_some("something else has changed it since");
    json!({ "path": path, "action": action, "diff": diff, "conflict": conflict })
}

/// What was kept of a file; `None` if it is too large to be compared.
async fn read_blob(blobs: &dyn Blobs, id: &BlobId) -> Option<Vec<u8>> {
    let (reader, mut content) = (blobs.open(id).await.ok()?, Vec::new());
    reader.take(MOST_BYTES + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= MOST_BYTES).then_some(content)
}

/// The content of a file, empty if there is none; `None` if it is too large to be compared.
fn content(path: &Path) -> Option<Vec<u8>> {
    match std::fs::symlink_metadata(path) {
        Ok(file) if file.is_file() && file.len() <= MOST_BYTES => std::fs::read(path).ok(),
        Ok(_) => None,
        Err(_) => Some(Vec::new()),
    }
}

fn hash(content: &[u8]) -> String {
    haft_text::hex::encode(ring::digest::digest(&ring::digest::SHA256, content).as_ref())
}
