//! The content of a file, as the searcher reads it.
//!
//! The searcher buffers whole lines, and a file may be one line of any length. Such a line is searched in pieces: the source
//! inserts line feeds between them and records where, so that line numbers stay right.

use std::cell::RefCell;
use std::io::{self, Read};

use crate::shared::tree_search::Deadline;

/// A longer line is searched in pieces of this length.
pub(super) const LONGEST_LINE: usize = 1 << 20;
/// The first read: most files are no longer.
pub(super) const HEAD: usize = 64 << 10;

/// Byte offsets of inserted line feeds.
pub(super) type LineCuts = RefCell<Vec<u64>>;

/// Whether an error is a missed deadline.
pub(super) fn is_late(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

/// A reader for the searcher.
pub(super) struct ContentSource<'s> {
    content: Box<dyn Read + Send>,
    /// Bytes that were read already, and are still to be returned.
    head: &'s [u8],
    cuts: Option<&'s LineCuts>,
    deadline: Deadline,
    /// How many bytes were returned, and how many of them since the last line feed.
    passed: u64,
    line: usize,
    /// The first byte after an inserted line feed.
    ahead: Option<u8>,
}

impl<'s> ContentSource<'s> {
    /// Content that begins with `head`. With `cuts`, long lines are split.
    pub(super) fn new(content: Box<dyn Read + Send>, head: &'s [u8], cuts: Option<&'s LineCuts>, deadline: Deadline) -> Self {
        cuts.inspect(|cuts| cuts.borrow_mut().clear());
        Self { content, head, cuts, deadline, passed: 0, line: 0, ahead: None }
    }

    /// Returns the next bytes.
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let (Some(first), Some(byte)) = (buffer.first_mut(), self.ahead.take()) {
            *first = byte;
            return Ok(1);
        }
        if !self.head.is_empty() {
            let length = self.head.len().min(buffer.len());
            let (now, later) = self.head.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.head = later;
            return Ok(length);
        }
        if self.deadline.is_past() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.content.read(buffer)
    }
}

/// One read, again if a signal came between.
pub(super) fn fill(content: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match content.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}

impl Read for ContentSource<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(cuts) = self.cuts else { return self.next(buffer) };
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.line >= LONGEST_LINE {
            let mut ahead = [0];
            if self.next(&mut ahead)? == 0 {
                return Ok(0);
            }
            buffer[0] = b'\n';
            if ahead != *b"\n" {
                self.ahead = Some(ahead[0]);
                cuts.borrow_mut().push(self.passed);
            }
            (self.passed, self.line) = (self.passed + 1, 0);
            return Ok(1);
        }
        let space = buffer.len().min(LONGEST_LINE - self.line);
        let length = self.next(&mut buffer[..space])?;
        self.passed += length as u64;
        self.line = match memchr::memrchr(b'\n', &buffer[..length]) {
            Some(end) => length - end - 1,
            None => self.line + length,
        };
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::time::Duration;

    use super::*;

    const LATER: Duration = Duration::from_hours(1);

    fn read(content: Vec<u8>, cuts: Option<&LineCuts>) -> Vec<u8> {
        let (mut content, mut head, mut all) = (Cursor::new(content), vec![0; HEAD], Vec::new());
        let filled = fill(&mut content, &mut head).unwrap();
        let mut source = ContentSource::new(Box::new(content), &head[..filled], cuts, Deadline::after(LATER));
        source.read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn what_is_read_is_what_is_there() {
        let cuts = LineCuts::default();
        for content in
            ["", "a", "a\nb\n", &"line\n".repeat(100_000), &"x".repeat(LONGEST_LINE), &format!("{}\na", "x".repeat(LONGEST_LINE))]
        {
            assert!(read(content.into(), Some(&cuts)) == content.as_bytes(), "{} bytes", content.len());
            assert!(cuts.borrow().is_empty());
        }
    }

    #[test]
    fn a_long_line_is_cut_and_the_cuts_are_known() {
        let content = format!("first\n{}\nlast", "x".repeat(2 * LONGEST_LINE + 5));
        let cuts = LineCuts::default();
        let all = read(content.clone().into_bytes(), Some(&cuts));
        let location = |piece: usize| (6 + piece * LONGEST_LINE + piece - 1) as u64;
        assert_eq!(*cuts.borrow(), [location(1), location(2)]);
        let longest = all.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert_eq!(longest, Some(LONGEST_LINE));
        assert_eq!(all.iter().filter(|byte| **byte != b'\n').count(), content.len() - 2);
        assert!(read(content.clone().into_bytes(), None) == content.as_bytes());
    }

    #[test]
    fn reading_ends_with_the_time() {
        let content = Box::new(Cursor::new(vec![b'x'; HEAD]));
        let mut source = ContentSource::new(content, b"head", None, Deadline::after(Duration::ZERO));
        let (mut all, mut buffer) = (Vec::new(), [0; 100]);
        let late = loop {
            match source.read(&mut buffer) {
                Ok(length) => all.extend_from_slice(&buffer[..length]),
                Err(error) => break error,
            }
        };
        assert!(is_late(&late) && all == b"head", "what is there already is searched");
    }
}
