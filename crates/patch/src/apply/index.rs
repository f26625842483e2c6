//! A file, with all places of the lines that hunks are about.
//!
//! The file is read once, however many hunks there are: each of its lines is looked up among those that are wanted.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::Hunk;
use crate::fold::plainest;
use crate::text::{Ending, Lines, TooManyLines};

/// A file made ready for the search.
#[derive(Debug)]
pub(super) struct Index<'a> {
    pub(super) lines: Lines<'a>,
    places: HashMap<u64, Vec<u32>>,
    ending: OnceCell<Ending>,
}

impl<'a> Index<'a> {
    pub(super) fn new(original: &'a [u8], hunks: &[Hunk]) -> Result<Self, TooManyLines> {
        let lines = Lines::new(original)?;
        let mut wanted = Wanted::new(hunks);
        for (number, line) in (0..).zip(lines.iter()) {
            wanted.see(number, digest(line.body));
        }
        Ok(Self { lines, places: wanted.places, ending: OnceCell::new() })
    }

    /// The lines with this digest, in order.
    pub(super) fn places(&self, digest: u64) -> &[u32] {
        self.places.get(&digest).map_or(&[], Vec::as_slice)
    }

    /// The ending that most lines of the file have.
    pub(super) fn ending(&self) -> Ending {
        *self.ending.get_or_init(|| Ending::dominant(self.lines.bytes()).unwrap_or_default())
    }
}

/// The lines that hunks are about.
struct Wanted {
    places: HashMap<u64, Vec<u32>>,
    /// One bit for some bits of each digest: most lines of a file are wanted by nobody, and this tells at once.
    filter: Vec<u64>,
}

impl Wanted {
    fn new(hunks: &[Hunk]) -> Self {
        let mut wanted = Self { places: HashMap::new(), filter: vec![0; 1 << 14] };
        for hunk in hunks {
            let lines = hunk.old_lines().map(|line| &*line.text).chain(hunk.headers.iter().map(String::as_str));
            for digest in lines.map(|line| digest(line.as_bytes())) {
                let (word, bit) = wanted.bit(digest);
                wanted.filter[word] |= bit;
                wanted.places.entry(digest).or_default();
            }
        }
        wanted
    }

    fn bit(&self, digest: u64) -> (usize, u64) {
        let high = usize::try_from(digest >> 32).unwrap_or_default();
        ((high >> 6) & (self.filter.len() - 1), 1 << (high & 63))
    }

    fn see(&mut self, line: u32, digest: u64) {
        let (word, bit) = self.bit(digest);
        if self.filter[word] & bit != 0
            && let Some(places) = self.places.get_mut(&digest)
        {
            places.push(line);
        }
    }
}

/// The same for any two lines that some rule takes for each other. Others may share it: whoever finds one compares it.
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
    fn the_places_of_wanted_lines_are_known() {
        let hunk = Hunk {
            headers: vec!["c".to_owned()],
            lines: vec![HunkLine::new(LineKind::Context, "a"), HunkLine::new(LineKind::Add, "b")],
            ..Hunk::default()
        };
        let index = Index::new(b"a\nb\n  a\nc\r\n", &[hunk]).unwrap();
        assert_eq!([&b"a"[..], b"b", b"c"].map(|line| index.places(digest(line))), [&[0, 2][..], &[], &[3]]);
        assert_eq!(index.ending(), Ending::Lf);
    }
}
