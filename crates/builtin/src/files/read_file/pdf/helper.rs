//! The helper process: reads pages with a library that may panic, or end this process.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::LARGEST;
use super::protocol::{HelperMessage, PageRequest};

/// A request line is far shorter.
const LONGEST_LINE: usize = 1024;
const PANICKED: &str = "the library that reads it failed";

/// Opens a document, or says why not: `Locked` or `Damaged`.
pub(crate) type OpenPdf = fn(Vec<u8>) -> Result<Box<dyn PdfReader>, HelperMessage>;

/// An open document.
pub(crate) trait PdfReader {
    /// Number of pages.
    fn pages(&self) -> Result<usize, String>;
    /// Text of a page, counted from 0.
    fn text(&self, page: usize) -> Result<String, String>;
}

/// Reads a request, and writes the messages that answer it.
pub(crate) fn answer(open: OpenPdf, request: impl Read, mut answer: impl Write) -> io::Result<()> {
    let mut document = Vec::new();
    request.take((LARGEST + LONGEST_LINE) as u64).read_to_end(&mut document)?;
    let end = document.iter().position(|byte| *byte == b'\n').unwrap_or(document.len());
    let request: PageRequest = serde_json::from_slice(&document[..end])?;
    document.drain(..=end);
    let mut send = |message: HelperMessage| {
        let mut line = serde_json::to_vec(&message)?;
        line.push(b'\n');
        answer.write_all(&line).and_then(|()| answer.flush())
    };
    match open_document(open, document) {
        Ok((document, total)) => send(HelperMessage::Total(total)).and_then(|()| send_pages(&*document, total, request, send)),
        Err(message) => send(message),
    }
}

fn open_document(open: OpenPdf, data: Vec<u8>) -> Result<(Box<dyn PdfReader>, usize), HelperMessage> {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        let document = open(data)?;
        let total = document.pages().map_err(HelperMessage::Damaged)?;
        Ok((document, total))
    }));
    opened.unwrap_or_else(|_| Err(HelperMessage::Damaged(PANICKED.into())))
}

fn send_pages(
    document: &dyn PdfReader,
    total: usize,
    request: PageRequest,
    mut send: impl FnMut(HelperMessage) -> io::Result<()>,
) -> io::Result<()> {
    let mut budget = request.most;
    for page in request.first..=request.last.min(total) {
        // A panic affects one page.
        let text = catch_unwind(AssertUnwindSafe(|| document.text(page - 1))).unwrap_or_else(|_| Err(PANICKED.into()));
        let rest = budget.saturating_sub(text.as_ref().map_or(0, String::len));
        send(text.map_or_else(HelperMessage::Unreadable, |text| HelperMessage::Text(truncate(text, budget))))?;
        if rest == 0 {
            break;
        }
        budget = rest;
    }
    Ok(())
}

fn truncate(mut text: String, budget: usize) -> String {
    if text.len() > budget {
        text.truncate(text.floor_char_boundary(budget));
        text.push_str("\n(The rest of this page is left out.)");
    }
    text
}
