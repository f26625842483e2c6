//! Port for facts about the machine.

use serde::Serialize;

use crate::BoxFuture;

/// Facts about the machine; unavailable ones are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct SystemFacts {
    /// The operating system.
    pub os: String,
    /// Its version.
    pub version: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The processor architecture.
    pub architecture: String,
    /// The machine's name.
    pub hostname: Option<String>,
    /// Processors that can be used.
    pub processors: usize,
    /// Memory in bytes.
    pub memory_total: Option<u64>,
    /// Memory that is free to use, in bytes.
    pub memory_available: Option<u64>,
    /// Seconds since the machine started.
    pub uptime_seconds: Option<u64>,
}

/// Reads facts about the machine.
pub trait SystemProbe: Send + Sync {
    /// The facts.
    fn facts(&self) -> BoxFuture<'_, SystemFacts>;
}
