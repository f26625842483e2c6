//! A cell as parts of its text: some are changed, all others stay as they are.

use std::borrow::Cow;

use super::style::{NotebookStyle, after_line, blank};
use crate::shared::notebook::{NotebookCell, SourceShape};

/// The text of a cell, split into its entries.
#[derive(Debug)]
pub(super) struct CellText<'a> {
    pieces: Vec<CellPart<'a>>,
    /// Between the last value and the brace that closes the cell.
    tail: &'a str,
}

#[derive(Debug)]
struct CellPart<'a> {
    name: String,
    /// Everything between the brace or comma before it and the value.
    head: Cow<'a, str>,
    value: Cow<'a, str>,
}

impl<'a> CellText<'a> {
    /// Splits a cell of this text.
    pub(super) fn split(text: &'a str, cell: &NotebookCell<'a>) -> Self {
        let mut behind = cell.span.start + 1;
        let mut pieces = Vec::new();
        for entry in &cell.entries {
            let head = &text[behind..entry.span.start];
            let head = if pieces.is_empty() { head } else { head.trim_start().strip_prefix(',').unwrap_or(head) };
            pieces.push(CellPart { name: entry.name.clone(), head: Cow::Borrowed(head), value: Cow::Borrowed(entry.value) });
            behind = entry.span.end;
        }
        Self { pieces, tail: &text[behind..cell.span.end - 1] }
    }

    /// The text of the cell.
    pub(super) fn text(&self) -> String {
        let pieces = self.pieces.iter().map(|piece| format!("{}{}", piece.head, piece.value));
        format!("{{{}{}}}", pieces.collect::<Vec<_>>().join(","), self.tail)
    }

    /// The indentation of the names and of the closing brace; `None` if the cell is on one line.
    pub(super) fn indents(&self) -> Option<(&str, &str)> {
        let inner = self.pieces.first().and_then(|piece| after_line(blank(&piece.head)))?;
        Some((inner, after_line(self.tail).unwrap_or_default()))
    }

    /// Sets the value of an entry; a missing one is added after the entry `after`, or at the end.
    pub(super) fn set(&mut self, name: &str, value: String, after: Option<&str>, style: &NotebookStyle) {
        if let Some(piece) = self.pieces.iter_mut().rfind(|piece| piece.name == name) {
            piece.value = Cow::Owned(value);
            return;
        }
        let lead = self.pieces.last().map_or("", |piece| blank(&piece.head)).to_owned();
        let head = format!("{lead}{}{}", style.string(name), style.colon);
        let place = self.pieces.iter().rposition(|piece| Some(piece.name.as_str()) == after).map_or(self.pieces.len(), |place| place + 1);
        self.pieces.insert(place, CellPart { name: name.to_owned(), head: Cow::Owned(head), value: Cow::Owned(value) });
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, name: &str) {
        self.pieces.retain(|piece| piece.name != name);
    }

    /// The name of the entry before this one.
    pub(super) fn before(&self, name: &str) -> Option<String> {
        let place = self.pieces.iter().rposition(|piece| piece.name == name)?;
        place.checked_sub(1).map(|before| self.pieces[before].name.clone())
    }

    /// Sets the source, in the layout of the old one.
    pub(super) fn set_source(&mut self, source: &str, shape: SourceShape, style: &NotebookStyle) {
        let old = self.pieces.iter().rfind(|piece| piece.name == "source");
        let value = style.source(source, shape, self.around(old, style).as_ref().map(|(inner, outer)| (inner.as_str(), outer.as_str())));
        self.set("source", value, None, style);
    }

    /// The indentation of the lines of a source and of its closing bracket; `None` if it is on one line.
    fn around(&self, old: Option<&CellPart<'_>>, style: &NotebookStyle) -> Option<(String, String)> {
        let old_value = old.map_or("[]", |piece| &piece.value);
        if old_value.starts_with('[') && old_value.contains('\n') {
            let inner = after_line(blank(&old_value[1..]))?;
            let outer = old_value.rfind('\n').map_or("", |end| blank(&old_value[end + 1..]));
            return Some((inner.to_owned(), outer.to_owned()));
        }
        let on_one_line = old_value.starts_with('[') && old_value.len() > 2;
        let (names, brace) = self.indents().filter(|_| !on_one_line)?;
        let unit = names.strip_prefix(brace).filter(|unit| !unit.is_empty()).or(style.unit.as_deref()).unwrap_or_default();
        Some((format!("{names}{unit}"), names.to_owned()))
    }
}
