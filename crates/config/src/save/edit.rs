//! Changes the text of a file in one place.

use std::path::Path;

use toml_edit::{DocumentMut, Item, TableLike, TomlError, Value};

use super::SaveError;
use crate::read::without_bom;

/// The text after a change of its document. The rest stays as it is written, with its line ends and byte order mark.
pub(super) fn edited(file: &Path, text: &str, change: impl FnOnce(&mut DocumentMut) -> Result<(), SaveError>) -> Result<String, SaveError> {
    let (bare, has_bom) = without_bom(text);
    let mut document: DocumentMut = bare.parse().map_err(|error| malformed(file, bare, &error))?;
    change(&mut document)?;
    let bom = if has_bom { "\u{feff}" } else { "" };
    Ok(format!("{bom}{}", with_line_ends_of(bare, &document.to_string())))
}

pub(super) fn malformed(file: &Path, text: &str, error: &TomlError) -> SaveError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    SaveError::Malformed { file: file.to_owned(), line, why: error.message().lines().next().unwrap_or_default().to_owned() }
}

/// Removes the comments at the end of the file, for a new table after them.
pub(super) fn take_end(document: &mut DocumentMut) -> Option<String> {
    let end = document.trailing().as_str().unwrap_or_default().trim_end().to_owned();
    (!end.is_empty()).then(|| {
        document.set_trailing("");
        format!("{end}\n\n")
    })
}

/// Adds a key behind the others of its table.
pub(super) fn insert(table: &mut dyn TableLike, key: &str, mut value: Value) {
    // In an inline table the blank before the brace belongs to the last value.
    if let Some((_, Item::Value(last))) = table.iter_mut().last()
        && let Some(suffix) = last.decor().suffix().and_then(|suffix| suffix.as_str()).map(str::to_owned)
        && suffix.chars().all(|ch| ch == ' ')
    {
        value.decor_mut().set_suffix(suffix);
        last.decor_mut().set_suffix("");
    }
    table.insert(key, Item::Value(value));
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
