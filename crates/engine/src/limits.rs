//! How much of everything there may be.

use std::time::Duration;

/// Bounds of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Text that a call may give the model; the rest is spilled. A tool may declare a larger bound of its own, unless this is
    /// less than usual: whoever wants less gets less.
    pub output_bytes: usize,
    /// Arguments larger than this are refused.
    pub argument_bytes: usize,
    /// A spill larger than this is cut.
    pub spill_bytes: u64,
    /// Spills older than this are removed when a new one is made.
    pub spill_age: Duration,
    /// How long a hook has; one that takes longer before a call blocks it.
    pub hook: Duration,
    /// How long a person has to answer.
    pub approval: Duration,
    /// How much of a result history keeps.
    pub summary_bytes: usize,
}

/// What [`Limits::output_bytes`] is unless someone says otherwise.
const USUAL_OUTPUT_BYTES: usize = 100 * 1024;

impl Limits {
    /// What a tool with this bound of its own may give the model.
    pub(crate) fn output_of(&self, own: usize) -> usize {
        if self.output_bytes < USUAL_OUTPUT_BYTES { self.output_bytes } else { self.output_bytes.max(own) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: USUAL_OUTPUT_BYTES,
            argument_bytes: 16 << 20,
            spill_bytes: 64 << 20,
            spill_age: Duration::from_hours(14 * 24),
            hook: Duration::from_secs(10),
            approval: Duration::from_mins(2),
            summary_bytes: 4096,
        }
    }
}
