//! Similarity of lines, by the pairs of bytes they share.

/// How many bytes of a line are compared.
const COMPARED: usize = 240;

/// The byte pairs of a line, prepared for comparison with many others.
#[derive(Debug)]
pub(super) struct PairSet {
    /// For each pair of bytes, its number among those of the line, from 1; 0 if it has no such pair.
    numbers: Vec<u8>,
    /// For each of them, the last comparison that saw it.
    seen: [u32; 256],
    round: u32,
    count: usize,
}

impl PairSet {
    pub(super) fn new(line: &[u8]) -> Self {
        let mut pairs = Self { numbers: vec![0; 1 << 16], seen: [0; 256], round: 0, count: 0 };
        for two in line[..line.len().min(COMPARED)].windows(2) {
            let number = &mut pairs.numbers[pair(two)];
            if *number == 0 && pairs.count < 255 {
                pairs.count += 1;
                *number = u8::try_from(pairs.count).unwrap_or(u8::MAX);
            }
        }
        pairs
    }

    /// How many different pairs there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// How many of them the other line has.
    pub(super) fn shared(&mut self, line: &[u8]) -> usize {
        self.round += 1;
        let mut shared = 0;
        for two in line.windows(2) {
            let number = usize::from(self.numbers[pair(two)]);
            if number != 0 && self.seen[number] != self.round {
                self.seen[number] = self.round;
                shared += 1;
            }
        }
        shared
    }
}

fn pair(two: &[u8]) -> usize {
    usize::from(two[0]) << 8 | usize::from(two[1])
}

/// How much of the needle is in a line, in percent.
pub(super) fn alike(line: &[u8], needle: &[u8]) -> usize {
    if line == needle {
        return 100;
    }
    let mut pairs = PairSet::new(needle);
    match pairs.count() {
        0 => 0,
        count => (pairs.shared(&line[..line.len().min(1 << 16)]) * 100 / count).min(99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_alike_by_what_they_share() {
        for (line, needle, expected) in [
            ("same", "same", 100),
            ("", "", 100),
            ("a longer line with it", "line with", 99),
            ("abcd", "abxy", 33),
            ("abc", "xyz", 0),
            ("abc", "x", 0),
        ] {
            assert_eq!(alike(line.as_bytes(), needle.as_bytes()), expected, "{line} {needle}");
        }
        let mut pairs = PairSet::new(b"abab");
        assert_eq!((pairs.count(), pairs.shared(b"ababab"), pairs.shared(b"ab")), (2, 2, 1));
    }
}
