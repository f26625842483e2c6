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

/// Which fields of an object are read; the others are passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldSelection {
    All,
    /// Of the event itself.
    Event,
    /// Of the counts of tokens that Gemini sends with each event: not those that are sums of others, or parts of them.
    Counts,
    /// Of a candidate of Gemini: not the ratings and sources of its text, which can be longer than that.
    Candidate,
    /// Of its content.
    Content,
}

impl FieldSelection {
    /// Which fields are read of the objects in a field; `None` if the field itself is not. A call of its own: most objects are read
    /// whole, and the loop over their fields is faster without this in it.
    #[inline(never)]
    fn within(self, field: &str) -> Option<Self> {
        let is_read = match self {
            Self::All => true,
            Self::Event => !is_needless(field),
            Self::Counts => field != "totalTokenCount" && !field.ends_with("TokensDetails"),
            Self::Candidate => matches!(field, "content" | "finishReason" | "finishMessage"),
            Self::Content => field == "parts",
        };
        let within = match (self, field) {
            (Self::Event, "usageMetadata") => Self::Counts,
            (Self::Event, "candidates") => Self::Candidate,
            (Self::Candidate, "content") => Self::Content,
            _ => Self::All,
        };
        is_read.then_some(within)
    }
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
            self.object(Cow::Borrowed(""), DEPTH, FieldSelection::Event)?;
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
            b'{' => return self.object(name, depth, FieldSelection::All),
            b'[' => return self.list(name, depth, FieldSelection::All),
            b'"' => EventValue::Text(self.string()?),
            b't' => self.word("true", EventValue::Bool(true))?,
            b'f' => self.word("false", EventValue::Bool(false))?,
            b'n' => self.word("null", EventValue::Null)?,
            _ => EventValue::Number(self.number()?),
        };
        self.push(name, value);
        Some(())
    }

    /// A value of which not every field is read.
    #[inline(never)]
    fn selected(&mut self, name: Cow<'a, str>, depth: u8, selection: FieldSelection) -> Option<()> {
        self.blanks();
        match self.peek()? {
            b'{' => self.object(name, depth, selection),
            b'[' => self.list(name, depth, selection),
            _ => self.value(name, depth),
        }
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

    /// After a value: whether another one follows.
    fn is_more(&mut self, end: u8) -> Option<bool> {
        self.blanks();
        let byte = self.peek()?;
        self.at += 1;
        if byte == b',' { Some(true) } else { (byte == end).then_some(false) }
    }

    fn object(&mut self, name: Cow<'a, str>, depth: u8, selection: FieldSelection) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let node = self.push(name, EventValue::Object);
        let mut more = !self.is_end(b'}');
        while more {
            self.blanks();
            let field = if self.peek()? == b'"' { self.string()? } else { return None };
            self.expect(b':')?;
            let within = if selection == FieldSelection::All { Some(selection) } else { selection.within(&field) };
            match within {
                Some(FieldSelection::All) => self.value(field, depth)?,
                Some(selection) => self.selected(field, depth, selection)?,
                None => self.pass_over(depth)?,
            }
            more = self.is_more(b'}')?;
        }
        self.nodes[node].length = self.nodes.len() - node;
        Some(())
    }

    fn list(&mut self, name: Cow<'a, str>, depth: u8, selection: FieldSelection) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let node = self.push(name, EventValue::List);
        let mut more = !self.is_end(b']');
        while more {
            match selection {
                FieldSelection::All => self.value(Cow::Borrowed(""), depth)?,
                selection => self.selected(Cow::Borrowed(""), depth, selection)?,
            }
            more = self.is_more(b']')?;
        }
        self.nodes[node].length = self.nodes.len() - node;
        Some(())
    }

    /// A value that nobody needs: it is checked, and no node is made of it.
    fn pass_over(&mut self, depth: u8) -> Option<()> {
        self.blanks();
        // Most are strings.
        if self.peek()? == b'"' { self.pass_over_string() } else { self.pass_over_other(depth) }
    }

    #[inline(never)]
    fn pass_over_other(&mut self, depth: u8) -> Option<()> {
        match self.peek()? {
            b'{' => self.pass_over_parts(depth, b'}'),
            b'[' => self.pass_over_parts(depth, b']'),
            b't' => self.word("true", EventValue::Null).map(drop),
            b'f' => self.word("false", EventValue::Null).map(drop),
            b'n' => self.word("null", EventValue::Null).map(drop),
            _ => self.number().map(drop),
        }
    }

    /// A list or an object that nobody needs, up to this end.
    fn pass_over_parts(&mut self, depth: u8, end: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let mut more = !self.is_end(end);
        while more {
            if end == b'}' {
                self.blanks();
                (self.peek()? == b'"').then(|| self.pass_over_string())??;
                self.expect(b':')?;
            }
            self.pass_over(depth)?;
            more = self.is_more(end)?;
        }
        Some(())
    }

    fn pass_over_string(&mut self) -> Option<()> {
        let start = self.at;
        let is_escaped = self.skip_string()?;
        if is_escaped { serde_json::from_str::<IgnoredAny>(&self.text[start..self.at]).ok().map(drop) } else { Some(()) }
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at;
        let is_escaped = self.skip_string()?;
        if is_escaped {
            serde_json::from_str(&self.text[start..self.at]).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(&self.text[start + 1..self.at - 1]))
        }
    }

    /// Goes to the end of a string; whether it has escapes, which are not checked. A part of the text is made of it only where it is read:
    /// each looks whether its ends are whole characters, and an event has twenty strings.
    fn skip_string(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        self.at += 1;
        loop {
            self.at += find_special(&bytes[self.at..])? + 1;
            match bytes[self.at - 1] {
                b'"' => return Some(escaped),
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
