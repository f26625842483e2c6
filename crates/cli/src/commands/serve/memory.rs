//! Memory for the page: the same as `haft memory`.

use haft_gateway::MemoryRequest;
use haft_tui::time::local_time;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::commands::memory::change::RemovedNote;
use crate::commands::memory::{answer_json, change, find, notes, why};
use crate::failure::Failure;

const MOMENT: &str = "%Y-%m-%dT%H:%M:%S%:z";

pub(super) async fn answer(backend: &ServeBackend, request: MemoryRequest<'_>) -> Result<Value, Failure> {
    let wire = backend.wire_of(None)?;
    match request {
        MemoryRequest::List => {
            let (notes, warnings) = notes(&wire).await?;
            let row = |note: &haft_memory::IndexedNote| {
                let changed = note.known.stamp.modified.map(|at| local_time(at, MOMENT));
                json!({ "path": note.path, "bytes": note.known.stamp.size, "note": note.known.note, "changed": changed })
            };
            Ok(json!({ "files": notes.iter().map(row).collect::<Vec<_>>(), "warnings": warnings }))
        }
        MemoryRequest::Search(text, limit) => Ok(answer_json(&find(&wire, text, limit).await?)),
        MemoryRequest::Show(path) => why::file_json(&wire, path).await,
        MemoryRequest::Add { text, file } => {
            let (citation, call) = change::add_note(&wire, text, file).await?;
            Ok(json!({ "citation": citation, "call": call }))
        }
        MemoryRequest::Write { file, text } => Ok(json!({ "path": file, "call": change::replace(&wire, file, text).await? })),
        MemoryRequest::Forget(citation) => {
            let RemovedNote { path, lines, call } = change::remove(&wire, citation).await?;
            Ok(json!({ "path": path, "removed": lines, "call": call }))
        }
    }
}
