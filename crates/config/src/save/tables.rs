//! Tables that a change needs: found, or made in the way of those around them.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::edit::{insert, take_end};

/// The item at a path of tables.
pub(super) fn at<'a>(document: &'a mut DocumentMut, path: &[String]) -> Option<&'a mut Item> {
    path.iter().try_fold(document.as_item_mut(), |item, name| item.as_table_like_mut()?.get_mut(name))
}

/// Makes the tables of a path that are not there, in the way of the one they stand in; `Some` is the depth at which there is
/// something that is no table.
pub(super) fn make_tables(document: &mut DocumentMut, path: &[String]) -> Option<usize> {
    let there = (0..path.len()).take_while(|depth| at(document, &path[..=*depth]).is_some()).count();
    if let Some(depth) = (1..=there).find(|depth| at(document, &path[..*depth]).is_some_and(|item| !item.is_table_like())) {
        return Some(depth);
    }
    show_own_header(document, &path[..there]);
    if there == path.len() {
        return None;
    }
    let placed = Placed::of(document, &path[..there]);
    let end = if placed.is_last { take_end(document) } else { None };
    let parent = at(document, &path[..there])?.as_table_like_mut()?;
    match new_tables(&path[there + 1..], placed, end) {
        Item::Value(table) => insert(parent, &path[there], table),
        table => _ = parent.insert(&path[there], table),
    }
    None
}

/// An agent of which only `[agents.NAME.tools]` is there gets its own header right above that, beneath what stood above it.
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
struct Placed {
    form: Form,
    /// Where its header stands; `None` is behind the table that it belongs to.
    position: Option<isize>,
    /// Whether nothing but comments follows.
    is_last: bool,
}

#[derive(Clone, Copy)]
enum Form {
    Header,
    Dotted,
    Inline,
}

impl Placed {
    fn of(document: &mut DocumentMut, parent: &[String]) -> Self {
        let last = last_position(document.as_table());
        let is_agent = parent.len() > 1;
        match at(document, parent) {
            Some(Item::Value(_)) => Self { form: Form::Inline, position: None, is_last: false },
            Some(Item::Table(table)) if is_agent && table.is_dotted() => Self { form: Form::Dotted, position: None, is_last: false },
            Some(Item::Table(table)) if is_agent => Self { form: Form::Header, position: None, is_last: table.position() == Some(last) },
            _ => Self { form: Form::Header, position: Some(last + 1), is_last: true },
        }
    }
}

/// The tables of a path, each in the one before; the last has the header.
fn new_tables(path: &[String], placed: Placed, end: Option<String>) -> Item {
    match (placed.form, path.split_first()) {
        (Form::Inline, None) => Item::Value(Value::InlineTable(InlineTable::new())),
        (Form::Inline, Some((name, rest))) => {
            let mut table = InlineTable::new();
            TableLike::insert(&mut table, name, new_tables(rest, placed, end));
            Item::Value(Value::InlineTable(table))
        }
        (form, None) => {
            let mut table = Table::new();
            table.set_dotted(matches!(form, Form::Dotted));
            table.set_position(placed.position);
            if let Some(end) = end {
                table.decor_mut().set_prefix(end);
            }
            Item::Table(table)
        }
        (form, Some((name, rest))) => {
            let mut table = Table::new();
            table.set_implicit(true);
            table.set_dotted(matches!(form, Form::Dotted));
            table.insert(name, new_tables(rest, placed, end));
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
