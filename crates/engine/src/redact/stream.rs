//! Redacting a stream: a secret across two pieces is still seen, and memory stays bounded.

use super::{Found, find};

/// How much of a stream is held back at most, so that a secret across two pieces is still seen.
pub(super) const HOLD: usize = 64 * 1024;
/// How far a cut moves back to fall between two words.
pub(super) const REACH: usize = 4 * 1024;

/// Redacts a stream piece by piece, with bounded memory.
#[derive(Debug, Default)]
pub struct Redactor {
    pub(super) held: Vec<u8>,
    /// How much must be held before an open key block is looked at again, so that it is not read once for each of its lines.
    pub(super) patience: usize,
}

impl Redactor {
    /// Takes a piece, gives what is safe to pass on.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut ready = Vec::new();
        for part in piece.chunks(HOLD) {
            self.held.extend_from_slice(part);
            if part.contains(&b'\n') && self.held.len() >= self.patience {
                ready.extend(self.whole_lines());
            }
            while self.held.len() > HOLD {
                ready.extend(self.part_of_a_line());
            }
        }
        ready
    }

    /// Gives the rest.
    pub fn finish(self) -> Vec<u8> {
        find(&self.held).replaced(&self.held)
    }

    /// Up to the last line break, because no shape but a key block spans lines, and before an open key block.
    fn whole_lines(&mut self) -> Vec<u8> {
        let lines = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let found = find(&self.held[..lines]);
        let cut = found.open.unwrap_or(lines);
        let ready = self.pass_on(&found, found.across(cut).map_or(cut, |secret| secret.from));
        if found.open.is_some() {
            self.patience = self.held.len() * 2;
        }
        ready
    }

    /// For a line, or a key block, that is longer than any secret: all but its tail, cut where no secret is.
    fn part_of_a_line(&mut self) -> Vec<u8> {
        let found = find(&self.held);
        let cut = between_words(&self.held, self.held.len() - HOLD / 2);
        match found.across(cut) {
            None => self.pass_on(&found, cut),
            Some(secret) if secret.from > 0 => self.pass_on(&found, secret.from),
            Some(_) if found.open == Some(0) => {
                // What follows is the same key, and must still be known as one.
                self.held.splice(..cut, *b"-----BEGIN PRIVATE KEY-----\n");
                b"[redacted:private_key]".to_vec()
            }
            Some(secret) => self.pass_on(&found, secret.place.end),
        }
    }

    fn pass_on(&mut self, found: &Found, cut: usize) -> Vec<u8> {
        let ready = found.replaced(&self.held[..cut]);
        self.held.drain(..cut);
        self.patience = 0;
        ready
    }
}

/// The last place before this one that is not within a word; this one where there is none near.
fn between_words(bytes: &[u8], at: usize) -> usize {
    let near = at.saturating_sub(REACH).max(1);
    let part_of_a_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-\\%".contains(&byte);
    (near..at).rev().find(|at| !part_of_a_word(bytes[*at])).unwrap_or(at)
}
