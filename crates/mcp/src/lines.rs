//! Lines of bounded length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineRead {
    /// A whole line, without its end.
    Line,
    /// A line that is too long; it is skipped.
    TooLong,
    /// The end of the input. A last line without an end is none.
    End,
}

/// Reads lines and keeps no more than one bounded line in memory.
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    reader: R,
    line: Vec<u8>,
    longest: usize,
    /// Whether the rest of a line that is too long is skipped. A read may be cancelled in the middle of that.
    skips: bool,
    /// Whether the line was handed out.
    is_complete: bool,
}

impl<R: AsyncRead + Unpin> BoundedLines<BufReader<R>> {
    /// Whether the end of a line is in memory already.
    pub(crate) fn has_next(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }
}

impl<R: AsyncBufRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(reader: R, longest: usize) -> Self {
        Self { reader, line: Vec::new(), longest, skips: false, is_complete: false }
    }

    /// The line that was read last.
    pub(crate) fn line(&self) -> &[u8] {
        self.line.strip_suffix(b"\r").unwrap_or(&self.line)
    }

    /// Reads the next line. Dropping the future loses nothing.
    pub(crate) async fn read(&mut self) -> io::Result<LineRead> {
        if std::mem::take(&mut self.is_complete) {
            self.line.clear();
            // One large message must not hold its memory for ever.
            self.line.shrink_to(64 * 1024);
        }
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(LineRead::End);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let is_too_long = !self.skips && self.line.len() + part.len() > self.longest;
            if is_too_long {
                self.line = Vec::new();
            } else if !self.skips {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            let skipped = self.skips;
            self.skips = end.is_none() && (skipped || is_too_long);
            if is_too_long {
                return Ok(LineRead::TooLong);
            }
            if end.is_some() && !skipped {
                self.is_complete = true;
                return Ok(LineRead::Line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8], longest: usize, buffer: usize) -> Vec<Option<String>> {
        let mut reader = BoundedLines::new(BufReader::with_capacity(buffer, input), longest);
        let mut read = Vec::new();
        loop {
            match reader.read().await.unwrap() {
                LineRead::Line => read.push(Some(String::from_utf8(reader.line().to_vec()).unwrap())),
                LineRead::TooLong => read.push(None),
                LineRead::End => return read,
            }
        }
    }

    #[tokio::test]
    async fn lines_are_whole_whatever_the_buffer() {
        for buffer in [1, 2, 3, 7, 1024] {
            let line = |text: &str| Some(text.to_owned());
            assert_eq!(all(b"ab\r\n\ncd\nno end", 10, buffer).await, [line("ab"), line(""), line("cd")], "{buffer}");
            assert_eq!(all(b"abc\nabcd\nabcdefgh\nab\n", 3, buffer).await, [line("abc"), None, None, line("ab")], "{buffer}");
        }
    }

    #[tokio::test]
    async fn long_line_is_skipped_and_never_kept() {
        let input = [vec![b'x'; 8 << 20], b"\nok\n".to_vec()].concat();
        let mut reader = BoundedLines::new(BufReader::new(&input[..]), 1024);
        assert_eq!(reader.read().await.unwrap(), LineRead::TooLong);
        assert_eq!(reader.read().await.unwrap(), LineRead::Line);
        assert_eq!(reader.line(), b"ok");
        assert!(reader.line.capacity() <= 1024, "{}", reader.line.capacity());
    }
}
