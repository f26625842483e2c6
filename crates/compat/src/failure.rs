//! A tool that failed, as the model hears of it.

use haft_contract::ToolError;

/// The tool's own words, or that it had none.
pub(crate) fn failed(original: &str, message: &str) -> ToolError {
    if message.trim().is_empty() {
        return ToolError::execution(format!("The tool '{original}' failed and gave no reason."));
    }
    ToolError::execution(message)
}
