//! A change of a notebook, from the parameters to the new text. Pure.

use haft_contract::{ErrorKind, ToolError};
use haft_patch::diff::unified;

use super::change::{self, TextSplice};
use super::{CellType, EditMode, NewCell, Params, target};
use crate::shared::brief;
use crate::shared::file_change::SharedContent;
use crate::shared::file_change::shorten_diff;
use crate::shared::notebook::Notebook;

/// Lines around a change.
const CONTEXT: usize = 2;

/// The result of a call, before it is written.
#[derive(Debug)]
pub(super) struct NotebookChange {
    pub(super) content: Vec<u8>,
    pub(super) changed: bool,
    /// The action, and the diff of the source.
    pub(super) message: String,
    pub(super) cell: String,
    pub(super) index: usize,
    pub(super) kind: String,
    pub(super) language: String,
}

/// Makes the change. The id of a new cell is derived from the seed.
pub(super) fn apply(content: &SharedContent, params: &Params, seed: &str) -> Result<NotebookChange, ToolError> {
    let name = params.name();
    let broken = |why: String| ToolError::new(ErrorKind::NotText, format!("Not a notebook: {name} cannot be read as one: {why}."));
    let text = std::str::from_utf8(content.as_ref()).map_err(|error| broken(format!("it is not UTF-8: {error}")))?;
    let notebook = Notebook::parse(text).map_err(broken)?;
    let cell = params.cell_id.as_deref().map(|cell| target::find(&notebook, cell, &name)).transpose()?;
    let mut change = match params.edit_mode {
        EditMode::Insert => inserted(&notebook, cell, params, seed),
        EditMode::Replace => replaced(&notebook, target_cell(&notebook, cell, params)?, params)?,
        EditMode::Delete => deleted(&notebook, target_cell(&notebook, cell, params)?, params),
    };
    if change.changed {
        let after = std::str::from_utf8(&change.content).map_err(|error| error.to_string()).and_then(Notebook::parse);
        after.map_err(|why| ToolError::execution(format!("The change would break {name}: {why}. Nothing was written.")))?;
    } else {
        change.content.clear();
    }
    Ok(change)
}

/// The cell to change; the only one by default.
fn target_cell(notebook: &Notebook<'_>, cell: Option<usize>, params: &Params) -> Result<usize, ToolError> {
    match (cell, notebook.cells.len()) {
        (Some(index), _) => Ok(index),
        (None, 1) => Ok(0),
        (None, _) => {
            let mode = params.edit_mode.as_str();
            let message = format!("Missing required parameter: 'cell_id'. It names the cell to {mode}. {}", target::list_ids(notebook));
            Err(ToolError::validation(message))
        }
    }
}

fn replaced(notebook: &Notebook<'_>, index: usize, params: &Params) -> Result<NotebookChange, ToolError> {
    let (cell, name) = (&notebook.cells[index], notebook.name_of(index).into_owned());
    let kind = params.cell_type.or_else(|| change::type_of(cell)).ok_or_else(|| {
        let (kind, cell) = (brief(&cell.kind), brief(&name));
        ToolError::validation(format!("Cell '{cell}' has the unknown type '{kind}'. Give cell_type as well: code, markdown or raw."))
    })?;
    let (old, new) = (cell.source().0, params.new_source.as_deref().unwrap_or_default());
    if old == new && cell.kind == kind.as_str() {
        let message = format!("Cell '{}' of {} has that source already; nothing was changed.", brief(&name), params.name());
        return Ok(build_change(notebook, None, index, name, kind.as_str(), message));
    }
    let splice = change::replace(notebook, index, new, kind);
    let was = if cell.kind == kind.as_str() { String::new() } else { format!(", which was {}", brief(&cell.kind)) };
    let cleared = cell.entry("outputs").filter(|outputs| outputs.value != "[]").map_or("", |_| "; its outputs were cleared");
    let (named, kind_now, path) = (brief(&name), kind.as_str(), params.name());
    let message = format!("Replaced cell '{named}' ({kind_now}) of {path}{was}{cleared}.\n\n{}", source_diff(&old, new));
    Ok(build_change(notebook, Some(&splice), index, name, kind.as_str(), message))
}

fn inserted(notebook: &Notebook<'_>, after: Option<usize>, params: &Params, seed: &str) -> NotebookChange {
    let (kind, source) = (params.cell_type.unwrap_or(CellType::Code), params.new_source.as_deref().unwrap_or_default());
    let id = (notebook.minor >= 5).then(|| fresh_id(notebook, seed));
    let index = after.map_or(0, |after| after + 1);
    let name = id.clone().unwrap_or_else(|| format!("cell-{index}"));
    let splice = change::insert(notebook, after, &NewCell { kind, id, source });
    let place = after.map_or_else(|| "at the start".into(), |after| format!("after cell '{}'", brief(&notebook.name_of(after))));
    let message = format!("Inserted cell '{name}' ({}) {place} of {}.\n\n{}", kind.as_str(), params.name(), source_diff("", source));
    build_change(notebook, Some(&splice), index, name, kind.as_str(), message)
}

fn deleted(notebook: &Notebook<'_>, index: usize, params: &Params) -> NotebookChange {
    let (cell, name) = (&notebook.cells[index], notebook.name_of(index).into_owned());
    let (named, kind) = (brief(&name), brief(&cell.kind));
    let message = format!("Deleted cell '{named}' ({kind}) of {}.\n\n{}", params.name(), source_diff(&cell.source().0, ""));
    build_change(notebook, Some(&change::delete(notebook, index)), index, name, &cell.kind, message)
}

fn build_change(
    notebook: &Notebook<'_>,
    splice: Option<&TextSplice>,
    index: usize,
    cell: String,
    kind: &str,
    message: String,
) -> NotebookChange {
    let content = splice.map(|splice| splice.apply(notebook.text).into_bytes());
    let (changed, language) = (content.is_some(), notebook.language.clone());
    NotebookChange { content: content.unwrap_or_default(), changed, message, cell, index, kind: kind.to_owned(), language }
}

/// A unique id of eight digits, as Jupyter makes them.
pub(super) fn fresh_id(notebook: &Notebook<'_>, seed: &str) -> String {
    let taken = |id: &str| notebook.cells.iter().any(|cell| cell.id.as_deref() == Some(id));
    let digits = (0..seed.len().saturating_sub(7)).filter_map(|start| seed.get(start..start + 8)).find(|id| !taken(id));
    // One number more than there are cells: one is free.
    let numbered = || (0..=notebook.cells.len()).map(|number| format!("cell-{number}")).find(|id| !taken(id));
    digits.map(str::to_owned).or_else(numbered).unwrap_or_default()
}

/// The diff of a source, without the file header.
fn source_diff(old: &str, new: &str) -> String {
    // A source seldom ends with a line feed.
    let ended = |text: &str| if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let diff = unified(ended(old).as_bytes(), ended(new).as_bytes(), "", CONTEXT);
    let body = diff.splitn(3, '\n').nth(2).unwrap_or_default();
    shorten_diff(body.trim_end())
}
