//! The attributes of a tag, parsed where they are asked for.

use std::borrow::Cow;

use memchr::memchr;

use super::entities;

/// The attributes of a tag, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Attributes<'a>(pub(super) &'a str);

impl<'a> Attributes<'a> {
    /// The value of an attribute; names without case.
    pub(crate) fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        self.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| entities::decode(value))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.iter().any(|(found, _)| found.eq_ignore_ascii_case(name))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> AttributeIter<'a> {
        AttributeIter(self.0)
    }
}

pub(super) struct AttributeIter<'a>(&'a str);

impl<'a> Iterator for AttributeIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0.trim_start_matches(|ch: char| ch.is_ascii_whitespace() || ch == '/');
        if text.is_empty() {
            return None;
        }
        let name_end = text.find(|ch: char| ch.is_ascii_whitespace() || matches!(ch, '=' | '/')).unwrap_or(text.len()).max(1);
        let name_end = text.ceil_char_boundary(name_end);
        let (name, rest) = text.split_at(name_end);
        let trimmed = rest.trim_start();
        let Some(value) = trimmed.strip_prefix('=') else {
            self.0 = rest;
            return Some((name, ""));
        };
        let (value, rest) = attribute_value(value.trim_start());
        self.0 = rest;
        Some((name, value))
    }
}

fn attribute_value(text: &str) -> (&str, &str) {
    let quote = text.bytes().next().filter(|byte| matches!(byte, b'"' | b'\''));
    let quoted = quote.and_then(|quote| Some((&text[1..], memchr(quote, &text.as_bytes()[1..])?)));
    match quoted {
        Some((text, end)) => (&text[..end], &text[end + 1..]),
        None => text.split_at(text.find(|ch: char| ch.is_ascii_whitespace()).unwrap_or(text.len())),
    }
}
