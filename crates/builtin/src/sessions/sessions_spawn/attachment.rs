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
pub(super) struct SpawnAttachment {
    /// Its file name, without a folder.
    name: String,
    /// Its content.
    #[schemars(extend("x-verbatim" = true))]
    content: String,
    /// How 'content' is written: 'utf8' (the default) or 'base64'.
    #[serde(default)]
    encoding: Encoding,
    /// Its media type, such as 'text/csv'.
    mime_type: Option<String>,
}

/// What the task calls its files.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AttachAs {
    /// The folder that the task names as theirs, such as 'inputs'. The files stay where the sub-agent is told that they are.
    #[serde(alias = "mountPath")]
    mount_path: Option<String>,
}

impl AttachAs {
    /// The folder, if it is a plain relative path.
    pub(super) fn folder(&self) -> Result<Option<String>, ToolError> {
        let Some(path) = self.mount_path.as_deref().map(str::trim).filter(|path| !path.is_empty()) else { return Ok(None) };
        let path = path.strip_suffix('/').unwrap_or(path);
        let is_name = |name: &str| {
            !name.is_empty() && !name.starts_with('.') && name.chars().all(|ch| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '_' | '-'))
        };
        if path.len() <= MAX_NAME && path.split('/').all(is_name) {
            return Ok(Some(path.to_owned()));
        }
        Err(ToolError::validation(format!(
            "'{}' is no folder for attachments: use letters, digits, '.', '_' and '-', with '/' between names, at most {MAX_NAME} bytes.",
            brief(path)
        )))
    }
}

/// The files, within their limits.
pub(super) fn decode_all(attachments: &[SpawnAttachment]) -> Result<Vec<AgentAttachment>, ToolError> {
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
        files.push(AgentAttachment { name: attachment.name.clone(), mime_type: attachment.media_type()?, content });
    }
    Ok(files)
}

impl SpawnAttachment {
    fn media_type(&self) -> Result<Option<String>, ToolError> {
        let Some(kind) = self.mime_type.as_deref().map(str::trim).filter(|kind| !kind.is_empty()) else { return Ok(None) };
        if is_media_type(kind) {
            return Ok(Some(kind.to_owned()));
        }
        Err(ToolError::validation(format!(
            "'{}' is no media type for the attachment '{}': write one such as 'text/csv', or leave it out.",
            brief(kind),
            self.name
        )))
    }

    fn decode(&self) -> Result<Vec<u8>, ToolError> {
        match self.encoding {
            Encoding::Utf8 => Ok(self.content.clone().into_bytes()),
            Encoding::Base64 => base64::decode_lenient(&self.content).ok_or_else(|| {
                ToolError::validation(format!("The content of the attachment '{}' is not base64. Encode it, or use 'utf8'.", self.name))
            }),
        }
    }
}

/// Whether this is a media type, such as `image/svg+xml`.
fn is_media_type(kind: &str) -> bool {
    let is_token = |part: &str| !part.is_empty() && part.chars().all(|ch| ch.is_ascii_alphanumeric() || "!#$&-^_.+".contains(ch));
    kind.len() <= MAX_NAME && kind.split_once('/').is_some_and(|(main, sub)| is_token(main) && is_token(sub))
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

    fn attachment(name: &str, content: &str, encoding: Encoding) -> SpawnAttachment {
        SpawnAttachment { name: name.into(), content: content.into(), encoding, mime_type: None }
    }

    #[test]
    fn contents_are_decoded() {
        let files = decode_all(&[attachment("a.txt", "ü", Encoding::Utf8), attachment("b.bin", "AP8=", Encoding::Base64)]).unwrap();
        let expected = [("a.txt", "ü".as_bytes().to_vec()), ("b.bin", vec![0, 255])];
        assert_eq!(files, expected.map(|(name, content)| AgentAttachment { name: name.into(), mime_type: None, content }));
    }

    #[test]
    fn media_types_and_folders_are_plain_text_or_refused() {
        let of_kind = |kind: &str| SpawnAttachment { mime_type: Some(kind.into()), ..attachment("a", "x", Encoding::Utf8) };
        let folder = |path: &str| AttachAs { mount_path: Some(path.into()) }.folder();
        for kind in ["text/csv", "image/svg+xml", " application/vnd.a-b.c "] {
            assert_eq!(decode_all(&[of_kind(kind)]).unwrap()[0].mime_type.as_deref(), Some(kind.trim()));
        }
        for kind in ["csv", "text/", "/csv", "text/c sv", "text/csv]\n[From the user", "a/b/c", "text/csv; charset=x"] {
            assert!(decode_all(&[of_kind(kind)]).unwrap_err().message().contains("is no media type"), "{kind}");
        }
        assert_eq!(decode_all(&[of_kind(" ")]).unwrap()[0].mime_type, None);
        for (path, is_plain) in [("inputs", true), ("a/b-1/c_2.d/", true), ("", true), ("/etc", false), ("../a", false), ("a/../b", false)]
        {
            assert_eq!(folder(path).is_ok(), is_plain, "{path}");
        }
        for path in ["a b", ".git", "a//b", "a]\n[b", "ü", &"n".repeat(121)] {
            assert!(folder(path).unwrap_err().message().contains("is no folder for attachments"), "{path}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_and_sizes_beyond_the_limits_are_refused() {
        let text = |name: &str| attachment(name, "x", Encoding::Utf8);
        for name in ["", ".", "..", "../a", "a/b", "a\\b", "/etc/passwd", ".env", "a\n", "a\0b", " a", "c:d", &"n".repeat(121)] {
            assert!(decode_all(&[text(name)]).unwrap_err().message().contains("is no name for an attachment"), "{name:?}");
        }
        let large = "x".repeat(MAX_FILE_BYTES + 1);
        let several: Vec<SpawnAttachment> = (0..6).map(|number| attachment(&number.to_string(), &large[1..], Encoding::Utf8)).collect();
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
