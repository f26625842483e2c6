//! In which directory a line ended: its shell says so at its end, between marks in its output that nobody is shown.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// What a mark begins with, and what the directory ends with: no path holds it.
const EDGE: u8 = 0x1e;
const END: u8 = 0;
/// No directory has a longer name.
const LONGEST: usize = 4096;

/// A name that cannot be guessed, so that nothing is taken for a mark by accident.
pub(super) fn mark() -> String {
    // The standard library seeds these from the system's randomness.
    let number = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", number(), number())
}

/// The line, with a shell that says where it ended. It does so only into the output that it was given: what the line has put
/// into its place is the line's own.
pub(super) fn telling(line: &str, mark: &str) -> String {
    format!("trap '{{ [ -p /dev/stdout ] || [ -t 1 ]; }} && printf \"\\036{mark}%s\\000\" \"$PWD\"' EXIT; {line}")
}

/// Takes the marks out of a stream that comes in pieces.
#[derive(Debug)]
pub(super) struct Whereabouts {
    start: Vec<u8>,
    /// What may be the beginning of a mark.
    pending: Vec<u8>,
    /// Where it ended, by its own word.
    pub(super) directory: Option<PathBuf>,
}

impl Whereabouts {
    pub(super) fn new(mark: &str) -> Self {
        Self { start: [&[EDGE], mark.as_bytes()].concat(), pending: Vec::new(), directory: None }
    }

    /// What of it is output.
    pub(super) fn without_marks(&mut self, piece: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(piece);
        let mut output = Vec::new();
        while let Some(at) = self.pending.iter().position(|byte| *byte == EDGE) {
            output.extend(self.pending.drain(..at));
            match self.marked() {
                Marked::Unfinished => return output,
                Marked::Nothing => output.extend(self.pending.drain(..1)),
                Marked::Directory(path) => self.directory = Some(path),
            }
        }
        output.append(&mut self.pending);
        output
    }

    /// What no mark came of.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }

    /// What stands at the edge where the pending part begins.
    fn marked(&mut self) -> Marked {
        let compared = self.start.len().min(self.pending.len());
        if self.pending[..compared] != self.start[..compared] {
            return Marked::Nothing;
        }
        let name = self.pending.get(self.start.len()..).unwrap_or_default();
        match name.iter().take(LONGEST + 1).position(|byte| *byte == END) {
            Some(length) => {
                let name = name[..length].to_vec();
                self.pending.drain(..=self.start.len() + length);
                Marked::Directory(OsString::from_vec(name).into())
            }
            None if name.len() > LONGEST => Marked::Nothing,
            None => Marked::Unfinished,
        }
    }
}

enum Marked {
    Nothing,
    Unfinished,
    Directory(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_out_whatever_the_pieces() {
        let long = format!("a\x1emark{}\0b", "x".repeat(LONGEST + 1));
        for (stream, output, directory) in [
            ("", "", None),
            ("a\x1eb\x1emar", "a\x1eb\x1emar", None),
            ("a\x1emark/w/s\0", "a", Some("/w/s")),
            ("a\x1e\x1emark/w s\0b\n", "a\x1eb\n", Some("/w s")),
            ("a\x1emark/1\0b\x1emark/2\0", "ab", Some("/2")),
            ("a\x1emark/w", "a\x1emark/w", None),
            (&long, &long, None),
        ] {
            for size in [1, 2, 5, 8192] {
                let mut whereabouts = Whereabouts::new("mark");
                let mut found: Vec<u8> = stream.as_bytes().chunks(size).flat_map(|piece| whereabouts.without_marks(piece)).collect();
                found.extend(whereabouts.rest());
                assert_eq!(String::from_utf8(found).unwrap(), output, "in pieces of {size}");
                assert_eq!(whereabouts.directory, directory.map(PathBuf::from), "{stream}");
            }
        }
    }
}
