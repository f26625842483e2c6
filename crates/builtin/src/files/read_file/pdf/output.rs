//! The output of the helper, and how it is rendered.

use haft_contract::ProcessOutput;

use super::pages::MOST;
use super::protocol::{self, HelperMessage, PageRequest};

/// Text of consecutive pages.
#[derive(Debug)]
pub(super) struct PdfText {
    /// Pages of the whole document.
    pub(super) total: usize,
    first: usize,
    pages: Vec<Result<String, String>>,
}

/// Why there is no page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PdfFailure {
    Locked,
    Damaged(String),
    /// The time was up before the document was open.
    TimedOut,
    /// How the helper ended.
    Crashed(String),
}

impl PdfText {
    /// Parses the output of the helper. A page at which it ended is unreadable; the pages before it are returned.
    pub(super) fn parse(output: &ProcessOutput, request: &PageRequest) -> Result<Self, PdfFailure> {
        let mut messages = protocol::messages(output);
        let total = match messages.next() {
            Some(HelperMessage::Total(total)) => total,
            Some(HelperMessage::Locked) => return Err(PdfFailure::Locked),
            Some(HelperMessage::Damaged(why)) => return Err(PdfFailure::Damaged(why)),
            _ if output.timed_out => return Err(PdfFailure::TimedOut),
            _ => return Err(PdfFailure::Crashed(exit_of(output))),
        };
        let expected = request.count_of(total);
        let page = |message| match message {
            HelperMessage::Text(text) => Some(Ok(text)),
            HelperMessage::Unreadable(why) => Some(Err(why)),
            _ => None,
        };
        let mut pages: Vec<_> = messages.map_while(page).take(expected).collect();
        if pages.len() < expected && output.code != Some(0) && !output.timed_out {
            pages.push(Err(format!("the PDF helper process ended with {}", exit_of(output))));
        }
        Ok(Self { total, first: request.first, pages })
    }

    pub(super) fn first_page(&self) -> Option<usize> {
        (!self.pages.is_empty()).then_some(self.first)
    }
    pub(super) fn last_page(&self) -> Option<usize> {
        (!self.pages.is_empty()).then(|| self.first + self.pages.len() - 1)
    }
    /// The page to continue with.
    pub(super) fn next_page(&self) -> Option<usize> {
        self.last_page().map(|last| last + 1).filter(|next| *next <= self.total)
    }

    /// All pages with their headings.
    pub(super) fn render(&self) -> String {
        let pages = self.pages.iter().enumerate().map(|(index, page)| {
            let text = match page {
                Ok(text) if text.trim().is_empty() => "(no text on this page)",
                Ok(text) => text.trim_end(),
                Err(why) => &format!("(this page cannot be read: {why})"),
            };
            format!("--- Page {} of {} ---\n{text}\n", self.first + index, self.total)
        });
        pages.collect::<Vec<_>>().join("\n")
    }

    /// Notes on omitted pages, and on a document without text.
    pub(super) fn note(&self) -> Option<String> {
        let Some(last) = self.last_page() else { return Some(self.empty_note()) };
        let scanned = self.pages.iter().all(|page| page.as_ref().is_ok_and(|text| text.trim().is_empty()));
        let scanned = scanned.then(|| "(There is no text: the pages may be scanned pictures, which this tool cannot read.)".to_owned());
        let more = self.next_page().map(|next| {
            let until = next.saturating_add(last - self.first).min(next.saturating_add(MOST - 1)).min(self.total);
            format!("(Showing pages {}-{last} of {}. Continue with pages=\"{next}-{until}\".)", self.first, self.total)
        });
        scanned.into_iter().chain(more).reduce(|one, other| format!("{one}\n{other}"))
    }

    fn empty_note(&self) -> String {
        match self.total {
            0 => "(The document has no pages.)".into(),
            total if self.first > total => {
                let pages = if total == 1 { "page" } else { "pages" };
                format!("(Page {} is past the end: the document has {total} {pages}.)", self.first)
            }
            _ => "(Not one page was done in time. Ask for fewer pages.)".into(),
        }
    }
}

/// How the helper ended; a sandbox reports a signal as shells do.
fn exit_of(output: &ProcessOutput) -> String {
    let signal = output.signal.or_else(|| output.code.map(|code| code - 128).filter(|signal| *signal > 0));
    match (signal, output.code) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, code) => format!("exit code {}", code.unwrap_or_default()),
    }
}
