//! Finding the cell by its id or number.

use haft_contract::ToolError;

use crate::shared::brief;
use crate::shared::notebook::Notebook;

/// More ids are left out of a message.
const LISTED: usize = 50;

/// The index of the cell with this id, or with this number: `cell-3` and `3` are the fourth.
pub(super) fn find(notebook: &Notebook<'_>, name: &str, path: &str) -> Result<usize, ToolError> {
    let named: Vec<usize> = (0..notebook.cells.len()).filter(|index| notebook.cells[*index].id.as_deref() == Some(name)).collect();
    match named[..] {
        [index] => return Ok(index),
        [] => {}
        [first, ..] => {
            return Err(ToolError::validation(format!(
                "Ambiguous cell id: {} cells of {path} are called '{}'. Name one by its number, such as cell_id='{first}'.",
                named.len(),
                brief(name)
            )));
        }
    }
    let number = name.strip_prefix("cell-").unwrap_or(name).parse::<usize>().ok();
    number.filter(|index| *index < notebook.cells.len()).ok_or_else(|| not_found(notebook, name, path))
}

fn not_found(notebook: &Notebook<'_>, name: &str, path: &str) -> ToolError {
    ToolError::validation(format!("Cell id not found: '{}' in {path}. {}", brief(name), list_ids(notebook)))
}

/// The ids of all cells, for a message.
pub(super) fn list_ids(notebook: &Notebook<'_>) -> String {
    let total = notebook.cells.len();
    if total == 0 {
        return "The notebook has no cells: use edit_mode='insert'.".into();
    }
    let names: Vec<String> = (0..total.min(LISTED)).map(|index| format!("'{}'", brief(&notebook.name_of(index)))).collect();
    let rest = if total > LISTED { format!(" and {} more", total - LISTED) } else { String::new() };
    format!("Its cells are {}{rest}.", names.join(", "))
}
