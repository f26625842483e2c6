//! How a call names a picture.

use std::path::{Path, PathBuf};

use haft_contract::ToolError;
use haft_text::base64;
use serde_json::json;
use url::Url;

use crate::shared::brief;

/// Where a picture is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PictureSource {
    File(PathBuf),
    /// The bytes of a data URL.
    Inline(Vec<u8>),
    Web(String),
}

/// A picture as a call names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) source: PictureSource,
    /// What the call said, where that is not the path itself.
    pub(super) rewritten_from: Option<String>,
}

impl Reference {
    /// Reads `path`, `@path`, `~/path`, `file://…`, `data:…` or `http(s)://…`.
    pub(super) fn parse(text: &str, home: Option<&Path>) -> Result<Self, ToolError> {
        if text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:")) {
            return Ok(Self { source: PictureSource::Inline(inline(text)?), rewritten_from: None });
        }
        if let Some((scheme, _)) = text.split_once("://") {
            let source = match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => PictureSource::Web(text.to_owned()),
                "file" => PictureSource::File(local_file(text)?),
                _ => return Err(unsupported(text, &format!("'{}:' is not read", brief(scheme)))),
            };
            let rewritten_from = matches!(source, PictureSource::File(_)).then(|| text.to_owned());
            return Ok(Self { source, rewritten_from });
        }
        let named = text.strip_prefix('@').filter(|rest| !rest.is_empty()).unwrap_or(text);
        let path = match (named.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => return Err(unsupported(text, "no home folder is known here")),
            (None, _) => PathBuf::from(named),
        };
        let rewritten_from = (path.as_os_str() != text).then(|| text.to_owned());
        Ok(Self { source: PictureSource::File(path), rewritten_from })
    }

    /// In a few words.
    pub(super) fn describe(&self) -> String {
        match &self.source {
            PictureSource::File(path) => path.display().to_string(),
            PictureSource::Inline(_) => "data: URL".to_owned(),
            PictureSource::Web(url) => brief(url),
        }
    }
}

fn inline(text: &str) -> Result<Vec<u8>, ToolError> {
    let (head, data) = text[5..].split_once(',').ok_or_else(|| unsupported(text, "a data URL is data:image/png;base64,…"))?;
    if !head.to_ascii_lowercase().ends_with(";base64") {
        return Err(unsupported(text, "a data URL must be in base64"));
    }
    base64::decode_lenient(data).ok_or_else(|| unsupported(text, "its base64 is damaged"))
}

fn local_file(text: &str) -> Result<PathBuf, ToolError> {
    let url = Url::parse(text).map_err(|error| unsupported(text, &error.to_string()))?;
    url.to_file_path().map_err(|()| unsupported(text, "it names a file of another machine"))
}

fn unsupported(text: &str, why: &str) -> ToolError {
    let message = format!("Unsupported image reference: '{}': {why}. Use a path, or a file:, data: or http(s) URL.", brief(text));
    ToolError::validation(message).with_details(json!({"error": "unsupported_image_reference", "image": brief(text)}))
}
