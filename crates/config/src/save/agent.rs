//! The text with an agent's table changed.

use std::path::Path;

use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike, Value};

use super::edit::{edited, insert, malformed};
use super::tables::{at, table_at};
use super::{SaveError, array};
use crate::key_path::format_path;
use crate::read::without_bom;
use crate::table_names::folded;

const AGENTS: &str = "agents";

/// One change of an agent's table. Keys are relative to the table: `model`, `tools.deny`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEdit {
    /// Creates the table, if there is none.
    Create,
    /// Sets a key to a text.
    Set {
        /// The key.
        key: &'static str,
        /// The text.
        value: String,
    },
    /// Sets a key to a list.
    SetList {
        /// The key.
        key: &'static str,
        /// The entries.
        entries: Vec<String>,
    },
    /// Adds an entry to a list, unless it is there.
    Add {
        /// The key of the list.
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// Removes an entry, as it is written, from a list.
    Remove {
        /// The key of the list.
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// Removes a key from the table.
    Unset {
        /// The key.
        key: &'static str,
    },
}

impl AgentEdit {
    fn key(&self) -> &'static str {
        match self {
            Self::Create => "",
            Self::Set { key, .. } | Self::SetList { key, .. } | Self::Add { key, .. } | Self::Remove { key, .. } | Self::Unset { key } => {
                key
            }
        }
    }
}

/// The text of a file after these changes.
pub(super) fn with_agent(file: &Path, text: &str, agent: &str, edits: &[AgentEdit]) -> Result<String, SaveError> {
    // One at a time, so that each changes one place and the lines around it keep their ends.
    edits.iter().try_fold(text.to_owned(), |text, edit| match edit {
        AgentEdit::Unset { key } => without(file, &text, agent, key),
        // In a file with other line ends a text is written on one line, because its own line ends would change too.
        _ => edited(file, &text, |document| apply(file, document, agent, edit, text.contains("\r\n"))),
    })
}

/// The tables of a key, with the agent's name as it is written in the file, and the key itself.
fn path_of(root: &Table, agent: &str, key: &str) -> (Vec<String>, String) {
    let agents = root.get(AGENTS).and_then(Item::as_table_like);
    let known = agents.and_then(|agents| agents.iter().map(|(name, _)| name.to_owned()).find(|name| folded(AGENTS, name) == agent));
    let mut tables = vec![AGENTS.to_owned(), known.unwrap_or_else(|| agent.to_owned())];
    let leaf = key.rsplit_once('.').map_or(key, |(table, leaf)| {
        tables.push(table.to_owned());
        leaf
    });
    (tables, leaf.to_owned())
}

fn apply(file: &Path, document: &mut DocumentMut, agent: &str, edit: &AgentEdit, one_line: bool) -> Result<(), SaveError> {
    let (tables, leaf) = path_of(document, agent, edit.key());
    let key = [&tables[..], std::slice::from_ref(&leaf)].concat();
    match edit {
        AgentEdit::Create if at(document, &tables).is_some() => return Ok(()),
        AgentEdit::Remove { .. } if at(document, &key).is_none() => return Ok(()),
        _ => {}
    }
    let table = table_at(file, document, &tables)?;
    let changed = match edit {
        AgentEdit::Set { value, .. } => set(table, &leaf, if one_line { on_one_line(value) } else { value.into() }),
        AgentEdit::SetList { entries, .. } => set(table, &leaf, entries.iter().collect::<Array>().into()),
        AgentEdit::Add { entry, .. } => array::list(table, &leaf).map(|list| array::add(list, entry)),
        AgentEdit::Remove { entry, .. } => array::list(table, &leaf).map(|list| array::remove(list, entry)),
        AgentEdit::Create | AgentEdit::Unset { .. } => Ok(()),
    };
    changed.map_err(|expected| SaveError::wrong_type(file, &format_path(&key), expected))
}

fn on_one_line(text: &str) -> Value {
    // TOML escapes as JSON does, and one character more.
    let quoted = serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    quoted.parse().unwrap_or_else(|_| text.into())
}

/// Replaces the value of a key in its place; fails if the key is a table.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) -> Result<(), &'static str> {
    match table.get_mut(key) {
        None => insert(table, key, value),
        Some(Item::Value(old)) if is_same(old, &value) => {}
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(_) => return Err("a value"),
    }
    Ok(())
}

/// Whether two texts or lists of texts differ in their spelling alone.
fn is_same(one: &Value, other: &Value) -> bool {
    fn texts(value: &Value) -> Option<Vec<&str>> {
        value.as_array().map_or_else(|| value.as_str().map(|text| vec![text]), |list| list.iter().map(Value::as_str).collect())
    }
    one.is_array() == other.is_array() && texts(one).is_some() && texts(one) == texts(other)
}

/// The text without the lines of a key. Comments above it stay.
fn without(file: &Path, text: &str, agent: &str, key: &str) -> Result<String, SaveError> {
    let (bare, _) = without_bom(text);
    let document = Document::parse(bare).map_err(|error| malformed(file, bare, &error))?;
    let (tables, leaf) = path_of(document.as_table(), agent, key);
    let parent = tables.iter().try_fold(document.as_item(), |item, name| item.as_table_like()?.get(name));
    let found =
        parent.and_then(Item::as_table_like).and_then(|table| Some((table.key(&leaf)?.span()?.start, table.get(&leaf)?.span()?.end)));
    match (parent, found) {
        (Some(Item::Value(_)), Some(_)) => edited(file, text, |document| {
            at(document, &tables).and_then(Item::as_table_like_mut).map(|table| table.remove(&leaf));
            Ok(())
        }),
        (_, Some((start, end))) => Ok(without_lines(text, text.len() - bare.len(), start, end)),
        (_, None) => Ok(text.to_owned()),
    }
}

/// The text without the whole lines from one byte to another.
fn without_lines(text: &str, offset: usize, start: usize, end: usize) -> String {
    let (start, end) = (start + offset, end + offset);
    let line_start = text[..start].rfind('\n').map_or(offset, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    format!("{}{}", &text[..line_start], &text[line_end..])
}
