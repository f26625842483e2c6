//! The text of a PDF document, by pages. The library that reads it recurses and goes round as a hostile document wants, so
//! it does that in a helper: what ends there, or never does, ends nothing here.

mod found;
#[cfg(any(feature = "pdf", test))]
pub(crate) mod helper;
#[cfg(feature = "pdf")]
pub(crate) mod library;
mod pages;
pub(crate) mod protocol;

use std::time::Duration;

use haft_contract::{AsideLimits, ErrorKind, Helped, Reader, ToolContext, ToolError, ToolOutput};
use serde_json::json;
use tokio::sync::Semaphore;

use self::found::{Found, Refusal};
pub(super) use self::pages::Pages;
use self::protocol::{STAGE, Wanted};
use super::with_note;
use crate::shared::whole::whole;
use crate::shared::words;

/// A larger document is refused: the library holds all of it in memory.
const LARGEST: usize = 64 * 1024 * 1024;
const BYTES: usize = 100 * 1024;
/// Someone who names the pages knows what is coming.
const BYTES_WITH_PAGES: usize = 1024 * 1024;
/// Less than the tool's own time, so that what was read by then is shown.
const PATIENCE: Duration = Duration::from_secs(8);
/// The largest document a few times over, and the stack of who reads it.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// Helpers at one time, for the sake of memory.
static ROOM: Semaphore = Semaphore::const_new(2);

/// Whether a file begins as such documents do.
pub(super) fn is_pdf(head: &[u8]) -> bool {
    head.starts_with(b"%PDF-")
}

/// Shows the wanted pages of a file that begins as a PDF document does.
pub(super) async fn shown(
    name: &str,
    pages: Option<Pages>,
    reader: &dyn Reader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    shown_by(cfg!(feature = "pdf"), name, pages, reader, head, cx).await
}

async fn shown_by(
    built: bool,
    name: &str,
    pages: Option<Pages>,
    reader: &dyn Reader,
    head: Vec<u8>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    if !built {
        return Err(cannot(name, reader.size(), "and this build of Haft does not read those: it was made without the feature 'pdf'"));
    }
    let document = whole(name, "a PDF document", head, reader, LARGEST).await?;
    let most = if pages.is_some() { BYTES_WITH_PAGES } else { BYTES };
    let wanted = Wanted::new(pages.unwrap_or_default(), most);
    let helped = helped(name, &wanted, &document, cx).await?;
    let found = Found::by(&helped.output, &wanted).map_err(|refusal| refused(name, reader.size(), refusal))?;
    let mut details = json!({
        "path": name,
        "kind": "pdf",
        "size": reader.size(),
        "total_pages": found.total,
        "first_page": found.first_shown(),
        "last_page": found.last_shown(),
        "next_page": found.next(),
        "walls": helped.walls,
    });
    if !helped.lacks.is_empty() {
        details["warnings"] = json!([format!("the walls of the helper were weaker than they should be: {}", helped.lacks.join("; "))]);
    }
    Ok(ToolOutput::text(with_note(found.text(), found.note())).with_details(details))
}

/// What a helper says of a document.
async fn helped(name: &str, wanted: &Wanted, document: &[u8], cx: &ToolContext) -> Result<Helped, ToolError> {
    let _room = ROOM.acquire().await.map_err(|error| ToolError::execution(error.to_string()))?;
    // JSON makes at most six bytes of one; each page may have a few words more.
    let limits = AsideLimits { memory: MEMORY, time: PATIENCE, output: 6 * wanted.most + BYTES };
    let output = cx.process().aside(STAGE, wanted.request(document)?, limits).await;
    output.map_err(|error| match error.kind() {
        ErrorKind::SandboxUnavailable => {
            let why = "PDF documents are read by a helper, in a process of its own";
            let message = format!("Cannot read {name}: {why}. {}", error.message());
            error.with_message(message)
        }
        _ => error,
    })
}

fn refused(name: &str, size: u64, refusal: Refusal) -> ToolError {
    match refusal {
        Refusal::Locked => cannot(name, size, "but it is encrypted and asks for a password. Get a copy without one"),
        Refusal::Damaged(why) => cannot(name, size, &format!("but it cannot be read: {}. It may be damaged", words::shown(&why))),
        Refusal::Ended(how) => {
            cannot(name, size, &format!("but reading it ended the helper that did, with {how}. It is damaged, or made to do harm"))
        }
        Refusal::Slow => {
            let seconds = PATIENCE.as_secs();
            let message = format!("Reading {name} took longer than {seconds} s, and not one page was done. Ask for fewer pages.");
            ToolError::new(ErrorKind::Timeout, message)
        }
    }
}

fn cannot(name: &str, size: u64, why: &str) -> ToolError {
    ToolError::new(ErrorKind::NotText, format!("Not a text file: {name} ({}) is a PDF document, {why}.", words::size(size)))
}

#[cfg(test)]
mod tests;
