//! The text with one rule more, and nothing else changed.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, TableLike, TomlError, Value};

use super::SaveError;
use crate::decode::MAX_ENTRIES;
use crate::read::without_mark;

const TABLE: &str = "rules";
const LIST: &str = "allow";
const KEY: &str = "rules.allow";

/// The text of the file with the rule in `rules.allow`; `None` if it is there already.
pub(super) fn with_rule(file: &Path, text: &str, rule: &str) -> Result<Option<String>, SaveError> {
    let (bare, marked) = without_mark(text);
    let mut document: DocumentMut = bare.parse().map_err(|error| malformed(file, bare, &error))?;
    let wrong = |key, expected| SaveError::WrongType { file: file.to_owned(), key, expected };
    make_table(&mut document);
    let table = document.get_mut(TABLE).and_then(Item::as_table_like_mut).ok_or_else(|| wrong(TABLE, "a table"))?;
    make_list(table);
    let list = table.get_mut(LIST).and_then(Item::as_array_mut).ok_or_else(|| wrong(KEY, "a list"))?;
    if list.iter().any(|entry| !entry.is_str()) {
        return Err(wrong(KEY, "a list of texts"));
    }
    if list.iter().any(|entry| entry.as_str() == Some(rule)) {
        return Ok(None);
    }
    if list.len() >= MAX_ENTRIES {
        let why = format!("'{KEY}' has {MAX_ENTRIES} entries, which is as many as it may have");
        return Err(SaveError::Unusable { file: file.to_owned(), why });
    }
    append(list, rule);
    let mark = if marked { "\u{feff}" } else { "" };
    Ok(Some(format!("{mark}{}", with_line_ends_of(bare, &document.to_string()))))
}

fn malformed(file: &Path, text: &str, error: &TomlError) -> SaveError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    SaveError::Malformed { file: file.to_owned(), line, why: error.message().lines().next().unwrap_or_default().to_owned() }
}

/// Adds the table at the end of the file if there is none; comments at the end stay above it.
fn make_table(document: &mut DocumentMut) {
    if document.contains_key(TABLE) {
        return;
    }
    let end = document.trailing().as_str().unwrap_or_default().trim_end().to_owned();
    let mut table = toml_edit::Table::new();
    if !end.is_empty() {
        table.decor_mut().set_prefix(format!("{end}\n\n"));
        document.set_trailing("");
    }
    document.insert(TABLE, Item::Table(table));
}

fn make_list(table: &mut dyn TableLike) {
    if table.contains_key(LIST) {
        return;
    }
    let mut list = Array::new();
    // In an inline table the blank before the brace belongs to the last value.
    if let Some(Item::Value(last)) = table.iter().last().map(|(_, item)| item)
        && let Some(suffix) = last.decor().suffix().and_then(|suffix| suffix.as_str())
        && suffix.chars().all(|letter| letter == ' ')
    {
        list.decor_mut().set_suffix(suffix);
    }
    if let Some((_, Item::Value(last))) = table.iter_mut().last()
        && list.decor().suffix().is_some()
    {
        last.decor_mut().set_suffix("");
    }
    table.insert(LIST, Item::Value(Value::Array(list)));
}

/// Appends the rule as the entries before it are written: on a line of its own, or on the same line.
fn append(list: &mut Array, rule: &str) {
    let last_prefix = list.iter().last().and_then(|last| last.decor().prefix()?.as_str()).unwrap_or_default().to_owned();
    let mut before_bracket = String::new();
    if let Some(last) = list.iter_mut().last() {
        before_bracket.push_str(last.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or_default());
        last.decor_mut().set_suffix("");
    }
    before_bracket.push_str(list.trailing().as_str().unwrap_or_default());
    let mut entry = Value::from(rule);
    if before_bracket.contains('\n') {
        // Comments there belong to the entries above, and stay with them.
        let comments = before_bracket.trim_end();
        let indentation = indentation(if comments.contains('\n') { comments } else { &last_prefix });
        entry.decor_mut().set_prefix(format!("{comments}\n{indentation}"));
        list.set_trailing(&before_bracket[comments.len()..]);
    } else {
        entry.decor_mut().set_prefix(if list.is_empty() { "" } else { " " });
        list.set_trailing(before_bracket);
    }
    list.push_formatted(entry);
}

/// The blanks at the beginning of the last line.
fn indentation(text: &str) -> &str {
    let line = text.rsplit_once('\n').map_or("  ", |(_, line)| line);
    &line[..line.len() - line.trim_start().len()]
}

/// The editor writes `\n`; a file whose lines end in `\r\n` keeps that.
fn with_line_ends_of(original: &str, changed: &str) -> String {
    let (all, windows) = (original.matches('\n').count(), original.matches("\r\n").count());
    if windows > 0 && windows * 2 >= all { changed.replace('\n', "\r\n") } else { changed.to_owned() }
}
