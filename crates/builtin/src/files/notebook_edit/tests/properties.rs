//! A change touches the cell that it names, and not one byte of anything else.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use crate::shared::notebook::Notebook;

fn cell() -> impl Strategy<Value = Value> {
    let source = prop_oneof![
        "[a-zé\"\\\\\n🦀]{0,12}".prop_map(Value::from),
        prop::collection::vec("[a-zé\"\\\\🦀]{0,6}\n?", 0..4).prop_map(Value::from),
    ];
    (source, prop::sample::select(&["code", "markdown", "raw"][..]), any::<bool>(), prop::option::of("[a-zA-Z0-9_-]{1,8}"), any::<f64>())
        .prop_map(|(source, kind, outputs, id, number)| {
            let mut cell = json!({"metadata": {"n": number, "é": [null, {"x": "]}"}]}, "source": source, "cell_type": kind});
            if outputs {
                cell["outputs"] = json!([{"output_type": "stream", "text": "x"}]);
                cell["execution_count"] = json!(7);
            }
            if let Some(id) = id {
                cell["id"] = id.into();
            }
            cell
        })
}

fn notebook() -> impl Strategy<Value = String> {
    (prop::collection::vec(cell(), 1..5), 0..3_u8, 0..6_u64).prop_map(|(cells, layout, minor)| {
        let notebook = json!({"cells": cells, "x": "{[\"", "nbformat": 4, "nbformat_minor": minor});
        match layout {
            0 => notebook.to_string(),
            1 => format!("{notebook:#}\n"),
            _ => format!("{notebook:#}").replace('\n', "\r\n").replace("  ", "\t"),
        }
    })
}

fn params(index: usize, mode: EditMode, cell_type: Option<CellType>, source: &str) -> Params {
    Params {
        notebook_path: "n.ipynb".into(),
        cell_id: Some(index.to_string()),
        new_source: Some(source.to_owned()),
        cell_type,
        edit_mode: mode,
    }
}

/// The cells as they are written, and what stands around them.
fn parts(text: &str) -> (Vec<&str>, &str, &str) {
    let notebook = Notebook::parse(text).unwrap();
    let cells = notebook.cells.iter().map(|cell| &text[cell.span.clone()]).collect();
    (cells, &text[..notebook.list.start], &text[notebook.list.end..])
}

fn mode() -> impl Strategy<Value = EditMode> {
    prop::sample::select(&[EditMode::Replace, EditMode::Insert, EditMode::Delete][..])
}

fn kind() -> impl Strategy<Value = Option<CellType>> {
    prop::option::of(prop::sample::select(&[CellType::Code, CellType::Markdown, CellType::Raw][..]))
}

proptest! {
    #[test]
    fn only_the_addressed_cell_changes(text in notebook(), index in 0..5_usize, mode in mode(), kind in kind(), source in "[a-zé\"\n🦀]{0,20}") {
        let (before, head, tail) = parts(&text);
        let index = index % before.len();
        // An id may be a number, and then names another cell.
        prop_assume!(Notebook::parse(&text).unwrap().cells.iter().all(|cell| cell.id.as_deref() != Some(&index.to_string())));
        let content = SharedContent::from(text.clone().into_bytes());
        let edited = apply(&content, &params(index, mode, kind, &source), "0123456789abcdef").unwrap();
        if !edited.changed {
            return Ok(());
        }
        let text = String::from_utf8(edited.content).unwrap();
        let (after, new_head, new_tail) = parts(&text);
        prop_assert_eq!((head, tail), (new_head, new_tail));
        let mut expected = before.clone();
        match mode {
            EditMode::Replace => expected[index] = after[index],
            EditMode::Insert => expected.insert(index + 1, after[index + 1]),
            EditMode::Delete => {
                expected.remove(index);
            }
        }
        prop_assert_eq!(&after, &expected);
        if mode != EditMode::Delete {
            let notebook = Notebook::parse(&text).unwrap();
            let cell = &notebook.cells[edited.index];
            prop_assert_eq!(cell.source().0, source);
            let value: Value = serde_json::from_str(after[edited.index]).unwrap();
            let code = cell.kind == "code";
            let run = (value.get("outputs").cloned(), value.get("execution_count").cloned());
            prop_assert_eq!(run, (code.then(|| json!([])), code.then_some(Value::Null)));
        }
    }

    #[test]
    fn metadata_stay_as_they_are_written(text in notebook(), index in 0..5_usize, kind in kind()) {
        let notebook = Notebook::parse(&text).unwrap();
        let index = index % notebook.cells.len();
        let splice = change::replace(&notebook, index, "new", kind.unwrap_or(CellType::Code));
        let after = splice.apply(&text);
        let after = Notebook::parse(&after).unwrap();
        for name in ["metadata", "id"] {
            let of = |notebook: &Notebook<'_>| notebook.cells[index].entry(name).map(|entry| entry.value.to_owned());
            prop_assert_eq!(of(&notebook), of(&after));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), mode in mode()) {
        drop(apply(&SharedContent::from(bytes), &params(0, mode, None, "x"), "seed"));
    }

    /// Broken in one place, it is nearly a notebook.
    #[test]
    fn no_broken_notebook_makes_it_panic(text in notebook(), at in any::<prop::sample::Index>(), byte in any::<u8>(), mode in mode(), index in 0..5_usize) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        drop(apply(&SharedContent::from(bytes), &params(index, mode, None, "x"), "seed"));
    }
}
