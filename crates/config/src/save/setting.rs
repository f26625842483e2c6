//! Sets one key that a model may set.

use std::path::Path;

use toml_edit::{DocumentMut, Item, Value};

use super::SaveError;
use super::edit::insert;
use super::tables::table_at;
use crate::{ConfigKey, ConfigValue, KEYS, ValueKind};

/// A checked value for a key that a model may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSetting {
    key: &'static str,
    value: ConfigValue,
}

/// The key with exactly this path, if a model may set it.
pub fn model_key(path: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.path == path && key.model_may_set && key.is_fixed())
}

impl ModelSetting {
    /// Reads a value for a key; the error says which values it takes. Keys that a model may set are plain: flags, words and numbers.
    pub fn read(key: &'static ConfigKey, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let value = match key.kind {
            ValueKind::Flag => text.parse().ok().map(ConfigValue::Flag).ok_or_else(|| "true or false".to_owned()),
            ValueKind::Count(least, most) => {
                let number = text.parse().ok().filter(|number| (least..=most).contains(number));
                number.map(ConfigValue::Count).ok_or_else(|| format!("a whole number from {least} to {most}"))
            }
            ValueKind::Choice(words) => {
                let word = words.iter().find(|word| **word == text);
                word.map(|word| ConfigValue::Choice(word)).ok_or_else(|| format!("one of {}", words.join(", ")))
            }
            _ => Err("nothing that can be set here".to_owned()),
        };
        value.map(|value| Self { key: key.path, value }).map_err(|takes| format!("'{}' takes {takes}", key.path))
    }

    /// The value.
    pub fn value(&self) -> &ConfigValue {
        &self.value
    }

    pub(super) fn put(&self, file: &Path, document: &mut DocumentMut) -> Result<(), SaveError> {
        let path: Vec<String> = self.key.split('.').map(str::to_owned).collect();
        let Some((name, tables)) = path.split_last() else { return Ok(()) };
        let table = table_at(file, document, tables)?;
        let new: Value = match &self.value {
            ConfigValue::Flag(flag) => (*flag).into(),
            ConfigValue::Count(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
            ConfigValue::Choice(word) => (*word).into(),
            _ => return Err(SaveError::wrong_type(file, self.key, "a plain value")),
        };
        match table.get_mut(name) {
            Some(Item::Value(known)) => {
                let decor = known.decor().clone();
                *known = new;
                *known.decor_mut() = decor;
            }
            Some(_) => return Err(SaveError::wrong_type(file, self.key, "a plain value")),
            None => insert(table, name, new),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OwnFile;

    fn set(text: &str, key: &str, value: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let key = model_key(key).ok_or("not for a model")?;
        let setting = ModelSetting::read(key, value)?;
        OwnFile::read(&file)
            .unwrap()
            .with_setting(&setting)
            .map_err(|error| error.to_string().replace(&*folder.path().to_string_lossy(), ""))
    }

    #[test]
    fn a_key_is_set_where_it_is_and_the_rest_stays() {
        for (before, key, value, after) in [
            ("", "display.todo_list", "false", "[display]\ntodo_list = false\n"),
            (
                "access = \"read-only\" # mine\n",
                "display.todo_list",
                "true",
                "access = \"read-only\" # mine\n\n[display]\ntodo_list = true\n",
            ),
            (
                "[display] # x\ntodo_list = true # y\nusage = false\n",
                "display.todo_list",
                "false",
                "[display] # x\ntodo_list = false # y\nusage = false\n",
            ),
            ("context = { compact_percent = 50 }\n", "context.compact_percent", " 60 ", "context = { compact_percent = 60 }\n"),
            ("context.compact_percent = 50\n", "context.compact_percent", "60", "context.compact_percent = 60\n"),
        ] {
            assert_eq!(set(before, key, value).as_deref(), Ok(after), "{before}");
        }
    }

    #[test]
    fn wrong_values_and_keys_are_refused() {
        for (before, key, value, words) in [
            ("", "display.todo_list", "yes", "'display.todo_list' takes true or false"),
            ("", "context.compact_percent", "96", "'context.compact_percent' takes a whole number from 20 to 95"),
            ("", "context.compact_percent", "-1", "'context.compact_percent' takes a whole number from 20 to 95"),
            ("", "access", "full-access", "not for a model"),
            ("", "Display.Todo_List", "true", "not for a model"),
            ("", "display.todo_list.", "true", "not for a model"),
            ("display = 3\n", "display.todo_list", "true", "'display' in '/config.toml' is not a table"),
        ] {
            let error = set(before, key, value).unwrap_err();
            assert!(error.contains(words), "{key} {value}: {error}");
        }
    }
}
