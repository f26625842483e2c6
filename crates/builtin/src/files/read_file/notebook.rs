//! A notebook, cell by cell: what was written, and in short what came of it.

mod cells;

use haft_contract::{Reader, ToolContext, ToolError, ToolOutput};
use serde_json::json;

use self::cells::{Cells, cells_of};
use super::image::decoded;
use super::picture::Format;
use super::{Params, base64, with_note};
use crate::shared::aside::Aside;
use crate::shared::notebook::{LARGEST, Notebook};
use crate::shared::whole::whole;
use crate::shared::words;

const CELLS: usize = 200;
const BYTES: usize = 100 * 1024;
/// Someone who names a limit knows what is coming.
const BYTES_WITH_LIMIT: usize = 1024 * 1024;
static PARSING: Aside = Aside::new("reading of a notebook", 2);

/// What is wrong with a file of that name that is no notebook after all; it is shown as text then.
pub(super) struct NotANotebook {
    pub(super) head: Vec<u8>,
    pub(super) why: String,
}

/// Shows the wanted cells of a file that is named as a notebook.
pub(super) async fn shown(
    name: &str,
    params: &Params,
    reader: &dyn Reader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<Result<ToolOutput, NotANotebook>, ToolError> {
    if reader.size() > LARGEST as u64 {
        return Ok(Err(NotANotebook { head, why: format!("it is larger than {}", words::size(LARGEST as u64)) }));
    }
    let beginning = head.clone();
    let content = whole(name, "a notebook", head, reader, LARGEST).await?;
    let (first, limit) = (params.offset.unwrap_or(1).max(1), params.limit);
    let (cells, bytes) = limit.map_or((CELLS, BYTES), |limit| (limit.get(), BYTES_WITH_LIMIT));
    let work = move || {
        let text = std::str::from_utf8(&content).map_err(|error| format!("it is not UTF-8: {error}"))?;
        Notebook::parse(text).map(|notebook| cells_of(&notebook, first, cells, bytes))
    };
    match PARSING.run(work).await? {
        Err(why) => Ok(Err(NotANotebook { head: beginning, why })),
        Ok(cells) => output(name, reader.size(), cells, cx).await.map(Ok),
    }
}

async fn output(name: &str, size: u64, cells: Cells, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
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
        match displayed(picture).await? {
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

/// A picture that an output holds, if it can be shown.
async fn displayed(encoded: &str) -> Result<Option<(&'static str, Vec<u8>)>, ToolError> {
    let Some(data) = base64::decode(encoded) else { return Ok(None) };
    let Some(format) = Format::of(&data) else { return Ok(None) };
    Ok(decoded(format, data).await?.ok().map(|picture| (picture.mime, picture.data)))
}

#[cfg(test)]
mod tests;
