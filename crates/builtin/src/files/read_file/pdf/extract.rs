//! Page after page, on a thread that may be told to stop, by a library that may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::pages::{MOST, Pages};

/// Opens a document.
pub(super) type Open = fn(Vec<u8>) -> Result<Box<dyn Document>, Refusal>;

/// Why a document cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It asks for a password.
    #[cfg_attr(not(any(feature = "pdf", test)), expect(dead_code, reason = "only the library tells"))]
    Locked,
    /// It is not what it seems.
    Damaged(String),
}

/// An open document.
pub(super) trait Document {
    /// How many pages it has.
    fn pages(&self) -> Result<usize, String>;
    /// The text of a page, counted from 0.
    fn text(&self, page: usize) -> Result<String, String>;
}

/// What was read so far, and whether to go on.
#[derive(Debug)]
pub(super) struct Progress {
    wanted: Pages,
    most: usize,
    stopped: AtomicBool,
    found: Mutex<Option<Found>>,
}

impl Progress {
    /// For these pages, and so many bytes of text.
    pub(super) fn new(wanted: Pages, most: usize) -> Self {
        Self { wanted, most, stopped: AtomicBool::new(false), found: Mutex::new(None) }
    }
    /// Reads no further page.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }
    /// What was found, if the document could be opened in time.
    pub(super) fn found(&self) -> Option<Found> {
        self.lock().take()
    }
    fn lock(&self) -> MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Adds a page, and says whether there is room for another.
    fn add(&self, page: Result<String, String>) -> bool {
        let mut found = self.lock();
        let Some(found) = found.as_mut() else { return false };
        let room = self.most.saturating_sub(found.bytes);
        let page = page.map(|text| cut(text, room));
        found.bytes += page.as_ref().map_or(0, String::len);
        found.pages.push(page);
        found.bytes < self.most && !self.stopped.load(Ordering::Acquire)
    }
}

/// Reads the wanted pages.
pub(super) fn extract(open: Open, data: Vec<u8>, progress: &Progress) -> Result<(), Refusal> {
    let document = open(data)?;
    let total = document.pages().map_err(Refusal::Damaged)?;
    let Pages { first, last } = progress.wanted;
    *progress.lock() = Some(Found { total, first, pages: Vec::new(), bytes: 0 });
    for page in first..=last.min(total) {
        if !progress.add(one(&*document, page - 1)) {
            break;
        }
    }
    Ok(())
}

/// One page; a panic spoils only that.
fn one(document: &dyn Document, page: usize) -> Result<String, String> {
    catch_unwind(AssertUnwindSafe(|| document.text(page))).unwrap_or_else(|_| Err("the library that reads it failed".into()))
}

fn cut(mut text: String, room: usize) -> String {
    if text.len() > room {
        text.truncate(text.floor_char_boundary(room));
        text.push_str("\n(The rest of this page is left out.)");
    }
    text
}

/// Pages of a document.
#[derive(Debug)]
pub(super) struct Found {
    /// How many there are.
    pub(super) total: usize,
    first: usize,
    pages: Vec<Result<String, String>>,
    bytes: usize,
}

impl Found {
    pub(super) fn first_shown(&self) -> Option<usize> {
        (!self.pages.is_empty()).then_some(self.first)
    }
    pub(super) fn last_shown(&self) -> Option<usize> {
        (!self.pages.is_empty()).then(|| self.first + self.pages.len() - 1)
    }
    /// The page to go on with.
    pub(super) fn next(&self) -> Option<usize> {
        self.last_shown().map(|last| last + 1).filter(|next| *next <= self.total)
    }

    /// All that is shown.
    pub(super) fn text(&self) -> String {
        let pages = self.pages.iter().enumerate().map(|(place, page)| {
            let said = match page {
                Ok(text) if text.trim().is_empty() => "(no text on this page)",
                Ok(text) => text.trim_end(),
                Err(why) => &format!("(this page cannot be read: {why})"),
            };
            format!("--- Page {} of {} ---\n{said}\n", self.first + place, self.total)
        });
        pages.collect::<Vec<_>>().join("\n")
    }

    /// What is left out and how to get it, and why there may be nothing to see.
    pub(super) fn note(&self) -> Option<String> {
        let Some(last) = self.last_shown() else { return Some(self.nothing_there()) };
        let scanned = self.pages.iter().all(|page| page.as_ref().is_ok_and(|text| text.trim().is_empty()));
        let scanned = scanned.then(|| "(There is no text: the pages may be scanned pictures, which this tool cannot read.)".to_owned());
        let more = self.next().map(|next| {
            let until = next.saturating_add(last - self.first).min(next.saturating_add(MOST - 1)).min(self.total);
            format!("(Showing pages {}-{last} of {}. Continue with pages=\"{next}-{until}\".)", self.first, self.total)
        });
        scanned.into_iter().chain(more).reduce(|one, other| format!("{one}\n{other}"))
    }

    fn nothing_there(&self) -> String {
        match self.total {
            0 => "(The document has no pages.)".into(),
            1 => format!("(Page {} is past the end: the document has 1 page.)", self.first),
            total if self.first > total => format!("(Page {} is past the end: the document has {total} pages.)", self.first),
            _ => "(Not one page was done in time. Ask for fewer pages.)".into(),
        }
    }
}
