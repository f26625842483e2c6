//! The beginning and the end of a stream in bounded memory.

use crate::command::excerpt::{OutputExcerpt, SHOWN};

/// As much as an excerpt shows.
const HEAD: usize = SHOWN / 3;
const TAIL: usize = SHOWN - HEAD;

#[derive(Debug, Default)]
pub(super) struct ReplBuffer {
    head: Vec<u8>,
    /// The end, with up to as much again before it, so that bytes are not moved with each piece.
    tail: Vec<u8>,
    total: u64,
}

impl ReplBuffer {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let (head, rest) = piece.split_at(piece.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(TAIL)..]);
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    /// Bytes so far.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }
    /// The beginning and the end.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        (&self.head, &self.tail[self.tail.len().saturating_sub(TAIL)..])
    }
    /// Whether the last line is complete.
    pub(super) fn ends_a_line(&self) -> bool {
        let (head, tail) = self.parts();
        tail.last().or(head.last()).is_none_or(|byte| *byte == b'\n')
    }
    pub(super) fn excerpt(&self) -> OutputExcerpt {
        let (head, tail) = self.parts();
        OutputExcerpt::from_ends(head, tail, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_whatever_the_pieces() {
        for total in [0, 1, HEAD, HEAD + 1, SHOWN, SHOWN + 1, 7 * SHOWN] {
            let all: Vec<u8> = (0..total).map(|at| u8::try_from(at % 251).unwrap()).collect();
            for piece in [7, HEAD, TAIL, 5 * SHOWN] {
                let mut kept = ReplBuffer::default();
                all.chunks(piece).for_each(|piece| kept.push(piece));
                let tail = all.len().saturating_sub(TAIL).max(HEAD.min(total));
                assert_eq!(kept.parts(), (&all[..total.min(HEAD)], &all[tail..]), "{total} in {piece}");
                assert_eq!(kept.total(), total as u64);
            }
        }
    }

    #[test]
    fn a_line_is_known_to_have_ended() {
        let mut kept = ReplBuffer::default();
        let mut after = |piece: &[u8]| {
            kept.push(piece);
            kept.ends_a_line()
        };
        assert_eq!([after(b""), after(b"a"), after(b"\n"), after(&vec![b'x'; SHOWN]), after(b"\n")], [true, false, true, false, true]);
    }
}
