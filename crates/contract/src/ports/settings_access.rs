//! Port for the settings of the program.

use std::path::PathBuf;

use serde_json::Value;

use super::Journal;
use crate::{BoxFuture, ToolError};

/// A setting, and where its value comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingReport {
    /// The key, as the configuration writes it.
    pub key: String,
    /// The value; `null` where nothing is set and there is no default.
    pub value: Value,
    /// The file and line, or that it is the default.
    pub source: String,
    /// Whether a model may set it.
    pub is_settable: bool,
}

/// A change of a setting that was checked and not written yet.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    /// The key, as the configuration writes it.
    pub key: String,
    /// The value before.
    pub before: Value,
    /// The new value.
    pub value: Value,
    /// The file that is changed.
    pub file: PathBuf,
}

/// Reads settings, and changes those that a model may change.
pub trait SettingsAccess: Send + Sync {
    /// The setting with this key, or the settings beneath it. Secrets are left out.
    fn read(&self, key: &str) -> Result<Vec<SettingReport>, ToolError>;
    /// Checks a change. The error says why the key cannot be set, or what values it takes.
    fn check(&self, key: &str, value: &Value) -> Result<SettingChange, ToolError>;
    /// Writes a change to the file of the user, and returns the difference as text. The content before goes to the journal first.
    fn write<'a>(&'a self, change: &'a SettingChange, journal: &'a dyn Journal) -> BoxFuture<'a, Result<String, ToolError>>;
}
