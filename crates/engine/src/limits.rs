//! Limits of a call.

use std::time::Duration;

/// Limits of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallLimits {
    /// Bytes of text in a result; the rest is spilled. A tool may declare a larger limit of its own, unless this one is below
    /// the default.
    pub output_bytes: usize,
    /// Arguments larger than this are refused.
    pub argument_bytes: usize,
    /// A spill larger than this is cut.
    pub spill_bytes: u64,
    /// Spills older than this are removed when a new one is made.
    pub spill_age: Duration,
    /// Timeout of a hook; one that takes longer before a call blocks it.
    pub hook: Duration,
    /// Timeout of an approval.
    pub approval: Duration,
    /// Bytes of a result in history.
    pub summary_bytes: usize,
}

/// The default of [`CallLimits::output_bytes`].
const DEFAULT_OUTPUT_BYTES: usize = 100 * 1024;

impl CallLimits {
    /// The limit for a tool that declares this one.
    pub(crate) fn output_of(&self, own: usize) -> usize {
        if self.output_bytes < DEFAULT_OUTPUT_BYTES { self.output_bytes } else { self.output_bytes.max(own) }
    }
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            output_bytes: DEFAULT_OUTPUT_BYTES,
            argument_bytes: 16 << 20,
            spill_bytes: 64 << 20,
            spill_age: Duration::from_hours(14 * 24),
            hook: Duration::from_secs(10),
            approval: Duration::from_mins(2),
            summary_bytes: 4096,
        }
    }
}
