//! The text with an agent's table changed.

use std::path::Path;

use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike, Value};

use super::edit::{edited, insert, malformed};
use super::tables::{at, make_tables};
use super::{SaveError, array};
use crate::names::folded;
use crate::path::written;
use crate::read::without_mark;

const AGENTS: &str = "agents";

/// One change of an agent's table. Keys are those of the table: `model`, `tools.deny`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEdit {
    /// Makes the table, if there is none.
    Create,
    /// Gives a key a text.
    Set {
        /// The key.
        key: &'static str,
        /// The text.
        value: String,
    },
    /// Gives a key a list, in place of the one it has.
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
    /// Takes an entry, as it is written, out of a list.
    Remove {
        /// The key of the list.
        key: &'static str,
        /// The entry.
        entry: String,
    },
    /// Takes a key out of the table.
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

/// The text of a file after these changes, one after the other.
pub(super) fn with_agent(file: &Path, text: &str, agent: &str, edits: &[AgentEdit]) -> Result<String, SaveError> {
    // One at a time, so that each changes one place and the lines around it keep their ends.
    edits.iter().try_fold(text.to_owned(), |text, edit| match edit {
        AgentEdit::Unset { key } => without(file, &text, agent, key),
        _ => edited(file, &text, |document| Editing { file, document, agent, one_line: text.contains("\r\n") }.apply(edit)),
    })
}

/// The tables that lead to a key, with the agent's name as it is written, and the key itself.
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

struct Editing<'a> {
    file: &'a Path,
    document: &'a mut DocumentMut,
    agent: &'a str,
    /// Whether texts are written on one line: in a file with other line ends, those of a text would become others too.
    one_line: bool,
}

impl Editing<'_> {
    fn apply(&mut self, edit: &AgentEdit) -> Result<(), SaveError> {
        let (tables, leaf) = path_of(self.document, self.agent, edit.key());
        let there = |document: &mut DocumentMut, path: &[String]| at(document, path).is_some();
        match edit {
            AgentEdit::Create if there(self.document, &tables) => return Ok(()),
            AgentEdit::Remove { .. } if !there(self.document, &[&tables[..], std::slice::from_ref(&leaf)].concat()) => return Ok(()),
            _ => {}
        }
        let wrong = |path: &[String], expected| Err(SaveError::WrongType { file: self.file.to_owned(), key: written(path), expected });
        if let Some(depth) = make_tables(self.document, &tables) {
            return wrong(&tables[..depth], "a table");
        }
        let Some(table) = at(self.document, &tables).and_then(Item::as_table_like_mut) else { return wrong(&tables, "a table") };
        let fits = match edit {
            AgentEdit::Set { value, .. } => set(table, &leaf, if self.one_line { on_one_line(value) } else { value.into() }),
            AgentEdit::SetList { entries, .. } => set(table, &leaf, entries.iter().collect::<Array>().into()),
            AgentEdit::Add { entry, .. } => list(table, &leaf).map(|list| array::add(list, entry)).is_some(),
            AgentEdit::Remove { entry, .. } => list(table, &leaf).map(|list| array::remove(list, entry)).is_some(),
            AgentEdit::Create | AgentEdit::Unset { .. } => true,
        };
        if fits { Ok(()) } else { wrong(&[tables, vec![leaf]].concat(), "of the kind it must be") }
    }
}

fn on_one_line(text: &str) -> Value {
    // What JSON escapes, TOML escapes in the same way; it wants one character more.
    let quoted = serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f");
    quoted.parse().unwrap_or_else(|_| text.into())
}

/// Gives a key another value, which stands where the old one stood.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) -> bool {
    match table.get_mut(key) {
        None => insert(table, key, value),
        Some(Item::Value(old)) if says_the_same(old, &value) => {}
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(_) => return false,
    }
    true
}

/// Whether two texts or lists of texts differ in their spelling alone.
fn says_the_same(one: &Value, other: &Value) -> bool {
    fn texts(value: &Value) -> Option<Vec<&str>> {
        value.as_array().map_or_else(|| value.as_str().map(|text| vec![text]), |list| list.iter().map(Value::as_str).collect())
    }
    one.is_array() == other.is_array() && texts(one).is_some() && texts(one) == texts(other)
}

/// The list of a key, made if it is not there.
fn list<'a>(table: &'a mut dyn TableLike, key: &str) -> Option<&'a mut Array> {
    if !table.contains_key(key) {
        insert(table, key, Array::new().into());
    }
    table.get_mut(key).and_then(Item::as_array_mut).filter(|list| list.iter().all(Value::is_str))
}

/// The text without the lines of a key. Comments above it stay.
fn without(file: &Path, text: &str, agent: &str, key: &str) -> Result<String, SaveError> {
    let (bare, _) = without_mark(text);
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
