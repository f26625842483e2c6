//! Lists of texts: adds and removes entries; the others stay as they are written, with their comments.

use toml_edit::{Array, Item, RawString, TableLike, Value};

use super::edit::insert;

/// The list of texts of a key, created if it is missing; fails with the expected type.
pub(super) fn list<'a>(table: &'a mut dyn TableLike, key: &str) -> Result<&'a mut Array, &'static str> {
    if !table.contains_key(key) {
        insert(table, key, Array::new().into());
    }
    let list = table.get_mut(key).and_then(Item::as_array_mut).ok_or("a list")?;
    if list.iter().all(Value::is_str) { Ok(list) } else { Err("a list of texts") }
}

/// Adds an entry, unless it is there.
pub(super) fn add(list: &mut Array, entry: &str) {
    if position(list, entry).is_none() {
        append(list, entry);
    }
}

/// Appends an entry as those before it are written: on a line of its own, or on the same line.
fn append(list: &mut Array, entry: &str) {
    let last_prefix = list.iter().last().map(|last| text(last.decor().prefix())).unwrap_or_default();
    let mut before_bracket = String::new();
    if let Some(last) = list.iter_mut().last() {
        before_bracket.push_str(&text(last.decor().suffix()));
        last.decor_mut().set_suffix("");
    }
    before_bracket.push_str(&text(Some(list.trailing())));
    let mut entry = Value::from(entry);
    if before_bracket.contains('\n') {
        // Comments there belong to the entries above.
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

/// Removes every such entry with the comment on its line; comments above it stay.
pub(super) fn remove(list: &mut Array, entry: &str) {
    while let Some(at) = position(list, entry) {
        remove_at(list, at);
    }
}

fn position(list: &Array, entry: &str) -> Option<usize> {
    list.iter().position(|known| known.as_str() == Some(entry))
}

fn remove_at(list: &mut Array, at: usize) {
    let gone = list.remove(at);
    let before = text(gone.decor().prefix());
    let mut behind = text(gone.decor().suffix());
    behind.push_str(&list.get(at).map_or_else(|| text(Some(list.trailing())), |next| text(next.decor().prefix())));
    let (line_before, above) = before.split_at(before.find('\n').unwrap_or(before.len()));
    let rest = &behind[behind.find('\n').unwrap_or(behind.len())..];
    let above = if above.contains('#') { above.trim_end() } else { "" };
    let joint = format!("{line_before}{above}{rest}");
    match list.get_mut(at) {
        Some(next) => next.decor_mut().set_prefix(joint),
        // The blanks before the bracket, not those between the entry and the one before it.
        None if joint.trim().is_empty() && !joint.contains('\n') => list.set_trailing(behind),
        None => list.set_trailing(joint),
    }
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    #[test]
    fn removed_entry_takes_only_its_line() {
        for (before, after) in [
            ("['x']", "[]"),
            ("['x', 'b']", "['b']"),
            ("['a', 'x']", "['a']"),
            ("[ 'a', 'x' ]", "[ 'a' ]"),
            ("['a', 'x', ]", "['a', ]"),
            ("['a', 'x', 'b', 'x']", "['a', 'b']"),
            ("[\n  'a', # of a\n  'x', # of x\n  'b', # of b\n]", "[\n  'a', # of a\n  'b', # of b\n]"),
            ("[\n  'x', # of x\n  'b',\n]", "[\n  'b',\n]"),
            ("[\n  'a', # of a\n  # above\n  'x', # of x\n]", "[\n  'a', # of a\n  # above\n]"),
            ("[\n  'a', # of a\n  'x' # of x\n]", "[\n  'a' # of a\n]"),
            ("[\n  'x'\n]", "[\n]"),
            ("['a']", "['a']"),
        ] {
            let mut document: DocumentMut = format!("k = {before}\n").parse().unwrap();
            remove(document["k"].as_array_mut().unwrap(), "x");
            assert_eq!(document.to_string(), format!("k = {after}\n"), "{before}");
        }
    }
}
