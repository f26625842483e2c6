//! What is kept in memory of a job's output: its beginning and its end, however much there is between.

use std::collections::VecDeque;

/// Bytes kept of the beginning.
const HEAD: usize = 64 * 1024;
/// Bytes kept of the end.
const TAIL: usize = 256 * 1024;

/// One stream, up to two limits.
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Kept {
    pub(super) fn push(&mut self, piece: &[u8]) {
        // Behind a gap there is no beginning any more.
        let is_beginning = self.head.len() as u64 == self.total;
        let room = if is_beginning { (HEAD - self.head.len()).min(piece.len()) } else { 0 };
        self.head.extend_from_slice(&piece[..room]);
        let last = &piece[piece.len().saturating_sub(TAIL)..];
        let excess = (self.tail.len() + last.len()).saturating_sub(TAIL);
        self.tail.drain(..excess);
        self.tail.extend(last);
        self.total += piece.len() as u64;
    }

    /// The same for a piece that may begin behind the end so far: what lies between is not here.
    pub(super) fn push_at(&mut self, position: u64, piece: &[u8]) {
        if position > self.total {
            self.tail.clear();
            self.total = position;
        }
        // What is here already is not taken twice.
        let known = usize::try_from(self.total - position).unwrap_or(piece.len());
        self.push(piece.get(known..).unwrap_or_default());
    }

    /// Bytes so far.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }
    /// The first byte of the end that is still here.
    pub(super) fn kept_from(&self) -> u64 {
        self.total - self.tail.len() as u64
    }
    pub(super) fn head(&self) -> Vec<u8> {
        self.head.clone()
    }
    /// At most so many bytes of the end.
    pub(super) fn tail(&self, most: usize) -> Vec<u8> {
        self.tail.iter().skip(self.tail.len().saturating_sub(most)).copied().collect()
    }
    /// Whether nothing was dropped between beginning and end.
    pub(super) fn is_whole(&self) -> bool {
        self.kept_from() <= self.head.len() as u64
    }

    /// At most so many bytes from a position, and where they really begin.
    pub(super) fn from(&self, position: u64, most: usize) -> (u64, Vec<u8>) {
        let in_head = usize::try_from(position).ok().and_then(|at| self.head.get(at..)).filter(|rest| !rest.is_empty());
        if position < self.kept_from()
            && let Some(rest) = in_head
        {
            return (position, rest[..rest.len().min(most)].to_vec());
        }
        let start = position.clamp(self.kept_from(), self.total);
        let skipped = usize::try_from(start - self.kept_from()).unwrap_or(self.tail.len());
        (start, self.tail.iter().skip(skipped).take(most).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(total: usize, piece: usize) -> (Kept, Vec<u8>) {
        let all: Vec<u8> = (0..total).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut kept = Kept::default();
        all.chunks(piece).for_each(|piece| kept.push(piece));
        (kept, all)
    }

    #[test]
    fn beginning_and_end_are_kept_whatever_the_pieces() {
        for total in [0, 1, HEAD, HEAD + 1, TAIL, HEAD + TAIL, HEAD + TAIL + 1, 3 * TAIL] {
            for piece in [1000, HEAD, TAIL, 2 * TAIL] {
                let (kept, all) = counted(total, piece);
                assert_eq!(kept.head(), all[..total.min(HEAD)], "{total} in {piece}");
                assert_eq!(kept.from(0, usize::MAX).1, if kept.kept_from() == 0 { &all[..] } else { &all[..HEAD.min(total)] });
                let tail = total.saturating_sub(TAIL);
                assert_eq!(kept.from(tail as u64, usize::MAX), (tail as u64, all[tail..].to_vec()), "{total} in {piece}");
                assert_eq!((kept.total(), kept.is_whole()), (total as u64, total <= HEAD + TAIL));
            }
        }
    }

    #[test]
    fn what_another_has_kept_is_kept_the_same() {
        for total in [0, 10, HEAD, TAIL, HEAD + TAIL, HEAD + TAIL + 1, 3 * TAIL] {
            let (kept, _) = counted(total, 4096);
            let mut copy = Kept::default();
            let mut position = 0;
            while position < kept.total() {
                let (from, bytes) = kept.from(position, TAIL);
                copy.push_at(from, &bytes);
                position = from + bytes.len() as u64;
            }
            copy.push_at(position.saturating_sub(5), &kept.from(position.saturating_sub(5), 5).1);
            assert_eq!((copy.head(), copy.total(), copy.is_whole()), (kept.head(), kept.total(), kept.is_whole()), "{total}");
            assert_eq!(copy.from(kept.kept_from(), TAIL), kept.from(kept.kept_from(), TAIL), "{total}");
        }
    }

    #[test]
    fn what_is_gone_is_passed_over() {
        let (kept, all) = counted(2 * TAIL, 4096);
        assert_eq!(kept.from(HEAD as u64, 10), (TAIL as u64, all[TAIL..TAIL + 10].to_vec()));
        assert_eq!(kept.from(u64::MAX, 10), (2 * TAIL as u64, Vec::new()));
        assert_eq!(kept.from(5, 3), (5, all[5..8].to_vec()));
    }
}
