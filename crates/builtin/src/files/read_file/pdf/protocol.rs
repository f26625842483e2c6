//! Protocol of the helper. Its input is the request in one line, then the document. Its output is one message a line, each
//! written as soon as it is known, so that pages survive the end of the helper.

use haft_contract::{ProcessOutput, ToolError};
use serde::{Deserialize, Serialize};

use super::pages::PageRange;

/// Argument that starts this program as the helper.
pub(crate) const HELPER: &str = "__haft_read_pdf";

/// Which pages, and how many bytes of text at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageRequest {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) most: usize,
}

/// A line of the helper's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperMessage {
    /// Number of pages; the requested ones follow.
    Total(usize),
    /// Text of the next page.
    Text(String),
    /// Why the next page has no text.
    Unreadable(String),
    /// The document needs a password.
    Locked,
    /// The document cannot be opened.
    Damaged(String),
}

impl PageRequest {
    pub(super) fn new(PageRange { first, last }: PageRange, most: usize) -> Self {
        Self { first, last, most }
    }

    /// How many of the requested pages a document of `total` pages has.
    pub(super) fn count_of(&self, total: usize) -> usize {
        (self.last.min(total) + 1).saturating_sub(self.first)
    }

    /// Input of the helper.
    pub(super) fn encode(&self, document: &[u8]) -> Result<Vec<u8>, ToolError> {
        let mut input = serde_json::to_vec(self).map_err(|error| ToolError::execution(error.to_string()))?;
        input.push(b'\n');
        input.extend_from_slice(document);
        Ok(input)
    }
}

/// Messages in the helper's output, up to a truncated line.
pub(super) fn messages(output: &ProcessOutput) -> impl Iterator<Item = HelperMessage> {
    output.stdout.split(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice(line).ok())
}
