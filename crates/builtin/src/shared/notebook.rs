//! A Jupyter notebook and the spans of its parts in the text, so that a change of one part leaves all others byte for byte.

mod json;
mod output;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use self::json::{JsonEntries, JsonItems, JsonStrings};
pub(crate) use self::output::CellOutput;

/// Larger notebooks are refused; nearly always pictures in outputs make them large.
pub(crate) const LARGEST: usize = 100 * 1024 * 1024;

/// A notebook of format 4.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    /// The whole text.
    pub(crate) text: &'a str,
    /// The minor number of its format.
    pub(crate) minor: u64,
    /// The language of its code; Python if it does not say.
    pub(crate) language: String,
    /// The span of the list of cells, with its brackets.
    pub(crate) list: Range<usize>,
    /// The cells, in order.
    pub(crate) cells: Vec<NotebookCell<'a>>,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct NotebookCell<'a> {
    /// Its span, with its braces.
    pub(crate) span: Range<usize>,
    /// Its id, if it has one; from format 4.5 on every cell does.
    pub(crate) id: Option<String>,
    /// `code`, `markdown` or `raw`, as far as is known.
    pub(crate) kind: String,
    /// Its entries, in order.
    pub(crate) entries: Vec<NotebookEntry<'a>>,
}

/// A name and its value.
#[derive(Debug)]
pub(crate) struct NotebookEntry<'a> {
    /// The name.
    pub(crate) name: String,
    /// The raw value.
    pub(crate) value: &'a str,
    /// The span of the value.
    pub(crate) span: Range<usize>,
}

/// The JSON shape of a text of several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceShape {
    /// A list of lines, each with its ending.
    Lines,
    /// One string.
    Text,
}

impl<'a> Notebook<'a> {
    /// Parses a notebook; the error is a message.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let without_bom = text.strip_prefix('\u{feff}').unwrap_or(text);
        let top: JsonEntries<'a> = json::parse(without_bom)?;
        let top = with_spans(text, top);
        let major = number(&top, "nbformat").ok_or("it has no number 'nbformat'")?;
        if major != 4 {
            return Err(format!("its format is {major}, and only format 4 is known; 'jupyter nbconvert --to notebook' converts it"));
        }
        let list = last(&top, "cells").ok_or("it has no list 'cells'")?;
        let JsonItems(items) = json::parse(list.value).map_err(|_| "its 'cells' is not a list")?;
        let cells = items.into_iter().enumerate().map(|(index, item)| NotebookCell::parse(text, index, item)).collect::<Result<_, _>>()?;
        let minor = number(&top, "nbformat_minor").unwrap_or(0);
        let language = last(&top, "metadata").and_then(|metadata| language_of(metadata.value)).unwrap_or_else(|| "python".into());
        Ok(Self { text, minor, language, list: list.span.clone(), cells })
    }

    /// The id of a cell, or `cell-3` for the fourth one if it has none.
    pub(crate) fn name_of(&self, index: usize) -> Cow<'_, str> {
        match self.cells.get(index).and_then(|cell| cell.id.as_deref()) {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(format!("cell-{index}")),
        }
    }
}

impl<'a> NotebookCell<'a> {
    fn parse(text: &'a str, index: usize, item: &'a RawValue) -> Result<Self, String> {
        let entries: JsonEntries<'a> = json::parse(item.get()).map_err(|_| format!("its cell {index} is not an object"))?;
        let entries = with_spans(text, entries);
        let string = |name| last(&entries, name).and_then(|entry| json::string(entry.value));
        let kind = string("cell_type").ok_or_else(|| format!("its cell {index} has no 'cell_type'"))?;
        Ok(Self { span: span_of(text, item.get()), id: string("id"), kind, entries })
    }

    /// The entry of this name; of several, the last.
    pub(crate) fn entry(&self, name: &str) -> Option<&NotebookEntry<'a>> {
        last(&self.entries, name)
    }

    /// Its source, and the shape of that.
    pub(crate) fn source(&self) -> (String, SourceShape) {
        self.entry("source").map_or((String::new(), SourceShape::Lines), |entry| text_of(entry.value))
    }

    /// How often it has run, if it has.
    pub(crate) fn execution_count(&self) -> Option<u64> {
        self.entry("execution_count")?.value.parse().ok()
    }

    /// The outputs of its last run.
    pub(crate) fn outputs(&self) -> Vec<CellOutput> {
        let raw = self.entry("outputs").map_or("[]", |entry| entry.value);
        let JsonItems(items) = json::parse(raw).unwrap_or_default();
        items.into_iter().filter_map(|item| CellOutput::parse(item.get())).collect()
    }
}

