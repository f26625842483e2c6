//! Redaction of a stream: a secret across two pieces is still seen, and memory stays bounded.

use std::borrow::Cow;

use crate::scan::is_suspicious;
use crate::{Secrets, find};

/// How much of a stream waits at most, so that a secret across two pieces is still seen.
pub(super) const HOLD: usize = 64 * 1024;
/// How far a cut moves back to fall between two words.
pub(super) const REACH: usize = 4 * 1024;

/// Redacts a stream piece by piece, with bounded memory.
#[derive(Debug, Default)]
pub struct Redactor {
    pub(super) pending: Vec<u8>,
    /// The length of `pending` at which an open key block is read again: not once for each of its lines.
    pub(super) recheck_at: usize,
}

impl Redactor {
    /// Takes a piece, and returns the bytes that are safe to pass on: the second part after the first.
    pub fn push<'a>(&mut self, piece: &'a [u8]) -> (Vec<u8>, Cow<'a, [u8]>) {
        match self.pass_over(piece) {
            Some((line, lines)) => (line, Cow::Borrowed(lines)),
            None => (Vec::new(), Cow::Owned(self.push_slowly(piece))),
        }
    }

    /// Whole lines without anything that begins like a secret are not copied: the end of the line that waits, and those of the piece.
    fn pass_over<'a>(&mut self, piece: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        let first = piece.iter().position(|byte| *byte == b'\n').filter(|_| piece.len() <= HOLD && self.recheck_at == 0)? + 1;
        let last = piece.iter().rposition(|byte| *byte == b'\n')? + 1;
        let (waiting, lines) = if self.pending.is_empty() { (0, &piece[..last]) } else { (self.pending.len(), &piece[first..last]) };
        if waiting + first > HOLD || is_suspicious(lines) {
            return None;
        }
        let mut line = Vec::new();
        if waiting > 0 {
            self.pending.extend_from_slice(&piece[..first]);
            if is_suspicious(&self.pending) {
                self.pending.truncate(waiting);
                return None;
            }
            line = std::mem::take(&mut self.pending);
        }
        self.pending.extend_from_slice(&piece[last..]);
        Some((line, lines))
    }

    fn push_slowly(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut ready = Vec::new();
        for part in piece.chunks(HOLD) {
            self.pending.extend_from_slice(part);
            if part.contains(&b'\n') && self.pending.len() >= self.recheck_at {
                ready.extend(self.whole_lines());
            }
            while self.pending.len() > HOLD {
                ready.extend(self.part_of_a_line());
            }
        }
        ready
    }

    /// Returns the rest.
    pub fn finish(self) -> Vec<u8> {
        find(&self.pending).replaced(&self.pending)
    }

    /// Up to the last line break, because no shape but a key block spans lines, and before an open key block.
    fn whole_lines(&mut self) -> Vec<u8> {
        let lines = self.pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let found = find(&self.pending[..lines]);
        let cut = found.open.unwrap_or(lines);
        let ready = self.pass_on(&found, found.across(cut).map_or(cut, |secret| secret.from));
        if found.open.is_some() {
            self.recheck_at = self.pending.len() * 2;
        }
        ready
    }

    /// For a line, or a key block, that is longer than any secret: all but its tail, cut where no secret is.
    fn part_of_a_line(&mut self) -> Vec<u8> {
        let found = find(&self.pending);
        let cut = between_words(&self.pending, self.pending.len() - HOLD / 2);
        match found.across(cut) {
            None => self.pass_on(&found, cut),
            Some(secret) if secret.from > 0 => self.pass_on(&found, secret.from),
            Some(_) if found.open == Some(0) => {
                // What follows is the same key, and must still be known as one.
                self.pending.splice(..cut, *b"-----BEGIN PRIVATE KEY-----\n");
                b"[redacted:private_key]".to_vec()
            }
            Some(secret) => self.pass_on(&found, secret.span.end),
        }
    }

    fn pass_on(&mut self, found: &Secrets, cut: usize) -> Vec<u8> {
        let ready = found.replaced(&self.pending[..cut]);
        self.pending.drain(..cut);
        self.recheck_at = 0;
        ready
    }
}

/// The last place before this one that is not within a word; this one where there is none near.
fn between_words(bytes: &[u8], at: usize) -> usize {
    let near = at.saturating_sub(REACH).max(1);
    let part_of_a_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-\\%".contains(&byte);
    (near..at).rev().find(|at| !part_of_a_word(bytes[*at])).unwrap_or(at)
}
