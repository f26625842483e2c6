//! The parser of events: one pass over the bytes, into one list of values. What is not plain (an escape, a fraction) is left to
//! `serde_json`, and so is saying what is wrong with a text.

use std::borrow::Cow;

use haft_text::json::find_special;
use serde::de::{Error, IgnoredAny};
use serde_json::Number;

use super::{EventNode, EventValue};

/// Values that most events have no more of.
const VALUES: usize = 16;
/// How deep values may be nested, as in `serde_json`.
const DEPTH: u8 = 127;
/// Digits of a number that surely fits.
const SAFE_DIGITS: usize = 18;

/// Parses one event.
pub(super) fn event(text: &str) -> serde_json::Result<Vec<EventNode<'_>>> {
    let mut parser = EventParser { text, at: 0, nodes: Vec::with_capacity(VALUES) };
    match parser.whole() {
        Some(()) => Ok(parser.nodes),
        None => match serde_json::from_str::<IgnoredAny>(text) {
            Err(error) => Err(error),
            Ok(_) => Err(Error::custom("a string or a number that cannot be read")),
        },
    }
}

/// What servers say with every event about the whole answer, or only to make its size unknown.
fn is_needless(field: &str) -> bool {
    matches!(
        field,
        "id" | "object"
            | "created"
            | "model"
            | "service_tier"
            | "system_fingerprint"
            | "obfuscation"
            | "modelVersion"
            | "responseId"
            | "logprobs"
    )
}

/// The field of an event with the counts of tokens, which one protocol sends each time.
const COUNTS: &str = "usageMetadata";

/// Counts that are sums of others.
fn is_count_of_parts(field: &str) -> bool {
    field.ends_with("TokensDetails")
}

/// `None` of any step: this is not JSON.
struct EventParser<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<EventNode<'a>>,
}

impl<'a> EventParser<'a> {
    fn whole(&mut self) -> Option<()> {
        self.blanks();
        if self.peek() == Some(b'{') {
            self.object(Cow::Borrowed(""), DEPTH, is_needless)?;
        } else {
            self.value(Cow::Borrowed(""), DEPTH)?;
        }
        self.blanks();
        (self.at == self.text.len()).then_some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The next byte that is no blank must be this one.
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn push(&mut self, name: Cow<'a, str>, value: EventValue<'a>) -> usize {
        self.nodes.push(EventNode { name, value, length: 1 });
        self.nodes.len() - 1
    }

    /// A value; blanks before it are passed over.
    fn value(&mut self, name: Cow<'a, str>, depth: u8) -> Option<()> {
        self.blanks();
        let value = match self.peek()? {
            b'{' => return self.object(name, depth, |_| false),
            b'[' => return self.list(name, depth),
            b'"' => EventValue::Text(self.string()?),
            b't' => self.word("true", EventValue::Bool(true))?,
            b'f' => self.word("false", EventValue::Bool(false))?,
            b'n' => self.word("null", EventValue::Null)?,
            _ => EventValue::Number(self.number()?),
        };
        self.push(name, value);
        Some(())
    }

    fn word(&mut self, word: &str, value: EventValue<'a>) -> Option<EventValue<'a>> {
        let is_it = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        is_it.then(|| {
            self.at += word.len();
            value
        })
    }

    /// After the first byte of a list or an object: whether it ends here.
    fn is_end(&mut self, end: u8) -> bool {
        self.blanks();
        let is_end = self.peek() == Some(end);
        self.at += usize::from(is_end);
        is_end
    }

    /// Whether this byte is the next that is no blank.
    fn is_next(&mut self, byte: u8) -> bool {
        self.blanks();
        self.peek() == Some(byte)
    }

    /// After a value: whether another one follows.
    fn is_more(&mut self, end: u8) -> Option<bool> {
        self.blanks();
        let byte = self.peek()?;
        self.at += 1;
        if byte == b',' { Some(true) } else { (byte == end).then_some(false) }
    }

    fn object(&mut self, name: Cow<'a, str>, depth: u8, skip: fn(&str) -> bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let node = self.push(name, EventValue::Object);
        let mut more = !self.is_end(b'}');
        while more {
            self.blanks();
            let field = if self.peek()? == b'"' { self.string()? } else { return None };
            self.expect(b':')?;
            if skip(&field) {
                self.pass_over(depth)?;
            } else if depth == DEPTH - 1 && field == COUNTS && self.is_next(b'{') {
                self.object(field, depth, is_count_of_parts)?;
            } else {
                self.value(field, depth)?;
            }
            more = self.is_more(b'}')?;
        }
        self.nodes[node].length = self.nodes.len() - node;
        Some(())
    }

    fn list(&mut self, name: Cow<'a, str>, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let node = self.push(name, EventValue::List);
        let mut more = !self.is_end(b']');
        while more {
            self.value(Cow::Borrowed(""), depth)?;
            more = self.is_more(b']')?;
        }
        self.nodes[node].length = self.nodes.len() - node;
        Some(())
    }

    /// A value that nobody needs: most are strings and numbers, others are taken back after they were read.
    fn pass_over(&mut self, depth: u8) -> Option<()> {
        self.blanks();
        if self.peek()? == b'"' {
            let (quoted, is_escaped) = self.raw_string()?;
            return if is_escaped { serde_json::from_str::<IgnoredAny>(quoted).ok().map(drop) } else { Some(()) };
        }
        let nodes = self.nodes.len();
        self.value(Cow::Borrowed(""), depth)?;
        self.nodes.truncate(nodes);
        Some(())
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        match self.raw_string()? {
            (quoted, false) => Some(Cow::Borrowed(&quoted[1..quoted.len() - 1])),
            (quoted, true) => serde_json::from_str(quoted).ok().map(Cow::Owned),
        }
    }

    /// A string with its quotes, and whether it has escapes, which are not checked.
    fn raw_string(&mut self) -> Option<(&'a str, bool)> {
        let bytes = self.text.as_bytes();
        let (start, mut escaped) = (self.at, false);
        self.at += 1;
        loop {
            self.at += find_special(&bytes[self.at..])? + 1;
            match bytes[self.at - 1] {
                b'"' => return Some((&self.text[start..self.at], escaped)),
                b'\\' => (self.at, escaped) = (self.at + 1, true),
                _ => return None,
            }
            if self.at > bytes.len() {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<Number> {
        let bytes = &self.text.as_bytes()[self.at..];
        let (mut value, mut digits) = (0_u64, 0);
        while let Some(digit) = bytes.get(digits).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10 && digits < SAFE_DIGITS) {
            value = value * 10 + u64::from(digit);
            digits += 1;
        }
        let is_longer = bytes.get(digits).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        if digits > 0 && !is_longer && (bytes[0] != b'0' || digits == 1) {
            self.at += digits;
            return Some(Number::from(value));
        }
        let length = bytes.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).unwrap_or(bytes.len());
        let text = &self.text[self.at..self.at + length];
        self.at += length;
        serde_json::from_str(text).ok()
    }
}
