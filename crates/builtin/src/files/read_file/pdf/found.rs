//! What a helper found in a document, and how it is shown.

use haft_contract::ProcessOutput;

use super::pages::MOST;
use super::protocol::{self, Said, Wanted};

/// Pages of a document.
#[derive(Debug)]
pub(super) struct Found {
    /// How many there are.
    pub(super) total: usize,
    first: usize,
    pages: Vec<Result<String, String>>,
}

/// Why there are none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The document asks for a password.
    Locked,
    /// The document is not what it seems.
    Damaged(String),
    /// Its time was up before it was open.
    Slow,
    /// The helper ended, and how.
    Ended(String),
}

impl Found {
    /// What the helper has found. The page that ended it is one that cannot be read: the others are there still.
    pub(super) fn by(output: &ProcessOutput, wanted: &Wanted) -> Result<Self, Refusal> {
        let mut said = protocol::said(output);
        let total = match said.next() {
            Some(Said::Total(total)) => total,
            Some(Said::Locked) => return Err(Refusal::Locked),
            Some(Said::Damaged(why)) => return Err(Refusal::Damaged(why)),
            _ if output.timed_out => return Err(Refusal::Slow),
            _ => return Err(Refusal::Ended(ending(output))),
        };
        let expected = wanted.among(total);
        let mut pages: Vec<_> = said.map_while(page).take(expected).collect();
        if pages.len() < expected && output.code != Some(0) && !output.timed_out {
            pages.push(Err(format!("reading it ended the helper that did, with {}", ending(output))));
        }
        Ok(Self { total, first: wanted.first, pages })
    }

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

fn page(said: Said) -> Option<Result<String, String>> {
    match said {
        Said::Text(text) => Some(Ok(text)),
        Said::Unreadable(why) => Some(Err(why)),
        _ => None,
    }
}

/// How a helper ended; a sandbox tells a signal as shells do.
fn ending(output: &ProcessOutput) -> String {
    let signal = output.signal.or_else(|| output.code.map(|code| code - 128).filter(|signal| *signal > 0));
    match (signal, output.code) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, code) => format!("exit code {}", code.unwrap_or_default()),
    }
}
