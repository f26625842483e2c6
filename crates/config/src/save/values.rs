//! Edits of single keys of the user's file, as advice on a refusal names them.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Key, Value};

use super::edit::insert;
use super::tables::table_at;
use super::{SaveError, array};

/// One change of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingEdit {
    /// Give it a word.
    SetText(String, String),
    /// Give it a list of words.
    SetList(String, Vec<String>),
    /// Switch it on or off.
    SetFlag(String, bool),
    /// Give it a number.
    SetNumber(String, i64),
    /// Put an entry into its list.
    Add(String, String),
    /// Take an entry out of its list.
    Remove(String, String),
}

impl SettingEdit {
    /// The key that it changes: `rules.allow`.
    pub fn key(&self) -> &str {
        match self {
            Self::SetText(key, _)
            | Self::SetList(key, _)
            | Self::SetFlag(key, _)
            | Self::SetNumber(key, _)
            | Self::Add(key, _)
            | Self::Remove(key, _) => key,
        }
    }

    /// The parts of the key, without quotes; empty if it is none.
    pub fn path(&self) -> Vec<String> {
        Key::parse(self.key()).unwrap_or_default().iter().map(|part| part.get().to_owned()).collect()
    }

    pub(super) fn put(&self, file: &Path, document: &mut DocumentMut) -> Result<(), SaveError> {
        let path = self.path();
        let Some((name, tables)) = path.split_last() else { return Err(SaveError::wrong_type(file, self.key(), "a key")) };
        let table = table_at(file, document, tables)?;
        let wrong = |expected| SaveError::wrong_type(file, self.key(), expected);
        let value: Value = match self {
            Self::Add(_, entry) => return array::list(table, name).map(|list| array::add(list, entry)).map_err(wrong),
            Self::Remove(_, entry) if table.contains_key(name) => {
                return array::list(table, name).map(|list| array::remove(list, entry)).map_err(wrong);
            }
            Self::Remove(..) => return Ok(()),
            Self::SetText(_, text) => text.as_str().into(),
            Self::SetFlag(_, flag) => (*flag).into(),
            Self::SetNumber(_, number) => (*number).into(),
            Self::SetList(_, entries) => Value::Array(entries.iter().map(String::as_str).collect::<Array>()),
        };
        match table.get_mut(name) {
            Some(Item::Value(known)) => {
                let decor = known.decor().clone();
                *known = value;
                *known.decor_mut() = decor;
            }
            Some(_) => return Err(wrong("a plain value")),
            None => insert(table, name, value),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnFile;

    fn edit(text: &str, edits: &[SettingEdit]) -> Result<String, SaveError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        OwnFile::read(&file).unwrap().with_edits(edits)
    }

    #[test]
    fn keys_are_edited_where_they_are_and_comments_stay() {
        let [set, add, remove] = [SettingEdit::SetText, SettingEdit::Add, SettingEdit::Remove]
            .map(|make: fn(String, String) -> SettingEdit| move |key: &str, value: &str| make(key.into(), value.into()));
        for (before, change, after) in [
            ("", set("ask", "changes"), "ask = \"changes\"\n"),
            ("ask = \"never\" # mine\n", set("ask", "changes"), "ask = \"changes\" # mine\n"),
            ("# mine\n[rules]\ndeny = ['a']\n", add("rules.deny", "b"), "# mine\n[rules]\ndeny = ['a', \"b\"]\n"),
            ("[rules]\ndeny = ['a', 'b'] # x\n", remove("rules.deny", "a"), "[rules]\ndeny = ['b'] # x\n"),
            ("[rules]\n", remove("rules.deny", "a"), "[rules]\n"),
            ("", add("agents.\"a.b\".tools.also_allow", "cron"), "[agents.\"a.b\".tools]\nalso_allow = [\"cron\"]\n"),
        ] {
            assert_eq!(edit(before, std::slice::from_ref(&change)).unwrap(), after, "{change:?}");
        }
        let list = SettingEdit::SetList("tools.allow".into(), vec!["read_file".into()]);
        assert_eq!(edit("", &[list]).unwrap(), "[tools]\nallow = [\"read_file\"]\n");
        for (before, change) in [("rules = 1\n", add("rules.deny", "a")), ("ask = ['x']\n", add("ask.x", "a")), ("", set("a..b", "x"))] {
            assert!(edit(before, std::slice::from_ref(&change)).is_err(), "{change:?}");
        }
    }
}
