//! The output that a model is shown: the beginning and the end.

use haft_contract::Job;
use haft_text::plain::{PlainText, plain_text};

use crate::shared::pager::newlines;

/// How much is shown at once, in bytes; a third of it is the beginning, where there is more.
pub(crate) const SHOWN: usize = 30_000;

/// Output between two positions, cut in its middle if it is too much.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputExcerpt {
    head: String,
    tail: String,
    /// Bytes between beginning and end that are not shown.
    pub(crate) left_out: u64,
    /// The line of the whole output where they begin, counted from 1; not known unless it is shown from the start.
    pub(crate) line: Option<usize>,
    /// The position behind it, where the next one begins.
    pub(crate) to: u64,
    is_lossy: bool,
    overwritten: usize,
}

impl OutputExcerpt {
    /// The output of a job from a position on.
    pub(crate) fn from_job(job: &dyn Job, from: u64) -> Self {
        let status = job.status();
        let to = status.bytes.max(from);
        let is_short = to - from <= SHOWN as u64;
        let head = if is_short { Vec::new() } else { beginning(job, from, from + SHOWN as u64 / 3) };
        let behind = from + head.len() as u64;
        let wanted = if is_short { from } else { behind.max(to - SHOWN as u64 * 2 / 3) };
        let (mut start, mut tail) = contiguous_output(job, wanted, to);
        if start + (tail.len() as u64) < to {
            (start, tail) = contiguous_output(job, status.kept_from, to);
        }
        if status.end.is_none() {
            // The rest of a character may still arrive.
            tail.truncate(whole_characters(&tail));
        }
        let skipped = if start > behind { first_line(&tail) } else { 0 };
        let left_out = (start + skipped as u64).saturating_sub(behind);
        let line = (from == 0).then(|| newlines(&head) + 1);
        Self { line, to: start + tail.len() as u64, left_out, ..Self::joined(&head, &tail[skipped..]) }
    }

    /// Of the beginning and the end of a stream that has ended.
    pub(crate) fn from_ends(head: &[u8], tail: &[u8], total: u64) -> Self {
        if (head.len() + tail.len()) as u64 >= total {
            return Self { line: Some(1), to: total, ..Self::joined(&[], &[head, tail].concat()) };
        }
        let (head, tail) = (&head[..last_line(head)], &tail[first_line(tail)..]);
        let left_out = total - (head.len() + tail.len()) as u64;
        Self { line: Some(newlines(head) + 1), to: total, left_out, ..Self::joined(head, tail) }
    }

    fn joined(head: &[u8], tail: &[u8]) -> Self {
        let (one, other) = (plain_text(head), plain_text(tail));
        let (is_lossy, overwritten) = (one.is_lossy || other.is_lossy, one.overwritten + other.overwritten);
        Self { head: one.text, tail: other.text, is_lossy, overwritten, ..Self::default() }
    }

    /// Both parts, with a line between them for what is left out.
    pub(crate) fn text(&self, left_out: &str) -> String {
        if self.left_out == 0 {
            return format!("{}{}", self.head, self.tail).trim_end_matches('\n').to_owned();
        }
        let head = if self.head.is_empty() { String::new() } else { format!("{}\n\n", self.head.trim_end_matches('\n')) };
        format!("{head}{left_out}\n\n{}", self.tail).trim_end_matches('\n').to_owned()
    }

    /// Notes on how the output is shown.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_lossy {
            notes.push("Some bytes of the output are not UTF-8; each is shown as \u{fffd}.".to_owned());
        }
        match self.overwritten {
            0 => {}
            1 => notes.push("A line was written over by the next, as progress bars do; only the last is shown.".to_owned()),
            count => notes.push(format!("{count} lines were written over by the next, as progress bars do; only the last is shown.")),
        }
        notes
    }
}

/// The end of a job's output, as plain text.
pub(crate) fn tail(job: &dyn Job, most: usize) -> String {
    let to = job.status().bytes;
    let (start, bytes) = contiguous_output(job, to.saturating_sub(most as u64), to);
    let skipped = if start > 0 { first_line(&bytes) } else { 0 };
    let PlainText { text, .. } = plain_text(&bytes[skipped..]);
    text.trim_end_matches('\n').to_owned()
}

/// Output without a gap, from the first byte that is still kept.
pub(crate) fn contiguous_output(job: &dyn Job, from: u64, to: u64) -> (u64, Vec<u8>) {
    let most = |at: u64| usize::try_from(to.saturating_sub(at)).unwrap_or(usize::MAX);
    let (start, mut bytes) = job.output(from, most(from));
    loop {
        let at = start + bytes.len() as u64;
        if at >= to {
            bytes.truncate(most(start));
            return (start, bytes);
        }
        let (next, more) = job.output(at, most(at));
        if next != at || more.is_empty() {
            return (start, bytes);
        }
        bytes.extend(more);
    }
}

/// The bytes at a position, if they are still kept; cut after a line, or at least after a character.
fn beginning(job: &dyn Job, from: u64, to: u64) -> Vec<u8> {
    let (start, mut bytes) = contiguous_output(job, from, to);
    if start != from {
        return Vec::new();
    }
    bytes.truncate(last_line(&bytes));
    bytes
}

/// Where the last whole line ends; if that is far, the last whole character.
fn last_line(bytes: &[u8]) -> usize {
    let line = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1).filter(|end| *end > bytes.len() / 2);
    line.unwrap_or_else(|| whole_characters(bytes))
}

/// Where the first whole line begins; if that is far, the first whole character.
fn first_line(bytes: &[u8]) -> usize {
    let line = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1).filter(|start| *start < bytes.len() / 2);
    line.unwrap_or_else(|| bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count())
}

/// Length without a partial character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let begun = bytes.iter().rev().take(4).position(|byte| !is_continuation(*byte)).unwrap_or(0);
    let last = bytes.len().saturating_sub(begun + 1);
    let needed = match bytes.get(last) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => return bytes.len(),
    };
    if bytes.len() - last < needed { last } else { bytes.len() }
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

#[cfg(test)]
mod tests;
