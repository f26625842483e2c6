//! How the helper that reads a document is spoken to. What is wanted goes in one line, and the document after it; back come
//! lines, each as soon as it is known: what was read stays, whatever ends the helper.

use haft_contract::{ProcessOutput, ToolError};
use serde::{Deserialize, Serialize};

use super::pages::Pages;

/// What this program is started with to be that helper.
pub(crate) const STAGE: &str = "__haft_read_pdf";

/// Which pages, and how many bytes of text at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) most: usize,
}

/// A line of the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// How many pages there are; the wanted ones follow.
    Total(usize),
    /// The text of the next page.
    Text(String),
    /// Why the next page has none.
    Unreadable(String),
    /// The document asks for a password.
    Locked,
    /// The document is not what it seems.
    Damaged(String),
}

impl Wanted {
    pub(super) fn new(Pages { first, last }: Pages, most: usize) -> Self {
        Self { first, last, most }
    }

    /// How many pages of a document that has so many.
    pub(super) fn among(&self, total: usize) -> usize {
        (self.last.min(total) + 1).saturating_sub(self.first)
    }

    /// What the helper is given.
    pub(super) fn request(&self, document: &[u8]) -> Result<Vec<u8>, ToolError> {
        let mut request = serde_json::to_vec(self).map_err(|error| ToolError::execution(error.to_string()))?;
        request.push(b'\n');
        request.extend_from_slice(document);
        Ok(request)
    }
}

/// What the helper said, up to the line in which it was cut off.
pub(super) fn said(output: &ProcessOutput) -> impl Iterator<Item = Said> {
    output.stdout.split(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice(line).ok())
}