/// A text that is one string, or a list of lines.
fn text_of(value: &str) -> (String, SourceShape) {
    match json::string(value) {
        Some(text) => (text, SourceShape::Text),
        None => (json::parse(value).map(|JsonStrings(lines)| lines.concat()).unwrap_or_default(), SourceShape::Lines),
    }
}

fn language_of(metadata: &str) -> Option<String> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).ok()?;
    let named = [&metadata["language_info"]["name"], &metadata["kernelspec"]["language"]];
    named.iter().find_map(|name| name.as_str()).map(str::to_owned)
}

fn number(entries: &[NotebookEntry<'_>], name: &str) -> Option<u64> {
    last(entries, name)?.value.parse().ok()
}

fn last<'e, 'a>(entries: &'e [NotebookEntry<'a>], name: &str) -> Option<&'e NotebookEntry<'a>> {
    entries.iter().rfind(|entry| entry.name == name)
}

fn with_spans<'a>(text: &str, JsonEntries(entries): JsonEntries<'a>) -> Vec<NotebookEntry<'a>> {
    let entry = |(name, value): (String, &'a RawValue)| NotebookEntry { name, value: value.get(), span: span_of(text, value.get()) };
    entries.into_iter().map(entry).collect()
}

/// The span of a part of a text.
fn span_of(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "\u{feff}{\n \"cells\": [\n  {\"cell_type\": \"code\", \"id\": \"a\", \"execution_count\": 3, \"metadata\": {},\n   \
         \"outputs\": [{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"1\\n\", \"2\"]}], \"source\": [\"x = 1\\n\", \"x\"]},\n  \
         {\"cell_type\":\"markdown\",\"metadata\":{},\"source\":\"# \\ud83e\\udd80 \\ud800\"}\n ],\n \
         \"metadata\": {\"kernelspec\": {\"language\": \"R\"}}, \"nbformat\": 4, \"nbformat_minor\": 4\n}\n";

    #[test]
    fn everything_is_found_and_placed() {
        let notebook = Notebook::parse(SMALL).unwrap();
        assert_eq!((notebook.minor, notebook.language.as_str(), notebook.cells.len()), (4, "R", 2));
        assert!(SMALL[notebook.list.clone()].starts_with("[\n") && SMALL[notebook.list.clone()].ends_with("\n ]"));
        let [code, prose] = &notebook.cells[..] else { panic!() };
        assert_eq!((code.kind.as_str(), code.id.as_deref(), code.execution_count()), ("code", Some("a"), Some(3)));
        assert_eq!(
            (code.source(), prose.source()),
            (("x = 1\nx".into(), SourceShape::Lines), ("# 🦀 \u{fffd}\u{fffd}\u{fffd}".into(), SourceShape::Text))
        );
        assert_eq!((notebook.name_of(0), notebook.name_of(1)), ("a".into(), "cell-1".into()));
        assert!(SMALL[code.span.clone()].starts_with("{\"cell_type\": \"code\"") && SMALL[prose.span.clone()].ends_with("d800\"}"));
        for cell in &notebook.cells {
            assert!(cell.entries.iter().all(|entry| SMALL[entry.span.clone()] == *entry.value));
        }
        assert_eq!(prose.outputs(), []);
    }

    #[test]
    fn what_is_no_notebook_is_said_in_words() {
        for (text, why) in [
            ("", "it is not JSON: EOF while parsing a value at line 1 column 0"),
            ("{\"cells\": [}", "it is not JSON: expected value at line 1 column 12"),
            ("[]", "it is not a JSON object"),
            ("{\"cells\": []}", "it has no number 'nbformat'"),
            (
                "{\"nbformat\": 3, \"worksheets\": []}",
                "its format is 3, and only format 4 is known; 'jupyter nbconvert --to notebook' converts it",
            ),
            ("{\"nbformat\": 4}", "it has no list 'cells'"),
            ("{\"nbformat\": 4, \"cells\": {}}", "its 'cells' is not a list"),
            ("{\"nbformat\": 4, \"cells\": [1]}", "its cell 0 is not an object"),
            ("{\"nbformat\": 4, \"cells\": [{}]}", "its cell 0 has no 'cell_type'"),
            ("{\"nbformat\": 4, \"cells\": []} x", "it is not JSON: trailing characters at line 1 column 30"),
        ] {
            assert_eq!(Notebook::parse(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = format!("{{\"nbformat\": 4, \"cells\": [], \"x\": {}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(Notebook::parse(&deep).map(|notebook| notebook.cells.len()), Ok(0));
    }
}
