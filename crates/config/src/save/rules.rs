//! The text with some rules more.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item};

use super::edit::{edited, insert, take_end};
use super::{SaveError, array};
use crate::decode::MAX_ENTRIES;

const TABLE: &str = "rules";
const LIST: &str = "allow";
const KEY: &str = "rules.allow";

/// The text of the file with the rules in `rules.allow`; `None` if all are there already.
pub(super) fn with_rules(file: &Path, text: &str, rules: &[&str]) -> Result<Option<String>, SaveError> {
    let mut added = false;
    let changed = edited(file, text, |document| {
        added = add(file, document, rules)?;
        Ok(())
    })?;
    Ok(added.then_some(changed))
}

fn add(file: &Path, document: &mut DocumentMut, rules: &[&str]) -> Result<bool, SaveError> {
    let wrong = |key: &str, expected| SaveError::WrongType { file: file.to_owned(), key: key.to_owned(), expected };
    make_table(document);
    let table = document.get_mut(TABLE).and_then(Item::as_table_like_mut).ok_or_else(|| wrong(TABLE, "a table"))?;
    if !table.contains_key(LIST) {
        insert(table, LIST, Array::new().into());
    }
    let list = table.get_mut(LIST).and_then(Item::as_array_mut).ok_or_else(|| wrong(KEY, "a list"))?;
    if list.iter().any(|entry| !entry.is_str()) {
        return Err(wrong(KEY, "a list of texts"));
    }
    let before = list.len();
    for rule in rules {
        array::add(list, rule);
    }
    if list.len() > MAX_ENTRIES {
        let why = format!("'{KEY}' would have {} entries, and may have {MAX_ENTRIES}", list.len());
        return Err(SaveError::Unusable { file: file.to_owned(), why });
    }
    Ok(list.len() > before)
}

/// Adds the table at the end of the file if there is none; comments at the end stay above it.
fn make_table(document: &mut DocumentMut) {
    if document.contains_key(TABLE) {
        return;
    }
    let mut table = toml_edit::Table::new();
    if let Some(end) = take_end(document) {
        table.decor_mut().set_prefix(end);
    }
    document.insert(TABLE, Item::Table(table));
}
