//! A file's content on its way to the search.
//!
//! A search holds whole lines, and a file may be one line of any length. Such a line is searched in pieces: the source puts an
//! end of line between them, and remembers where, so that lines keep their numbers.

use std::cell::RefCell;
use std::io::{self, Read};

use crate::shared::searching::Deadline;

/// A longer line is searched in pieces of this length.
pub(super) const LONGEST_LINE: usize = 1 << 20;
/// What is read first: most files are no longer.
pub(super) const HEAD: usize = 64 << 10;

/// Where ends of line were put that the file does not have: bytes from the beginning of what is searched.
pub(super) type Cuts = RefCell<Vec<u64>>;

/// The error of a search whose time is up.
pub(super) fn is_late(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

/// Content that is read to be searched.
pub(super) struct Source<'s> {
    content: Box<dyn Read + Send>,
    /// What was read of it already, and was not handed on.
    head: &'s [u8],
    cuts: Option<&'s Cuts>,
    deadline: Deadline,
    /// How many bytes were handed on, and how many of them since the last end of line.
    passed: u64,
    line: usize,
    /// The first byte after a cut, which showed that there is more of the line.
    ahead: Option<u8>,
}

impl<'s> Source<'s> {
    /// What begins with `head`. With `cuts`, long lines are cut.
    pub(super) fn new(content: Box<dyn Read + Send>, head: &'s [u8], cuts: Option<&'s Cuts>, deadline: Deadline) -> Self {
        cuts.inspect(|cuts| cuts.borrow_mut().clear());
        Self { content, head, cuts, deadline, passed: 0, line: 0, ahead: None }
    }

    /// Hands on what is there.
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

impl Read for Source<'_> {
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
        let room = buffer.len().min(LONGEST_LINE - self.line);
        let length = self.next(&mut buffer[..room])?;
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

    fn read(content: Vec<u8>, cuts: Option<&Cuts>) -> Vec<u8> {
        let (mut content, mut head, mut all) = (Cursor::new(content), vec![0; HEAD], Vec::new());
        let filled = fill(&mut content, &mut head).unwrap();
        let mut source = Source::new(Box::new(content), &head[..filled], cuts, Deadline::after(LATER));
        source.read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn what_is_read_is_what_is_there() {
        let cuts = Cuts::default();
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
        let cuts = Cuts::default();
        let all = read(content.clone().into_bytes(), Some(&cuts));
        let place = |piece: usize| (6 + piece * LONGEST_LINE + piece - 1) as u64;
        assert_eq!(*cuts.borrow(), [place(1), place(2)]);
        let longest = all.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert_eq!(longest, Some(LONGEST_LINE));
        assert_eq!(all.iter().filter(|byte| **byte != b'\n').count(), content.len() - 2);
        assert!(read(content.clone().into_bytes(), None) == content.as_bytes());
    }

    #[test]
    fn reading_ends_with_the_time() {
        let content = Box::new(Cursor::new(vec![b'x'; HEAD]));
        let mut source = Source::new(content, b"head", None, Deadline::after(Duration::ZERO));
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
