//! The text with some rules more, and nothing else changed.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, TableLike, TomlError, Value};

use super::SaveError;
use crate::decode::MAX_ENTRIES;
use crate::read::without_mark;

const TABLE: &str = "rules";
const LIST: &str = "allow";
const KEY: &str = "rules.allow";

/// The text of the file with the rules in `rules.allow`; `None` if all are there already.
pub(super) fn with_rules(file: &Path, text: &str, rules: &[&str]) -> Result<Option<String>, SaveError> {
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
    let before = list.len();
    for rule in rules {
        if !list.iter().any(|entry| entry.as_str() == Some(rule)) {
            append(list, rule);
        }
    }
    if list.len() == before {
        return Ok(None);
    }
    if list.len() > MAX_ENTRIES {
        let why = format!("'{KEY}' would have {} entries, and may have {MAX_ENTRIES}", list.len());
        return Err(SaveError::Unusable { file: file.to_owned(), why });
    }
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

/// The editor writes `\n`. Lines that did not change keep their ends, and new ones end as most of the others do.
fn with_line_ends_of(original: &str, changed: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (original.split_inclusive('\n').collect(), changed.split_inclusive('\n').collect());
    let windows = old.iter().filter(|line| line.ends_with("\r\n")).count();
    let most = if windows > 0 && windows * 2 >= old.len() { "\r\n" } else { "\n" };
    let same = |(old, new): &(&&str, &&str)| plain(old) == plain(new);
    let head = old.iter().zip(&new).take_while(same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
    let middle = new[head..new.len() - tail].iter().map(|line| plain(line).replace('\n', most));
    let (head, tail) = (old[..head].iter(), old[old.len() - tail..].iter());
    head.map(ToString::to_string).chain(middle).chain(tail.map(ToString::to_string)).collect()
}

/// The line with the end that the editor gives it.
fn plain(line: &str) -> String {
    line.strip_suffix("\r\n").map_or_else(|| line.to_owned(), |line| format!("{line}\n"))
}
