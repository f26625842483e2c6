//! The delimiters around the output of a call. Each call has a new random nonce, so that neither printed text nor the rest of
//! an earlier call can be taken for a delimiter.

use std::hash::{BuildHasher, Hasher, RandomState};

const EDGE: u8 = 0x1e;
/// The longest word in a delimiter.
const LONGEST_WORD: usize = 24;

/// A nonce that cannot be guessed.
pub(super) fn nonce() -> String {
    // The standard library seeds these from the system's randomness.
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// Finds the delimiters of one call in a stream that comes in pieces.
#[derive(Debug)]
pub(super) struct DelimiterScanner {
    start: Vec<u8>,
    /// Bytes that may begin a delimiter.
    pending: Vec<u8>,
}

/// A part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplPart {
    /// Printed output.
    Output(Vec<u8>),
    /// The word of a delimiter.
    Word(String),
}

impl DelimiterScanner {
    pub(super) fn new(nonce: &str) -> Self {
        let start = [&[EDGE], nonce.as_bytes(), b":"].concat();
        Self { start, pending: Vec::new() }
    }

    /// The parts of the next piece, as far as they are complete.
    pub(super) fn parts(&mut self, piece: &[u8]) -> Vec<ReplPart> {
        self.pending.extend_from_slice(piece);
        let mut parts = Vec::new();
        while let Some(part) = self.next() {
            parts.push(part);
        }
        parts
    }

    /// The rest when the stream has ended: an incomplete delimiter is output.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    fn next(&mut self) -> Option<ReplPart> {
        let at = self.begins();
        if at > 0 {
            let rest = self.pending.split_off(at);
            return Some(ReplPart::Output(std::mem::replace(&mut self.pending, rest)));
        }
        let behind = self.pending.strip_prefix(&*self.start)?;
        match behind.iter().position(|byte| *byte == EDGE) {
            Some(end) => {
                let word = String::from_utf8_lossy(&behind[..end]).into_owned();
                self.pending.drain(..=self.start.len() + end);
                Some(ReplPart::Word(word))
            }
            // Too long for a delimiter.
            None if behind.len() > LONGEST_WORD => Some(ReplPart::Output(self.rest())),
            None => None,
        }
    }

    /// Where a delimiter begins or may begin; the end of the pending bytes if there is none.
    fn begins(&self) -> usize {
        let may_begin = |at: &usize| {
            let rest = &self.pending[*at..];
            let length = rest.len().min(self.start.len());
            rest[..length] == self.start[..length]
        };
        memchr::memchr_iter(EDGE, &self.pending).find(may_begin).unwrap_or(self.pending.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a stream, with output joined.
    fn parts(stream: &[u8], piece: usize) -> Vec<ReplPart> {
        let mut scanner = DelimiterScanner::new("n0");
        let mut found: Vec<ReplPart> = Vec::new();
        let mut all: Vec<ReplPart> = stream.chunks(piece).flat_map(|piece| scanner.parts(piece)).collect();
        all.push(ReplPart::Output(scanner.rest()));
        for part in all {
            match (found.last_mut(), part) {
                (Some(ReplPart::Output(before)), ReplPart::Output(more)) => before.extend(more),
                (_, part) => found.push(part),
            }
        }
        found.retain(|part| *part != ReplPart::Output(Vec::new()));
        found
    }

    #[test]
    fn delimiters_are_found_across_pieces_and_nothing_else_is_one() {
        let output = |text: &[u8]| ReplPart::Output(text.to_vec());
        let word = |text: &str| ReplPart::Word(text.to_owned());
        let long = [b"\x1en0:".as_slice(), &[b'x'; 40]].concat();
        for (stream, expected) in [
            (b"a\x1en0:value\x1eb\x1en0:done\x1ec".as_slice(), vec![output(b"a"), word("value"), output(b"b"), word("done"), output(b"c")]),
            (b"\x1en1:done\x1e \x1e\x1en0", vec![output(b"\x1en1:done\x1e \x1e\x1en0")]),
            (b"\x1e\x1en0:done\x1e", vec![output(b"\x1e"), word("done")]),
            (&long, vec![output(&long)]),
            (b"", vec![]),
        ] {
            for piece in [1, 2, 3, 7, 100] {
                assert_eq!(parts(stream, piece), expected, "in pieces of {piece}");
            }
        }
    }

    #[test]
    fn nonces_are_unique() {
        let names: std::collections::BTreeSet<String> = (0..1000).map(|_| nonce()).collect();
        assert!(names.len() == 1000 && names.iter().all(|name| name.len() == 32), "{names:?}");
    }
}
