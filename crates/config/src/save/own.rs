//! The user's file as it was read, replaced only if it did not change meanwhile.

use std::path::{Path, PathBuf};

use super::agent::{AgentEdit, with_agent};
use super::edit::edited;
use super::server::{self, ServerEdit};
use super::setting::ModelSetting;
use super::values::SettingEdit;
use super::{LOCK_TIMEOUT, SaveError, file};

/// The user's file as it was read.
#[derive(Debug, Clone)]
pub struct OwnFile {
    /// The target of a link.
    target: PathBuf,
    text: Option<String>,
}

impl OwnFile {
    /// Reads it; a missing one is empty.
    pub fn read(file: &Path) -> Result<Self, SaveError> {
        let target = file::target(file)?;
        let text = file::read(&target)?;
        Ok(Self { target, text })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The text after changes of the table of an agent, by its canonical name. Comments, order and formatting of the rest
    /// stay.
    pub fn with_agent(&self, agent: &str, edits: &[AgentEdit]) -> Result<String, SaveError> {
        with_agent(&self.target, self.text(), agent, edits)
    }

    /// The text with a preset named at its top, in place of the one that it names.
    pub fn with_preset(&self, name: &str) -> Result<String, SaveError> {
        edited(&self.target, self.text(), |document| {
            match document.get_mut("preset").and_then(toml_edit::Item::as_value_mut) {
                Some(known) => {
                    let decor = known.decor().clone();
                    *known = name.into();
                    *known.decor_mut() = decor;
                }
                None => _ = document.insert("preset", toml_edit::value(name)),
            }
            Ok(())
        })
    }

    /// The text with one key set. Comments, order and formatting of the rest stay.
    pub fn with_setting(&self, setting: &ModelSetting) -> Result<String, SaveError> {
        edited(&self.target, self.text(), |document| setting.put(&self.target, document))
    }

    /// The text after these changes of keys, all of them. Comments, order and formatting of the rest stay.
    pub fn with_edits(&self, edits: &[SettingEdit]) -> Result<String, SaveError> {
        edited(&self.target, self.text(), |document| edits.iter().try_for_each(|edit| edit.put(&self.target, document)))
    }

    /// The text with the table of an MCP server, in place of the one that it has.
    pub fn with_server(&self, name: &str, edits: &[ServerEdit]) -> Result<String, SaveError> {
        server::with_server(&self.target, self.text(), name, edits)
    }

    /// The text without the table of an MCP server; `None` if it has none.
    pub fn without_server(&self, name: &str) -> Result<Option<String>, SaveError> {
        server::without_server(&self.target, self.text(), name)
    }

    /// The file itself, with a link followed.
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Whether it exists.
    pub fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// Writes a text, unless the file has changed since it was read. A missing file is created, private to the user; a link
    /// stays a link.
    pub fn replace(self, text: String) -> Result<Replaced, SaveError> {
        file::make_folder(&self.target)?;
        self.exchange(Some(&text))?;
        Ok(Replaced { before: self, text })
    }

    fn exchange(&self, text: Option<&str>) -> Result<(), SaveError> {
        let lock = file::lock(&self.target, LOCK_TIMEOUT)?;
        if file::read(&self.target)? != self.text {
            return Err(SaveError::Changed { file: self.target.clone() });
        }
        match text {
            Some(text) => file::replace(&self.target, text)?,
            None => file::remove(&self.target)?,
        }
        drop(lock);
        Ok(())
    }
}

/// A file that was replaced.
#[derive(Debug)]
#[must_use]
pub struct Replaced {
    before: OwnFile,
    text: String,
}

impl Replaced {
    /// Restores the file, unless it changed meanwhile.
    pub fn restore(self) -> Result<(), SaveError> {
        let Self { before: OwnFile { target, text: before }, text } = self;
        OwnFile { target, text: Some(text) }.exchange(before.as_deref())
    }
}
