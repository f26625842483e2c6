//! Text of PDF documents, by pages. A hostile document can make the library recurse or loop without end, so it runs in a helper
//! process.

#[cfg(any(feature = "pdf", test))]
pub(crate) mod helper;
#[cfg(feature = "pdf")]
pub(crate) mod library;
mod output;
mod pages;
pub(crate) mod protocol;

use std::time::Duration;

use haft_contract::{ErrorKind, FileReader, HelperLimits, HelperOutput, ToolContext, ToolError, ToolOutput};
use haft_text::numbers;
use serde_json::json;
use tokio::sync::Semaphore;

use self::output::{PdfFailure, PdfText};
pub(crate) use self::pages::PageRange;
use self::protocol::{HELPER, PageRequest};
use super::with_note;
use crate::shared::brief;
use crate::shared::read_all::read_all;

/// A larger document is refused: the library reads all of it into memory.
const LARGEST: usize = 64 * 1024 * 1024;
const BYTES: usize = 100 * 1024;
/// A call that names its pages gets more.
const BYTES_WITH_PAGES: usize = 1024 * 1024;
/// Less than the timeout of the tool, so that the pages read by then are returned.
const TIMEOUT: Duration = Duration::from_secs(8);
/// The largest document a few times, and the stack of the helper.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// Concurrent helpers, to bound memory.
static SLOTS: Semaphore = Semaphore::const_new(2);

/// Whether a file begins like a PDF document.
pub(crate) fn is_pdf(head: &[u8]) -> bool {
    head.starts_with(b"%PDF-")
}

/// Reads pages of a file that begins like a PDF document.
pub(crate) async fn read(
    name: &str,
    pages: Option<PageRange>,
    reader: &dyn FileReader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    if !cfg!(feature = "pdf") {
        return Err(unsupported(name, reader.size()));
    }
    read_in_helper(name, pages, reader, head, cx).await
}

fn unsupported(name: &str, size: u64) -> ToolError {
    let remedy = "Build it with `--features pdf`, or convert the document to text (for example with `pdftotext`)";
    not_text(name, size, &format!("and this build of Haft cannot read those. {remedy}"))
}

async fn read_in_helper(
    name: &str,
    pages: Option<PageRange>,
    reader: &dyn FileReader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let document = read_all(name, "a PDF document", head, reader, LARGEST).await?;
    let most = if pages.is_some() { BYTES_WITH_PAGES } else { BYTES };
    let request = PageRequest::new(pages.unwrap_or_default(), most);
    let helper = run_helper(name, &request, &document, cx).await?;
    let text = PdfText::parse(&helper.output, &request).map_err(|failure| failed(name, reader.size(), failure))?;
    let mut details = json!({
        "path": name,
        "kind": "pdf",
        "size": reader.size(),
        "total_pages": text.total,
        "first_page": text.first_page(),
        "last_page": text.last_page(),
        "next_page": text.next_page(),
        "sandbox": helper.sandbox,
    });
    if !helper.gaps.is_empty() {
        details["warnings"] = json!([format!("the sandbox of the PDF helper does not enforce everything: {}", helper.gaps.join("; "))]);
    }
    Ok(ToolOutput::text(with_note(text.render(), text.note())).with_details(details))
}

async fn run_helper(name: &str, request: &PageRequest, document: &[u8], cx: &ToolContext) -> Result<HelperOutput, ToolError> {
    let _slot = SLOTS.acquire().await.map_err(|error| ToolError::execution(error.to_string()))?;
    // JSON escapes a byte to six at most; each page may have a note as well.
    let limits = HelperLimits { memory: MEMORY, time: TIMEOUT, output: 6 * request.most + BYTES };
    let output = cx.process().run_helper(HELPER, request.encode(document)?, limits).await;
    output.map_err(|error| match error.kind() {
        ErrorKind::SandboxUnavailable => {
            let message = format!("Cannot read {name}: PDF documents are read in a sandboxed helper process. {}", error.message());
            error.with_message(message)
        }
        _ => error,
    })
}

fn failed(name: &str, size: u64, failure: PdfFailure) -> ToolError {
    match failure {
        PdfFailure::Locked => not_text(name, size, "but it is encrypted and needs a password. Get a copy without one"),
        PdfFailure::Damaged(why) => not_text(name, size, &format!("but it cannot be read: {}. It may be damaged", brief(&why))),
        PdfFailure::Crashed(exit) => {
            not_text(name, size, &format!("but the PDF helper process ended with {exit}. The document is damaged, or malicious"))
        }
        PdfFailure::TimedOut => {
            let seconds = TIMEOUT.as_secs();
            let message = format!("Reading {name} took longer than {seconds} s, and not one page was done. Ask for fewer pages.");
            ToolError::new(ErrorKind::Timeout, message)
        }
    }
}

fn not_text(name: &str, size: u64, why: &str) -> ToolError {
    ToolError::new(ErrorKind::NotText, format!("Not a text file: {name} ({}) is a PDF document, {why}.", numbers::size(size)))
}

#[cfg(test)]
mod tests;
