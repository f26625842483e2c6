//! A file, with the positions of all lines that occur in hunks.
//!
//! The file is read once, however many hunks there are: each of its lines is looked up in a filter.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::Hunk;
use crate::fold::plainest;
use crate::text::{LineEnding, LineTable, TooManyLines};

/// From so many lines on, a second thread is worth its start.
const MANY_LINES: usize = 1 << 15;

/// A file, prepared for the search.
#[derive(Debug)]
pub(super) struct LineIndex<'a> {
    pub(super) lines: LineTable<'a>,
    places: HashMap<u64, Vec<u32>>,
    ending: OnceCell<LineEnding>,
}

impl<'a> LineIndex<'a> {
    pub(super) fn new(original: &'a [u8], hunks: &[Hunk]) -> Result<Self, TooManyLines> {
        let lines = LineTable::new(original)?;
        let mut filter = LineFilter::new(hunks);
        if lines.len() < MANY_LINES {
            filter.see_all(&lines, 0..lines.len());
        } else {
            filter.see_all_twice_as_fast(&lines);
        }
        Ok(Self { lines, places: filter.places, ending: OnceCell::new() })
    }

    /// The lines with this digest, in order.
    pub(super) fn places(&self, digest: u64) -> &[u32] {
        self.places.get(&digest).map_or(&[], Vec::as_slice)
    }

    /// The ending that most lines of the file have.
    pub(super) fn ending(&self) -> LineEnding {
        *self.ending.get_or_init(|| LineEnding::dominant(self.lines.bytes()).unwrap_or_default())
    }
}

/// The lines that occur in hunks.
#[derive(Clone)]
struct LineFilter {
    places: HashMap<u64, Vec<u32>>,
    /// A Bloom filter of the digests: it excludes most lines of a file at once.
    bits: Vec<u64>,
}

impl LineFilter {
    fn new(hunks: &[Hunk]) -> Self {
        let mut filter = Self { places: HashMap::new(), bits: vec![0; 1 << 14] };
        for hunk in hunks {
            let lines = hunk.old_lines().map(|line| &*line.text).chain(hunk.headers.iter().map(String::as_str));
            for digest in lines.map(|line| digest(line.as_bytes())) {
                let (word, bit) = filter.bit(digest);
                filter.bits[word] |= bit;
                filter.places.entry(digest).or_default();
            }
        }
        filter
    }

    fn bit(&self, digest: u64) -> (usize, u64) {
        let high = usize::try_from(digest >> 32).unwrap_or_default();
        ((high >> 6) & (self.bits.len() - 1), 1 << (high & 63))
    }

    fn see_all(&mut self, lines: &LineTable<'_>, range: Range<usize>) {
        for line in range {
            let digest = digest(lines.get(line).body);
            // A table has no more lines than fit.
            if let Ok(line) = u32::try_from(line) {
                self.see(line, digest);
            }
        }
    }

    /// The same for all lines, the second half on a thread of its own.
    fn see_all_twice_as_fast(&mut self, lines: &LineTable<'_>) {
        let middle = lines.len() / 2;
        let mut behind = self.clone();
        std::thread::scope(|scope| {
            scope.spawn(|| behind.see_all(lines, middle..lines.len()));
            self.see_all(lines, 0..middle);
        });
        for (digest, places) in behind.places {
            self.places.entry(digest).or_default().extend(places);
        }
    }

    fn see(&mut self, line: u32, digest: u64) {
        let (word, bit) = self.bit(digest);
        if self.bits[word] & bit != 0
            && let Some(places) = self.places.get_mut(&digest)
        {
            places.push(line);
        }
    }
}

/// Equal for any two lines that some level takes for equal. Other lines may share it, so the caller compares them.
pub(super) fn digest(line: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let line = plainest(line);
    let (words, rest) = line.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let all = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    let mixed = all.fold(line.len() as u64, |digest, word| (digest.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER));
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HunkLine, LineKind};

    #[test]
    fn lines_that_any_rule_takes_for_each_other_share_a_digest() {
        for line in ["  it's \"x\" - y", "it's \"x\" - y\t", "\tit’s “x” — y", "it's\u{a0}\"x\" – y\r"] {
            assert_eq!(digest(line.as_bytes()), digest(b"it's \"x\" - y"), "{line:?}");
        }
        assert_ne!(digest(b"abcdefgh"), digest(b"abcdefg"));
        assert_ne!(digest(b""), digest(b"\0"));
    }

    #[test]
    fn places_are_the_same_in_a_long_file() {
        let hunk = Hunk { lines: vec![HunkLine::new(LineKind::Context, "a")], ..Hunk::default() };
        let file: String = (0..MANY_LINES + 7).map(|line| if line % 1000 == 999 { "a\n" } else { "b\n" }).collect();
        let index = LineIndex::new(file.as_bytes(), &[hunk]).unwrap();
        let expected: Vec<u32> = (999..).step_by(1000).take((MANY_LINES + 7) / 1000).collect();
        assert_eq!(index.places(digest(b"a")), expected);
    }

    #[test]
    fn the_places_of_wanted_lines_are_known() {
        let hunk = Hunk {
            headers: vec!["c".to_owned()],
            lines: vec![HunkLine::new(LineKind::Context, "a"), HunkLine::new(LineKind::Add, "b")],
            ..Hunk::default()
        };
        let index = LineIndex::new(b"a\nb\n  a\nc\r\n", &[hunk]).unwrap();
        assert_eq!([&b"a"[..], b"b", b"c"].map(|line| index.places(digest(line))), [&[0, 2][..], &[], &[3]]);
        assert_eq!(index.ending(), LineEnding::Lf);
    }
}
