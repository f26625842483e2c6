//! A cell in pieces: some are changed, all others stay as they are written.

use std::borrow::Cow;

use super::style::{Style, after_line, blank};
use crate::shared::notebook::{Cell, Shape};

/// A cell, taken apart.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    pieces: Vec<Piece<'a>>,
    /// Between the last value and the brace that closes the cell.
    tail: &'a str,
}

#[derive(Debug)]
struct Piece<'a> {
    name: String,
    /// Everything between the brace or comma before it and the value.
    head: Cow<'a, str>,
    value: Cow<'a, str>,
}

impl<'a> Pieces<'a> {
    /// Takes a cell of this text apart.
    pub(super) fn of(text: &'a str, cell: &Cell<'a>) -> Self {
        let mut behind = cell.span.start + 1;
        let mut pieces = Vec::new();
        for entry in &cell.entries {
            let head = &text[behind..entry.span.start];
            let head = if pieces.is_empty() { head } else { head.trim_start().strip_prefix(',').unwrap_or(head) };
            pieces.push(Piece { name: entry.name.clone(), head: Cow::Borrowed(head), value: Cow::Borrowed(entry.value) });
            behind = entry.span.end;
        }
        Self { pieces, tail: &text[behind..cell.span.end - 1] }
    }

    /// The cell, put together.
    pub(super) fn text(&self) -> String {
        let pieces = self.pieces.iter().map(|piece| format!("{}{}", piece.head, piece.value));
        format!("{{{}{}}}", pieces.collect::<Vec<_>>().join(","), self.tail)
    }

    /// How far the names of the cell are indented, and the brace that closes it; nothing if it stands on one line.
    pub(super) fn indents(&self) -> Option<(&str, &str)> {
        let inner = self.pieces.first().and_then(|piece| after_line(blank(&piece.head)))?;
        Some((inner, after_line(self.tail).unwrap_or_default()))
    }

    /// Gives an entry another value; one that is not there is added, behind that of the name `behind` or at the end.
    pub(super) fn set(&mut self, name: &str, value: String, behind: Option<&str>, style: &Style) {
        if let Some(piece) = self.pieces.iter_mut().rfind(|piece| piece.name == name) {
            piece.value = Cow::Owned(value);
            return;
        }
        let lead = self.pieces.last().map_or("", |piece| blank(&piece.head)).to_owned();
        let head = format!("{lead}{}{}", style.string(name), style.colon);
        let place = self.pieces.iter().rposition(|piece| Some(piece.name.as_str()) == behind).map_or(self.pieces.len(), |place| place + 1);
        self.pieces.insert(place, Piece { name: name.to_owned(), head: Cow::Owned(head), value: Cow::Owned(value) });
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, name: &str) {
        self.pieces.retain(|piece| piece.name != name);
    }

    /// The name of the entry before that of this name.
    pub(super) fn before(&self, name: &str) -> Option<String> {
        let place = self.pieces.iter().rposition(|piece| piece.name == name)?;
        place.checked_sub(1).map(|before| self.pieces[before].name.clone())
    }

    /// Gives the cell another source, laid out as the one that it had.
    pub(super) fn set_source(&mut self, source: &str, shape: Shape, style: &Style) {
        let old = self.pieces.iter().rfind(|piece| piece.name == "source");
        let value = style.source(source, shape, self.around(old, style).as_ref().map(|(inner, outer)| (inner.as_str(), outer.as_str())));
        self.set("source", value, None, style);
    }

    /// How far the lines of a source are indented, and the bracket that closes it; nothing if it stands on one line.
    fn around(&self, old: Option<&Piece<'_>>, style: &Style) -> Option<(String, String)> {
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
