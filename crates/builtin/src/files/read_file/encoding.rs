//! The encoding that a caller declares.

use encoding_rs::Encoding;
use haft_contract::ToolError;

use crate::shared::words;

/// The encoding of this name.
pub(super) fn named(label: &str) -> Result<&'static Encoding, ToolError> {
    Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| {
        ToolError::validation(format!(
            "Unsupported encoding: '{}'. Use a name such as 'UTF-8', 'UTF-16LE', 'ISO-8859-1', 'windows-1252', 'Shift_JIS' or 'GBK'.",
            words::shown(label)
        ))
    })
}
