//! The text of a PDF document, by pages.

mod extract;
#[cfg(feature = "pdf")]
mod library;
mod pages;

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ErrorKind, Reader, ToolError, ToolOutput};
use serde_json::json;

use self::extract::{Open, Progress, Refusal, extract};
pub(super) use self::pages::Pages;
use super::with_note;
use crate::shared::aside::Aside;
use crate::shared::whole::whole;
use crate::shared::words;

/// A larger document is refused: the library holds all of it in memory.
const LARGEST: usize = 64 * 1024 * 1024;
const BYTES: usize = 100 * 1024;
/// Someone who names the pages knows what is coming.
const BYTES_WITH_PAGES: usize = 1024 * 1024;
/// Less than the tool's own time, so that what was read by then is shown.
const PATIENCE: Duration = Duration::from_secs(8);

/// A document that never comes to an end keeps its room, and its thread with it, so there are not many.
static READING: Aside = Aside::deep("reading of a PDF document", 2);

#[cfg(feature = "pdf")]
const LIBRARY: Option<Open> = Some(library::open);
#[cfg(not(feature = "pdf"))]
const LIBRARY: Option<Open> = None;

/// Whether a file begins as such documents do.
pub(super) fn is_pdf(head: &[u8]) -> bool {
    head.starts_with(b"%PDF-")
}

/// Shows the wanted pages of a file that begins as a PDF document does.
pub(super) async fn shown(name: &str, pages: Option<Pages>, reader: &dyn Reader, head: Vec<u8>) -> Result<ToolOutput, ToolError> {
    shown_by(LIBRARY, name, pages, reader, head).await
}

async fn shown_by(
    library: Option<Open>,
    name: &str,
    pages: Option<Pages>,
    reader: &dyn Reader,
    head: Vec<u8>,
) -> Result<ToolOutput, ToolError> {
    let size = reader.size();
    let open =
        library.ok_or_else(|| cannot(name, size, "and this build of Haft does not read those: it was made without the feature 'pdf'"))?;
    let data = whole(name, "a PDF document", head, reader, LARGEST).await?;
    let most = if pages.is_some() { BYTES_WITH_PAGES } else { BYTES };
    let progress = Arc::new(Progress::new(pages.unwrap_or_default(), most));
    // The thread cannot be ended from here, but it asks between pages.
    let _stop = StopOnDrop(&progress);
    let work = {
        let progress = Arc::clone(&progress);
        READING.run(move || extract(open, data, &progress))
    };
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(outcome) => outcome?.map_err(|refusal| refused(name, size, refusal))?,
        Err(_) => progress.stop(),
    }
    let found = progress.found().ok_or_else(|| {
        let seconds = PATIENCE.as_secs();
        ToolError::new(
            ErrorKind::Timeout,
            format!("Reading {name} took longer than {seconds} s, and not one page was done. Ask for fewer pages."),
        )
    })?;
    let details = json!({
        "path": name,
        "kind": "pdf",
        "size": size,
        "total_pages": found.total,
        "first_page": found.first_shown(),
        "last_page": found.last_shown(),
        "next_page": found.next(),
    });
    Ok(ToolOutput::text(with_note(found.text(), found.note())).with_details(details))
}

struct StopOnDrop<'a>(&'a Progress);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn refused(name: &str, size: u64, refusal: Refusal) -> ToolError {
    match refusal {
        Refusal::Locked => cannot(name, size, "but it is encrypted and asks for a password. Get a copy without one"),
        Refusal::Damaged(why) => cannot(name, size, &format!("but it cannot be read: {}. It may be damaged", words::shown(&why))),
    }
}

fn cannot(name: &str, size: u64, why: &str) -> ToolError {
    ToolError::new(ErrorKind::NotText, format!("Not a text file: {name} ({}) is a PDF document, {why}.", words::size(size)))
}

#[cfg(test)]
mod tests;
