//! Parser for server-sent events of the HTML standard, from chunks of any size. An event inside one chunk is not copied.

use std::borrow::Cow;
use std::mem;

#[cfg(test)]
mod tests;

/// Largest event, and largest line.
pub const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An event exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Parses events from a stream of bytes. Invalid UTF-8 becomes U+FFFD; comments, ids, retry times and unknown fields are ignored.
#[derive(Debug)]
pub struct EventReader {
    limit: usize,
    /// Beginning of an incomplete line.
    line: Vec<u8>,
    name: String,
    /// Joined data lines that had to be copied.
    data: String,
    /// Number of data lines of the event so far, and their bytes.
    lines: usize,
    size: usize,
    at_start: bool,
    after_return: bool,
}

enum SseField<'a> {
    Data(&'a [u8]),
    Name(&'a [u8]),
    Blank,
    Ignored,
}

impl Default for EventReader {
    fn default() -> Self {
        Self::new()
    }
}

impl EventReader {
    /// At the beginning of a stream.
    pub fn new() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }

    pub(crate) fn with_limit(limit: usize) -> Self {
        let (line, name, data) = (Vec::new(), String::new(), String::new());
        Self { limit, line, name, data, lines: 0, size: 0, at_start: true, after_return: false }
    }

    /// Parses the next bytes and calls `each` for every complete event with its name, which may be empty, and its data. Cannot
    /// continue after an error.
    pub fn feed<E: From<EventTooLarge>>(&mut self, bytes: &[u8], mut each: impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
        let mut rest = self.past_split_break(bytes);
        // First data line of the event: most have only this one, and it need not be copied.
        let mut first: Option<&[u8]> = None;
        while let Some(end) = line_end(rest) {
            let line = &rest[..end];
            rest = self.past_break(rest, end);
            if self.line.is_empty() {
                match self.field(line)? {
                    SseField::Data(value) if self.lines == 1 => first = Some(value),
                    SseField::Data(value) => self.join(first.take(), value),
                    SseField::Blank => self.dispatch(first.take(), &mut each)?,
                    SseField::Name(_) | SseField::Ignored => {}
                }
            } else {
                self.complete_line(line)?;
            }
        }
        self.store_rest(rest, first)?;
        Ok(())
    }

    /// Ends the stream; whether it ended inside an event, which the standard drops.
    pub fn finish(self) -> bool {
        self.lines > 0 || !self.name.is_empty() || !(self.line.is_empty() || self.line.starts_with(b":"))
    }

    /// Skips the second byte of a line break that was split between chunks.
    fn past_split_break<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let split = mem::take(&mut self.after_return);
        match bytes {
            [b'\n', rest @ ..] if split => rest,
            [] => {
                self.after_return = split;
                bytes
            }
            _ => bytes,
        }
    }

    fn past_break<'a>(&mut self, bytes: &'a [u8], end: usize) -> &'a [u8] {
        match &bytes[end..] {
            [b'\r', b'\n', rest @ ..] => rest,
            [first, rest @ ..] => {
                self.after_return = *first == b'\r' && rest.is_empty();
                rest
            }
            [] => &[],
        }
    }

    /// Parses a line; stores the name of the event and the size of its data.
    fn field<'a>(&mut self, mut line: &'a [u8]) -> Result<SseField<'a>, EventTooLarge> {
        self.check(line.len())?;
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let field = parse(line);
        match field {
            SseField::Data(value) => {
                self.lines += 1;
                self.size += value.len() + 1;
                self.check(self.size - 1)?;
            }
            SseField::Name(name) => {
                self.name.clear();
                self.name.push_str(&text(name));
            }
            SseField::Blank | SseField::Ignored => {}
        }
        Ok(field)
    }

    /// Completes a line from an earlier chunk. It is not empty, so it ends no event.
    fn complete_line(&mut self, end: &[u8]) -> Result<(), EventTooLarge> {
        let mut line = mem::take(&mut self.line);
        line.extend_from_slice(end);
        if let SseField::Data(value) = self.field(&line)? {
            self.join(None, value);
        }
        line.clear();
        self.line = line;
        Ok(())
    }

    fn join(&mut self, first: Option<&[u8]>, value: &[u8]) {
        if let Some(first) = first {
            self.data.push_str(&text(first));
        }
        if self.lines > 1 {
            self.data.push('\n');
        }
        self.data.push_str(&text(value));
    }

    fn dispatch<E>(&mut self, first: Option<&[u8]>, each: &mut impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
        let outcome = match first {
            Some(data) => each(&self.name, &text(data)),
            None if self.lines > 0 => each(&self.name, &self.data),
            None => Ok(()),
        };
        self.name.clear();
        self.data.clear();
        (self.lines, self.size) = (0, 0);
        outcome
    }

    fn store_rest(&mut self, rest: &[u8], first: Option<&[u8]>) -> Result<(), EventTooLarge> {
        if let Some(first) = first {
            self.data.push_str(&text(first));
        }
        self.line.extend_from_slice(rest);
        self.check(self.line.len())
    }

    fn check(&self, size: usize) -> Result<(), EventTooLarge> {
        if size > self.limit { Err(EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

fn parse(line: &[u8]) -> SseField<'_> {
    if let Some(value) = line.strip_prefix(b"data:") {
        return SseField::Data(past_space(value));
    }
    if let Some(value) = line.strip_prefix(b"event:") {
        return SseField::Name(past_space(value));
    }
    match line {
        b"" => SseField::Blank,
        b"data" => SseField::Data(b""),
        b"event" => SseField::Name(b""),
        _ => SseField::Ignored,
    }
}

fn past_space(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

/// Decodes a line. A line break never splits a valid UTF-8 sequence; checking validity is much faster than lossy decoding.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Position of the first line break. Blocks are tested without a branch per byte, which compiles to vector instructions; only the
/// block that has one is searched.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<32>();
    let without = blocks.iter().take_while(|block| block.iter().fold(0, |any, byte| any | line_break(*byte)) == 0);
    let start = without.count() * 32;
    bytes[start..].iter().position(|byte| line_break(*byte) == 1).map(|at| start + at)
}

fn line_break(byte: u8) -> u8 {
    u8::from(byte == b'\n') | u8::from(byte == b'\r')
}
