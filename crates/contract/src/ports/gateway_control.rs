//! Port for the server that a conversation runs in: its configuration and its restart.

use std::time::Duration;

use serde_json::Value;

use super::{Journal, SettingReport};
use crate::{BoxFuture, ToolError};

/// A part of the configuration, and the hash of the file that it was read with.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigPart {
    /// The settings; secrets are left out.
    pub settings: Vec<SettingReport>,
    /// The hash of the user's file, for a change that must not overwrite another.
    pub hash: String,
}

/// One key of a change, and what it does to what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The key.
    pub key: String,
    /// What it does to what is allowed.
    pub authority: AuthorityChange,
}

/// What a change does to what a model may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthorityChange {
    /// Nothing.
    Neutral,
    /// It allows less.
    Tighter,
    /// It allows more, or may.
    Wider,
}

impl AuthorityChange {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Tighter => "tighter",
            Self::Wider => "wider",
        }
    }
}

/// A change of the configuration that was checked and not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPreview {
    /// The changed keys.
    pub keys: Vec<KeyChange>,
    /// The difference of the file as text.
    pub difference: String,
    /// The file.
    pub file: String,
    /// The hash of the file before.
    pub hash: String,
}

impl ConfigPreview {
    /// Whether any key allows more than before.
    pub fn widens(&self) -> bool {
        self.keys.iter().any(|key| key.authority == AuthorityChange::Wider)
    }
}

/// The server of a conversation.
pub trait GatewayControl: Send + Sync {
    /// Facts about the server and what runs in it.
    fn status(&self) -> BoxFuture<'_, Result<Value, ToolError>>;
    /// The settings at a path, and those beneath it.
    fn config(&self, path: &str) -> Result<ConfigPart, ToolError>;
    /// The schema of the keys at a path: never of all.
    fn schema(&self, path: &str) -> Result<Value, ToolError>;
    /// Checks a change, given as a table of keys; an old hash is refused.
    fn preview(&self, patch: &Value, base_hash: Option<&str>) -> Result<ConfigPreview, ToolError>;
    /// Writes a change that was previewed. The content before goes to the journal first.
    fn apply<'a>(&'a self, patch: &'a Value, preview: &'a ConfigPreview, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Restarts the server after what runs has ended, or hands it over after a time; says what happens.
    fn restart<'a>(&'a self, session: &'a str, reason: &'a str, wait: Duration) -> BoxFuture<'a, Result<String, ToolError>>;
}
