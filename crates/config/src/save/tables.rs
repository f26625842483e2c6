//! Finds or creates the tables of a change, in the style of those around them.

use std::path::Path;

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::SaveError;
use super::edit::{insert, take_end};
use crate::key_path::format_path;

/// The table at a path, created if it is missing.
pub(super) fn table_at<'d>(file: &Path, document: &'d mut DocumentMut, path: &[String]) -> Result<&'d mut dyn TableLike, SaveError> {
    if let Some(depth) = make_tables(document, path) {
        return Err(SaveError::wrong_type(file, &format_path(&path[..depth]), "a table"));
    }
    let table = at(document, path).and_then(Item::as_table_like_mut);
    table.ok_or_else(|| SaveError::wrong_type(file, &format_path(path), "a table"))
}

/// The item at a path of tables.
pub(super) fn at<'a>(document: &'a mut DocumentMut, path: &[String]) -> Option<&'a mut Item> {
    path.iter().try_fold(document.as_item_mut(), |item, name| item.as_table_like_mut()?.get_mut(name))
}

/// Creates the missing tables of a path in the style of their parent; `Some` is the depth of an item that is no table.
fn make_tables(document: &mut DocumentMut, path: &[String]) -> Option<usize> {
    let there = (0..path.len()).take_while(|depth| at(document, &path[..=*depth]).is_some()).count();
    if let Some(depth) = (1..=there).find(|depth| at(document, &path[..*depth]).is_some_and(|item| !item.is_table_like())) {
        return Some(depth);
    }
    show_own_header(document, &path[..there]);
    if there == path.len() {
        return None;
    }
    let new = NewTable::in_parent(document, &path[..there]);
    let end = if new.is_last { take_end(document) } else { None };
    let parent = at(document, &path[..there])?.as_table_like_mut()?;
    match new_tables(&path[there + 1..], new, end) {
        Item::Value(table) => insert(parent, &path[there], table),
        table => _ = parent.insert(&path[there], table),
    }
    None
}

/// Gives an agent of which only `[agents.NAME.tools]` exists its own header right above that.
fn show_own_header(document: &mut DocumentMut, path: &[String]) {
    let Some(Item::Table(table)) = at(document, path) else { return };
    if path.len() < 2 || !table.is_implicit() || table.position().is_some() {
        return;
    }
    let Some(first) = table.iter_mut().find_map(|(_, item)| item.as_table_mut()) else { return };
    let (position, above) = (first.position(), first.decor().prefix().cloned());
    first.decor_mut().set_prefix("\n");
    table.set_position(position);
    if let Some(above) = above {
        table.decor_mut().set_prefix(above);
    }
}

/// How a new table is written.
#[derive(Clone, Copy)]
struct NewTable {
    form: TableForm,
    /// The position of its header; `None` is behind its parent.
    position: Option<isize>,
    /// Whether nothing but comments follows.
    is_last: bool,
}

#[derive(Clone, Copy)]
enum TableForm {
    Header,
    Dotted,
    Inline,
}

impl NewTable {
    fn in_parent(document: &mut DocumentMut, parent: &[String]) -> Self {
        let last = last_position(document.as_table());
        let is_agent = parent.len() > 1;
        match at(document, parent) {
            Some(Item::Value(_)) => Self { form: TableForm::Inline, position: None, is_last: false },
            Some(Item::Table(table)) if is_agent && table.is_dotted() => Self { form: TableForm::Dotted, position: None, is_last: false },
            Some(Item::Table(table)) if is_agent => {
                Self { form: TableForm::Header, position: None, is_last: table.position() == Some(last) }
            }
            _ => Self { form: TableForm::Header, position: Some(last + 1), is_last: true },
        }
    }
}

/// The tables of a path, each in the one before; the last has the header.
fn new_tables(path: &[String], new: NewTable, end: Option<String>) -> Item {
    match (new.form, path.split_first()) {
        (TableForm::Inline, None) => Item::Value(Value::InlineTable(InlineTable::new())),
        (TableForm::Inline, Some((name, rest))) => {
            let mut table = InlineTable::new();
            TableLike::insert(&mut table, name, new_tables(rest, new, end));
            Item::Value(Value::InlineTable(table))
        }
        (form, None) => {
            let mut table = Table::new();
            table.set_dotted(matches!(form, TableForm::Dotted));
            table.set_position(new.position);
            if let Some(end) = end {
                table.decor_mut().set_prefix(end);
            }
            Item::Table(table)
        }
        (form, Some((name, rest))) => {
            let mut table = Table::new();
            table.set_implicit(true);
            table.set_dotted(matches!(form, TableForm::Dotted));
            table.insert(name, new_tables(rest, new, end));
            Item::Table(table)
        }
    }
}

fn last_position(table: &Table) -> isize {
    let beneath = table.iter().map(|(_, item)| match item {
        Item::Table(table) => last_position(table),
        Item::ArrayOfTables(tables) => tables.iter().map(last_position).max().unwrap_or(0),
        _ => 0,
    });
    beneath.max().unwrap_or(0).max(table.position().unwrap_or(0))
}
