//! Files that a task comes with.

use std::collections::HashSet;

use haft_contract::{AgentAttachment, ToolError};
use haft_text::base64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::brief;

const MAX_FILES: usize = 50;
const MAX_FILE_BYTES: usize = 1024 * 1024;
const MAX_BYTES: usize = 5 * 1024 * 1024;
const MAX_NAME: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Utf8,
    Base64,
}

/// A file of a task.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Attachment {
    /// Its file name, without a folder.
    name: String,
    /// Its content.
    #[schemars(extend("x-verbatim" = true))]
    content: String,
    /// How 'content' is written: 'utf8' (the default) or 'base64'.
    #[serde(default)]
    encoding: Encoding,
}

/// The files, within their limits.
pub(super) fn decode_all(attachments: &[Attachment]) -> Result<Vec<AgentAttachment>, ToolError> {
    if attachments.len() > MAX_FILES {
        return Err(ToolError::validation(format!(
            "There are {} attachments, and {MAX_FILES} are the most. Write the files to the workspace, and name their folder in the task.",
            attachments.len()
        )));
    }
    let (mut names, mut bytes) = (HashSet::new(), 0);
    let mut files = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        check_name(&attachment.name)?;
        if !names.insert(attachment.name.to_lowercase()) {
            return Err(ToolError::validation(format!("Two attachments are named '{}'. Give each a name of its own.", attachment.name)));
        }
        let content = attachment.decode()?;
        bytes += content.len();
        if content.len() > MAX_FILE_BYTES || bytes > MAX_BYTES {
            return Err(ToolError::validation(format!(
                "The attachment '{}' is too large: a file may have {MAX_FILE_BYTES} bytes, and all together {MAX_BYTES}. Write it to the \
                 workspace, and name it in the task.",
                attachment.name
            )));
        }
        files.push(AgentAttachment { name: attachment.name.clone(), content });
    }
    Ok(files)
}

impl Attachment {
    fn decode(&self) -> Result<Vec<u8>, ToolError> {
        match self.encoding {
            Encoding::Utf8 => Ok(self.content.clone().into_bytes()),
            Encoding::Base64 => base64::decode_lenient(&self.content).ok_or_else(|| {
                ToolError::validation(format!("The content of the attachment '{}' is not base64. Encode it, or use 'utf8'.", self.name))
            }),
        }
    }
}

/// A name that is one in every folder: no path, no hidden file.
fn check_name(name: &str) -> Result<(), ToolError> {
    let is_plain = |ch: char| !ch.is_control() && !matches!(ch, '/' | '\\' | ':');
    if !name.is_empty() && name.len() <= MAX_NAME && !name.starts_with('.') && name.trim() == name && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(ToolError::validation(format!(
        "'{}' is no name for an attachment: use a file name of at most {MAX_NAME} bytes, without a folder and without a dot before it.",
        brief(name)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(name: &str, content: &str, encoding: Encoding) -> Attachment {
        Attachment { name: name.into(), content: content.into(), encoding }
    }

    #[test]
    fn contents_are_decoded() {
        let files = decode_all(&[attachment("a.txt", "ü", Encoding::Utf8), attachment("b.bin", "AP8=", Encoding::Base64)]).unwrap();
        let expected = [("a.txt", "ü".as_bytes().to_vec()), ("b.bin", vec![0, 255])];
        assert_eq!(files, expected.map(|(name, content)| AgentAttachment { name: name.into(), content }));
    }

    #[test]
    fn names_that_lead_elsewhere_and_sizes_beyond_the_limits_are_refused() {
        let text = |name: &str| attachment(name, "x", Encoding::Utf8);
        for name in ["", ".", "..", "../a", "a/b", "a\\b", "/etc/passwd", ".env", "a\n", "a\0b", " a", "c:d", &"n".repeat(121)] {
            assert!(decode_all(&[text(name)]).unwrap_err().message().contains("is no name for an attachment"), "{name:?}");
        }
        let large = "x".repeat(MAX_FILE_BYTES + 1);
        let several: Vec<Attachment> = (0..6).map(|number| attachment(&number.to_string(), &large[1..], Encoding::Utf8)).collect();
        for (attachments, message) in [
            (vec![text("a"), text("A")], "Two attachments are named 'A'."),
            (vec![attachment("a", "%", Encoding::Base64)], "is not base64."),
            (vec![attachment("a", &large, Encoding::Utf8)], "The attachment 'a' is too large:"),
            (several, "The attachment '5' is too large:"),
            ((0..51).map(|number| text(&number.to_string())).collect(), "There are 51 attachments, and 50 are the most."),
        ] {
            let error = decode_all(&attachments).unwrap_err();
            assert!(error.message().contains(message), "{}", error.message());
        }
    }
}
