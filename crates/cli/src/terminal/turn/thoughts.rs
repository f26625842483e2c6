//! What the model thinks aloud, line by line.

use std::time::Instant;

use haft_contract::visible;

use crate::output::DIM;
use crate::page::INDENT;

/// A line that does not end is broken here.
const LONGEST: usize = 2_000;

/// A thought that goes on.
#[derive(Debug)]
pub(super) struct Thoughts {
    since: Instant,
    /// What is not a whole line yet.
    line: String,
}

impl Thoughts {
    pub(super) fn begin(since: Instant) -> Self {
        Self { since, line: String::new() }
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Goes on thinking; gives the lines that are whole now.
    pub(super) fn add(&mut self, text: &str) -> String {
        self.line += text;
        let whole = match self.line.rfind('\n') {
            Some(end) => end + 1,
            None if self.line.len() > LONGEST => self.line.len(),
            None => return String::new(),
        };
        let rest = self.line.split_off(whole);
        shown(&std::mem::replace(&mut self.line, rest))
    }

    /// The last line, which has no end of its own.
    pub(super) fn end(self) -> String {
        shown(&self.line)
    }
}

fn shown(text: &str) -> String {
    let line = |line: &str| format!("{INDENT}{DIM}thinking: {}{DIM:#}\n", visible::lines(line));
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}
