//! Changes of a notebook: one span of its text is replaced, and everything else stays byte for byte. Pure.

use std::ops::Range;

use super::cell_text::CellText;
use super::style::{NotebookStyle, blank};
use super::{CellType, NewCell};
use crate::shared::notebook::{Notebook, NotebookCell, SourceShape};

/// A span of a text, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextSplice {
    pub(super) at: Range<usize>,
    pub(super) text: String,
}

impl TextSplice {
    /// Applies the change to a text.
    pub(super) fn apply(&self, text: &str) -> String {
        [&text[..self.at.start], &self.text, &text[self.at.end..]].concat()
    }
}

/// Replaces the source of a cell, and perhaps its type.
pub(super) fn replace(notebook: &Notebook<'_>, index: usize, source: &str, kind: CellType) -> TextSplice {
    let (cell, style) = (&notebook.cells[index], NotebookStyle::detect(notebook));
    let (old, shape) = cell.source();
    let mut pieces = CellText::split(notebook.text, cell);
    if old != source || cell.entry("source").is_none() {
        pieces.set_source(source, shape, &style);
    }
    if cell.kind != kind.as_str() {
        pieces.set("cell_type", style.string(kind.as_str()), None, &style);
    }
    if kind == CellType::Code {
        // The outputs belong to the old source.
        pieces.remove("attachments");
        pieces.set("execution_count", "null".into(), Some("cell_type"), &style);
        let behind = pieces.before("source").unwrap_or_else(|| "source".into());
        pieces.set("outputs", "[]".into(), Some(&behind), &style);
    } else {
        pieces.remove("execution_count");
        pieces.remove("outputs");
    }
    TextSplice { at: cell.span.clone(), text: pieces.text() }
}

/// Inserts a cell after the one of this index, or before all others.
pub(super) fn insert(notebook: &Notebook<'_>, behind: Option<usize>, new: &NewCell<'_>) -> TextSplice {
    let style = NotebookStyle::detect(notebook);
    let Some(model) = notebook.cells.get(behind.unwrap_or(0)) else { return first(notebook, new, &style) };
    let (_, shape) = model.source();
    let pieces = CellText::split(notebook.text, model);
    let text = cell_text(new, shape, pieces.indents().map(|(names, brace)| (names.to_owned(), brace.to_owned())), &style);
    let Some(index) = behind else {
        let between = lead(notebook, notebook.cells.len().min(2) - 1);
        return TextSplice { at: model.span.start..model.span.start, text: format!("{text},{between}") };
    };
    TextSplice { at: model.span.end..model.span.end, text: format!(",{}{text}", lead(notebook, index)) }
}

/// Deletes a cell.
pub(super) fn delete(notebook: &Notebook<'_>, index: usize) -> TextSplice {
    let cells = &notebook.cells;
    let (at, text) = match (index, cells.len()) {
        (_, 1) => (notebook.list.clone(), "[]"),
        (0, _) => (cells[0].span.start..cells[1].span.start, ""),
        _ => (cells[index - 1].span.end..cells[index].span.end, ""),
    };
    TextSplice { at, text: text.into() }
}

/// The blanks before a cell, after the bracket or comma.
fn lead<'a>(notebook: &Notebook<'a>, index: usize) -> &'a str {
    let cells = &notebook.cells;
    let Range { start, .. } = cells[index].span;
    let behind = index.checked_sub(1).map_or(notebook.list.start + 1, |before| cells[before].span.end);
    let between = &notebook.text[behind..start];
    between.trim_start().strip_prefix(',').unwrap_or(between)
}

/// The only cell of a notebook that had none.
fn first(notebook: &Notebook<'_>, new: &NewCell<'_>, style: &NotebookStyle) -> TextSplice {
    let NotebookStyle { newline, .. } = style;
    let text = match &style.unit {
        None => format!("[{}]", cell_text(new, SourceShape::Lines, None, style)),
        Some(unit) => {
            let line = notebook.text[..notebook.list.start].rfind('\n').map_or(0, |end| end + 1);
            let list = blank(&notebook.text[line..]);
            let (brace, names) = (format!("{list}{unit}"), format!("{list}{unit}{unit}"));
            let cell = cell_text(new, SourceShape::Lines, Some((names, brace.clone())), style);
            format!("[{newline}{brace}{cell}{newline}{list}]")
        }
    };
    TextSplice { at: notebook.list.clone(), text }
}

/// A new cell, its names in the order in which Jupyter writes them.
fn cell_text(new: &NewCell<'_>, shape: SourceShape, indents: Option<(String, String)>, style: &NotebookStyle) -> String {
    let unit = indents.as_ref().map(|(names, brace)| names.strip_prefix(brace.as_str()).unwrap_or_default().to_owned());
    let inner = indents.as_ref().zip(unit).map(|((names, _), unit)| format!("{names}{unit}"));
    let around = indents.as_ref().zip(inner.as_ref()).map(|((names, _), inner)| (inner.as_str(), names.as_str()));
    let code = new.kind == CellType::Code;
    let entries = [
        Some(("cell_type", style.string(new.kind.as_str()))),
        code.then(|| ("execution_count", "null".to_owned())),
        new.id.as_ref().map(|id| ("id", style.string(id))),
        Some(("metadata", "{}".into())),
        code.then(|| ("outputs", "[]".to_owned())),
        Some(("source", style.source(new.source, shape, around))),
    ];
    let entries: Vec<String> =
        entries.into_iter().flatten().map(|(name, value)| format!("{}{}{value}", style.string(name), style.colon)).collect();
    match indents {
        None => format!("{{{}}}", entries.join(style.comma)),
        Some((names, brace)) => {
            let newline = style.newline;
            format!("{{{newline}{names}{}{newline}{brace}}}", entries.join(&format!(",{newline}{names}")))
        }
    }
}

/// The current type of a cell.
pub(super) fn type_of(cell: &NotebookCell<'_>) -> Option<CellType> {
    [CellType::Code, CellType::Markdown, CellType::Raw].into_iter().find(|kind| kind.as_str() == cell.kind)
}
