//! Port for decisions on effects that no plan could name.

use crate::{CallInfo, Effect, ToolError};

/// Decides on an effect that could not be planned, such as the next hop of a redirect.
pub trait Gate: Send + Sync {
    /// Allowed only if the session's policy allows it without asking.
    fn allows(&self, call: &CallInfo, effect: &Effect) -> Result<(), ToolError>;
}
