//! A change of a notebook, from what was asked for to the new text. Pure.

use haft_contract::{ErrorKind, ToolError};
use haft_patch::diff::unified;

use super::change::{self, Splice};
use super::{CellType, Lent, Mode, NewCell, Params, target};
use crate::shared::changed::shown;
use crate::shared::notebook::Notebook;
use crate::shared::words;

/// Lines around a change.
const CONTEXT: usize = 2;

/// What a call comes to, before it is written.
#[derive(Debug)]
pub(super) struct Edited {
    pub(super) content: Vec<u8>,
    pub(super) changed: bool,
    /// What was done, in words, and how the source differs.
    pub(super) said: String,
    pub(super) cell: String,
    pub(super) index: usize,
    pub(super) kind: String,
    pub(super) language: String,
}

/// Makes the change. The seed makes the id of a new cell.
pub(super) fn edited(content: &Lent, params: &Params, seed: &str) -> Result<Edited, ToolError> {
    let name = params.name();
    let broken = |why: String| ToolError::new(ErrorKind::NotText, format!("Not a notebook: {name} cannot be read as one: {why}."));
    let text = std::str::from_utf8(content.as_ref()).map_err(|error| broken(format!("it is not UTF-8: {error}")))?;
    let notebook = Notebook::parse(text).map_err(broken)?;
    let cell = params.cell_id.as_deref().map(|cell| target::of(&notebook, cell, &name)).transpose()?;
    let mut edited = match params.edit_mode {
        Mode::Insert => inserted(&notebook, cell, params, seed),
        Mode::Replace => replaced(&notebook, one_of(&notebook, cell, params)?, params)?,
        Mode::Delete => deleted(&notebook, one_of(&notebook, cell, params)?, params),
    };
    if edited.changed {
        let after = std::str::from_utf8(&edited.content).map_err(|error| error.to_string()).and_then(Notebook::parse);
        after.map_err(|why| ToolError::execution(format!("The change would break {name}: {why}. Nothing was written.")))?;
    } else {
        edited.content.clear();
    }
    Ok(edited)
}

/// The cell to change; which one must be said, unless there is only one.
fn one_of(notebook: &Notebook<'_>, cell: Option<usize>, params: &Params) -> Result<usize, ToolError> {
    match (cell, notebook.cells.len()) {
        (Some(index), _) => Ok(index),
        (None, 1) => Ok(0),
        (None, _) => {
            let mode = params.edit_mode.as_str();
            let message = format!("Missing required parameter: 'cell_id'. It names the cell to {mode}. {}", target::all(notebook));
            Err(ToolError::validation(message))
        }
    }
}

fn replaced(notebook: &Notebook<'_>, index: usize, params: &Params) -> Result<Edited, ToolError> {
    let (cell, name) = (&notebook.cells[index], notebook.name_of(index).into_owned());
    let kind = params.cell_type.or_else(|| change::type_of(cell)).ok_or_else(|| {
        let (kind, cell) = (words::shown(&cell.kind), words::shown(&name));
        ToolError::validation(format!("Cell '{cell}' has the unknown type '{kind}'. Give cell_type as well: code, markdown or raw."))
    })?;
    let (old, new) = (cell.source().0, params.new_source.as_deref().unwrap_or_default());
    if old == new && cell.kind == kind.as_str() {
        let said = format!("Cell '{}' of {} has that source already; nothing was changed.", words::shown(&name), params.name());
        return Ok(done(notebook, None, index, name, kind.as_str(), said));
    }
    let splice = change::replace(notebook, index, new, kind);
    let was = if cell.kind == kind.as_str() { String::new() } else { format!(", which was {}", words::shown(&cell.kind)) };
    let cleared = cell.entry("outputs").filter(|outputs| outputs.value != "[]").map_or("", |_| "; its outputs were cleared");
    let (named, kind_now, path) = (words::shown(&name), kind.as_str(), params.name());
    let said = format!("Replaced cell '{named}' ({kind_now}) of {path}{was}{cleared}.\n\n{}", difference(&old, new));
    Ok(done(notebook, Some(&splice), index, name, kind.as_str(), said))
}

fn inserted(notebook: &Notebook<'_>, behind: Option<usize>, params: &Params, seed: &str) -> Edited {
    let (kind, source) = (params.cell_type.unwrap_or(CellType::Code), params.new_source.as_deref().unwrap_or_default());
    let id = (notebook.minor >= 5).then(|| fresh_id(notebook, seed));
    let index = behind.map_or(0, |behind| behind + 1);
    let name = id.clone().unwrap_or_else(|| format!("cell-{index}"));
    let splice = change::insert(notebook, behind, &NewCell { kind, id, source });
    let place = behind.map_or_else(|| "at the start".into(), |behind| format!("after cell '{}'", words::shown(&notebook.name_of(behind))));
    let said = format!("Inserted cell '{name}' ({}) {place} of {}.\n\n{}", kind.as_str(), params.name(), difference("", source));
    done(notebook, Some(&splice), index, name, kind.as_str(), said)
}

fn deleted(notebook: &Notebook<'_>, index: usize, params: &Params) -> Edited {
    let (cell, name) = (&notebook.cells[index], notebook.name_of(index).into_owned());
    let (named, kind) = (words::shown(&name), words::shown(&cell.kind));
    let said = format!("Deleted cell '{named}' ({kind}) of {}.\n\n{}", params.name(), difference(&cell.source().0, ""));
    done(notebook, Some(&change::delete(notebook, index)), index, name, &cell.kind, said)
}

fn done(notebook: &Notebook<'_>, splice: Option<&Splice>, index: usize, cell: String, kind: &str, said: String) -> Edited {
    let content = splice.map(|splice| splice.applied(notebook.text).into_bytes());
    let (changed, language) = (content.is_some(), notebook.language.clone());
    Edited { content: content.unwrap_or_default(), changed, said, cell, index, kind: kind.to_owned(), language }
}

/// Eight digits, as Jupyter makes them, that no other cell has.
pub(super) fn fresh_id(notebook: &Notebook<'_>, seed: &str) -> String {
    let taken = |id: &str| notebook.cells.iter().any(|cell| cell.id.as_deref() == Some(id));
    let digits = (0..seed.len().saturating_sub(7)).filter_map(|start| seed.get(start..start + 8)).find(|id| !taken(id));
    // Of one more number than there are cells, one is free.
    let numbered = || (0..=notebook.cells.len()).map(|number| format!("cell-{number}")).find(|id| !taken(id));
    digits.map(str::to_owned).or_else(numbered).unwrap_or_default()
}

/// How a source differs from what it was, without the head that names a file.
fn difference(old: &str, new: &str) -> String {
    // A source seldom ends its last line, and that is nothing to tell.
    let ended = |text: &str| if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let diff = unified(ended(old).as_bytes(), ended(new).as_bytes(), "", CONTEXT);
    let body = diff.splitn(3, '\n').nth(2).unwrap_or_default();
    shown(body.trim_end())
}
