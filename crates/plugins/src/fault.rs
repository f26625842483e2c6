//! What is wrong with a plugin.

use std::fmt;

/// What is wrong with a plugin, and what to do, as sentences without the last full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFault(String);

impl PluginFault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for PluginFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PluginFault {}
