//! Server-sent events as the HTML standard has them, read from pieces of any size. An event that lies in one piece is handed
//! out where it lies, without a copy.

use std::borrow::Cow;
use std::mem;

#[cfg(test)]
mod tests;

/// How large one event may be, and one line of it.
pub const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An event is larger than any honest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is larger than {limit} bytes")]
pub struct TooLarge {
    /// The limit that it passed.
    pub limit: usize,
}

/// Finds the events in a stream of bytes. Bytes that are no UTF-8 become U+FFFD; comments, ids, times to reconnect after and
/// unknown fields are passed over.
#[derive(Debug)]
pub struct Events {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    name: String,
    /// Lines of data that could not be left where they were, joined.
    data: String,
    /// How many lines of data the event has so far, and their bytes.
    lines: usize,
    size: usize,
    at_start: bool,
    after_return: bool,
}

enum Field<'a> {
    Data(&'a [u8]),
    Name(&'a [u8]),
    Blank,
    Ignored,
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}

impl Events {
    /// At the beginning of a stream.
    pub fn new() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }

    pub(crate) fn with_limit(limit: usize) -> Self {
        let (line, name, data) = (Vec::new(), String::new(), String::new());
        Self { limit, line, name, data, lines: 0, size: 0, at_start: true, after_return: false }
    }

    /// Takes the next bytes and hands out every event that they complete: its name, empty where it has none, and its data.
    /// After an error, of the stream's or of `each`'s own, it cannot go on.
    pub fn feed<E: From<TooLarge>>(&mut self, bytes: &[u8], mut each: impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
        let mut rest = self.past_split_break(bytes);
        // The first line of an event's data: most events have only this one, and it need not be copied.
        let mut first: Option<&[u8]> = None;
        while let Some(end) = line_end(rest) {
            let line = &rest[..end];
            rest = self.past_break(rest, end);
            if self.line.is_empty() {
                match self.field(line)? {
                    Field::Data(value) if self.lines == 1 => first = Some(value),
                    Field::Data(value) => self.join(first.take(), value),
                    Field::Blank => self.dispatch(first.take(), &mut each)?,
                    Field::Name(_) | Field::Ignored => {}
                }
            } else {
                self.complete_line(line)?;
            }
        }
        self.keep(rest, first)?;
        Ok(())
    }

    /// The stream has ended. Says whether it did so inside an event; such an event is dropped, as the standard has it.
    pub fn finish(self) -> bool {
        self.lines > 0 || !self.name.is_empty() || !(self.line.is_empty() || self.line.starts_with(b":"))
    }

    /// A line break of two bytes may come in two pieces.
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

    /// Reads a line, and keeps what it says of the event: its name, and how much data it has.
    fn field<'a>(&mut self, mut line: &'a [u8]) -> Result<Field<'a>, TooLarge> {
        self.check(line.len())?;
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let field = parse(line);
        match field {
            Field::Data(value) => {
                self.lines += 1;
                self.size += value.len() + 1;
                self.check(self.size - 1)?;
            }
            Field::Name(name) => {
                self.name.clear();
                self.name.push_str(&text(name));
            }
            Field::Blank | Field::Ignored => {}
        }
        Ok(field)
    }

    /// A line that began in an earlier piece: the first of this one. As it is not empty, it ends no event.
    fn complete_line(&mut self, end: &[u8]) -> Result<(), TooLarge> {
        let mut line = mem::take(&mut self.line);
        line.extend_from_slice(end);
        if let Field::Data(value) = self.field(&line)? {
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

    fn keep(&mut self, rest: &[u8], first: Option<&[u8]>) -> Result<(), TooLarge> {
        if let Some(first) = first {
            self.data.push_str(&text(first));
        }
        self.line.extend_from_slice(rest);
        self.check(self.line.len())
    }

    fn check(&self, size: usize) -> Result<(), TooLarge> {
        if size > self.limit { Err(TooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

fn parse(line: &[u8]) -> Field<'_> {
    if let Some(value) = line.strip_prefix(b"data:") {
        return Field::Data(past_space(value));
    }
    if let Some(value) = line.strip_prefix(b"event:") {
        return Field::Name(past_space(value));
    }
    match line {
        b"" => Field::Blank,
        b"data" => Field::Data(b""),
        b"event" => Field::Name(b""),
        _ => Field::Ignored,
    }
}

fn past_space(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

/// A sequence that a line break cuts is broken in the stream as well, so lines can be decoded one by one. What is UTF-8 is
/// seen as such at many times the speed at which what is not is replaced.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Where the first line break stands. Whole blocks are looked at without a branch for each byte, which compiles to vector
/// instructions; only the block that has one is searched.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<32>();
    let without = blocks.iter().take_while(|block| block.iter().fold(0, |found, byte| found | line_break(*byte)) == 0);
    let start = without.count() * 32;
    bytes[start..].iter().position(|byte| line_break(*byte) == 1).map(|at| start + at)
}

fn line_break(byte: u8) -> u8 {
    u8::from(byte == b'\n') | u8::from(byte == b'\r')
}
