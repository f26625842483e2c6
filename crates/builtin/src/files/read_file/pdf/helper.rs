//! The helper: page after page, by a library that may panic, and may end this process.

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::LARGEST;
use super::protocol::{Said, Wanted};

/// What is wanted takes far less.
const LONGEST_LINE: usize = 1024;
const FAILED: &str = "the library that reads it failed";

/// Opens a document.
pub(crate) type Open = fn(Vec<u8>) -> Result<Box<dyn Document>, Refusal>;

/// Why a document cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It asks for a password.
    Locked,
    /// It is not what it seems.
    Damaged(String),
}

/// An open document.
pub(crate) trait Document {
    /// How many pages it has.
    fn pages(&self) -> Result<usize, String>;
    /// The text of a page, counted from 0.
    fn text(&self, page: usize) -> Result<String, String>;
}

/// Reads a request, and answers it.
pub(crate) fn answer(open: Open, request: impl Read, mut answer: impl Write) -> io::Result<()> {
    let mut document = Vec::new();
    request.take((LARGEST + LONGEST_LINE) as u64).read_to_end(&mut document)?;
    let end = document.iter().position(|byte| *byte == b'\n').unwrap_or(document.len());
    let wanted: Wanted = serde_json::from_slice(&document[..end])?;
    document.drain(..=end);
    let mut say = |said: Said| {
        let mut line = serde_json::to_vec(&said)?;
        line.push(b'\n');
        answer.write_all(&line).and_then(|()| answer.flush())
    };
    match opened(open, document) {
        Ok((document, total)) => say(Said::Total(total)).and_then(|()| pages(&*document, total, wanted, say)),
        Err(Refusal::Locked) => say(Said::Locked),
        Err(Refusal::Damaged(why)) => say(Said::Damaged(why)),
    }
}

fn opened(open: Open, data: Vec<u8>) -> Result<(Box<dyn Document>, usize), Refusal> {
    let whole = || {
        let document = open(data)?;
        let total = document.pages().map_err(Refusal::Damaged)?;
        Ok((document, total))
    };
    catch_unwind(AssertUnwindSafe(whole)).unwrap_or_else(|_| Err(Refusal::Damaged(FAILED.into())))
}

fn pages(document: &dyn Document, total: usize, wanted: Wanted, mut say: impl FnMut(Said) -> io::Result<()>) -> io::Result<()> {
    let mut room = wanted.most;
    for page in wanted.first..=wanted.last.min(total) {
        // A panic spoils one page.
        let text = catch_unwind(AssertUnwindSafe(|| document.text(page - 1))).unwrap_or_else(|_| Err(FAILED.into()));
        let rest = room.saturating_sub(text.as_ref().map_or(0, String::len));
        say(text.map_or_else(Said::Unreadable, |text| Said::Text(cut(text, room))))?;
        if rest == 0 {
            break;
        }
        room = rest;
    }
    Ok(())
}

fn cut(mut text: String, room: usize) -> String {
    if text.len() > room {
        text.truncate(text.floor_char_boundary(room));
        text.push_str("\n(The rest of this page is left out.)");
    }
    text
}
