//! Showing a notebook by cells, with shortened outputs.

mod cells;

use haft_contract::{FileReader, ToolContext, ToolError, ToolOutput};
use haft_text::base64;
use haft_text::numbers;
use serde_json::json;

use self::cells::{CellPage, cells_of};
use super::{Params, with_note};
use crate::shared::notebook::{LARGEST, Notebook};
use crate::shared::picture::{PictureFormat, for_models, prepared};
use crate::shared::read_all::read_all;
use crate::shared::worker::WorkerPool;

const CELLS: usize = 200;
const BYTES: usize = 100 * 1024;
/// A caller that names a limit gets more.
const BYTES_WITH_LIMIT: usize = 1024 * 1024;
static PARSING: WorkerPool = WorkerPool::new("reading of a notebook", 2);

/// Why a file is not a notebook, although its name says so; it is shown as text.
pub(super) struct NotebookFault {
    pub(super) head: Vec<u8>,
    pub(super) why: String,
}

/// Shows cells of a notebook.
pub(super) async fn show(
    name: &str,
    params: &Params,
    reader: &dyn FileReader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<Result<ToolOutput, NotebookFault>, ToolError> {
    if reader.size() > LARGEST as u64 {
        return Ok(Err(NotebookFault { head, why: format!("it is larger than {}", numbers::size(LARGEST as u64)) }));
    }
    let beginning = head.clone();
    let content = read_all(name, "a notebook", head, reader, LARGEST).await?;
    let (first, limit) = (params.offset.unwrap_or(1).max(1), params.limit);
    let (cells, bytes) = limit.map_or((CELLS, BYTES), |limit| (limit.get(), BYTES_WITH_LIMIT));
    let work = move || {
        let text = std::str::from_utf8(&content).map_err(|error| format!("it is not UTF-8: {error}"))?;
        Notebook::parse(text).map(|notebook| cells_of(&notebook, first, cells, bytes))
    };
    match PARSING.run(work).await? {
        Err(why) => Ok(Err(NotebookFault { head: beginning, why })),
        Ok(cells) => output(name, reader.size(), cells, cx).await.map(Ok),
    }
}

async fn output(name: &str, size: u64, cells: CellPage, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (last, next) = (cells.first + cells.shown - 1, cells.first + cells.shown);
    let next = (cells.shown > 0 && next <= cells.total).then_some(next);
    let details = json!({
        "path": name,
        "kind": "notebook",
        "size": size,
        "language": cells.language,
        "total_cells": cells.total,
        "first_cell": (cells.shown > 0).then_some(cells.first),
        "last_cell": (cells.shown > 0).then_some(last),
        "next_offset": next,
    });
    let mut notes = Vec::new();
    let mut pictures = Vec::new();
    for picture in &cells.pictures {
        match decode_picture(picture).await? {
            Some(picture) => pictures.push(picture),
            None => notes.push("(A picture in an output is damaged and was left out.)".to_owned()),
        }
    }
    notes.extend(cells.note(next, cx));
    let mut output = ToolOutput::text(with_note(cells.text, (!notes.is_empty()).then(|| notes.join("\n")))).with_details(details);
    for (mime, data) in pictures {
        output = output.with_image(mime, data);
    }
    Ok(output)
}

/// A picture of an output, if it can be shown.
async fn decode_picture(encoded: &str) -> Result<Option<(&'static str, Vec<u8>)>, ToolError> {
    let Some(data) = base64::decode_lenient(encoded) else { return Ok(None) };
    let Some(format) = PictureFormat::detect(&data) else { return Ok(None) };
    Ok(prepared(for_models(), format, data).await?.ok().map(|picture| (picture.mime, picture.data)))
}

#[cfg(test)]
mod tests;
