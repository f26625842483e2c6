//! Settings of one tool, which override what it says itself.

use std::time::Duration;

use haft_contract::{Access, ToolDefinition};

/// How one tool is run, where that is not as the tool says itself.
///
/// ```
/// use std::time::Duration;
/// use haft_engine::{Registry, ToolSettings};
///
/// let registry = Registry::new();
/// registry.set_settings("http_request", ToolSettings::new().timeout(Duration::from_secs(60)).output_bytes(20_000));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSettings {
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// Bytes of text in a result; the rest is spilled.
    pub output_bytes: Option<usize>,
    /// The access that a call needs at least. Where its effects need more, they decide.
    pub access: Option<Access>,
}

impl ToolSettings {
    /// Settings that change nothing.
    pub fn new() -> Self {
        Self::default()
    }
    /// How long a call may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
    /// Bytes of text in a result; the rest is spilled.
    pub fn output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = Some(bytes);
        self
    }
    /// The access that a call needs at least.
    pub fn access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    pub(super) fn apply(&self, definition: &mut ToolDefinition) {
        definition.timeout = self.timeout.unwrap_or(definition.timeout);
        if let Some(access) = self.access {
            definition.access = access;
            definition.least_access = Some(access);
        }
    }
}
