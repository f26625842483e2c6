//! The front matter of a Markdown file: fields between two `---` lines, as skills, commands and agent types have them.
//!
//! A subset of YAML of our own: text (plain, quoted, block), lists and nested fields. A complete YAML parser refuses what many
//! such files contain (`description: Use when: …`, where plain text holds a colon), and other agents read them all the same.
//! Anchors, tags and several documents have no meaning here and are refused by name.

mod block;
mod scalar;
#[cfg(test)]
mod tests;

use crate::read::without_bom;

/// Longer front matter is refused: it is a description, and a reader must not be made to parse a book.
const MAX_BYTES: usize = 64 << 10;
/// The same for lines: the text of a value is looked at again with every line that it continues on.
const MAX_LINES: usize = 2000;

/// Why front matter could not be read. The message names the line of the file and what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
#[non_exhaustive]
pub struct FrontMatterError {
    /// The line of the file, from 1.
    pub line: usize,
    /// What is wrong, and what to write.
    pub message: String,
}

impl FrontMatterError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrontMatterValue {
    /// Text. Numbers and `true` are text, too: the reader of a field knows what it wants.
    Text(String),
    /// A list.
    List(Vec<FrontMatterValue>),
    /// Nested fields.
    Fields(Vec<FrontMatterField>),
    /// A value in braces (`{"key": …}`), not parsed any further.
    Braces(String),
}

/// One field and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontMatterField {
    /// The key.
    pub key: String,
    /// The value.
    pub value: FrontMatterValue,
    /// The line of the file, from 1.
    pub line: usize,
}

/// The front matter of a file and the text after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FrontMatter<'a> {
    /// The fields in their order; empty if the file has no front matter.
    pub fields: Vec<FrontMatterField>,
    /// The text after the front matter.
    pub body: &'a str,
}

impl<'a> FrontMatter<'a> {
    /// Splits a file into fields and body. A file that does not start with a `---` line is all body.
    pub fn parse(text: &'a str) -> Result<Self, FrontMatterError> {
        let (text, _) = without_bom(text);
        let Some(rest) = after_fence(text) else { return Ok(Self { fields: Vec::new(), body: text }) };
        let (head, body) = split_at_fence(rest)?;
        if head.len() > MAX_BYTES {
            let message =
                format!("the front matter has {} bytes and at most {MAX_BYTES} are read: move text below the second ---", head.len());
            return Err(FrontMatterError::new(1, message));
        }
        let lines = head.lines().count();
        if lines > MAX_LINES {
            let message = format!("the front matter has {lines} lines and at most {MAX_LINES} are read: move text below the second ---");
            return Err(FrontMatterError::new(1, message));
        }
        Ok(Self { fields: block::parse(head, 2)?, body })
    }

    /// The field of that name.
    pub fn field(&self, key: &str) -> Option<&FrontMatterField> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The text of a field, without blanks at its ends; `None` if it is missing or empty.
    pub fn text(&self, key: &str) -> Result<Option<&str>, FrontMatterError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        match &field.value {
            FrontMatterValue::Text(text) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
            _ => Err(FrontMatterError::new(field.line, format!("'{key}' must be text: put it in quotation marks"))),
        }
    }

    /// The entries of a field that is a list, or text with entries separated by commas or blanks. A separator in parentheses
    /// belongs to its entry: `Read, Bash(git status, *)` has two. `None` if the field is missing.
    pub fn entries(&self, key: &str) -> Result<Option<Vec<String>>, FrontMatterError> {
        let Some(field) = self.field(key) else { return Ok(None) };
        let wrong =
            || FrontMatterError::new(field.line, format!("'{key}' must be a list of names: write [one, two], or one per line after '- '"));
        match &field.value {
            FrontMatterValue::Text(text) => Ok(Some(scalar::split_entries(text))),
            FrontMatterValue::List(values) => {
                let texts = values.iter().map(|value| match value {
                    FrontMatterValue::Text(text) => Ok(text.trim().to_owned()),
                    _ => Err(wrong()),
                });
                texts.filter(|text| text.as_ref().map_or(true, |text| !text.is_empty())).collect::<Result<_, _>>().map(Some)
            }
            _ => Err(wrong()),
        }
    }

    /// A field that is `true` or `false`; `None` if it is missing.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, FrontMatterError> {
        match self.text(key)? {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(FrontMatterError::new(self.field(key).map_or(1, |field| field.line), format!("'{key}' must be true or false"))),
        }
    }
}

fn after_fence(text: &str) -> Option<&str> {
    let (line, rest) = text.split_once('\n')?;
    (line.trim_end() == "---").then_some(rest)
}

fn split_at_fence(rest: &str) -> Result<(&str, &str), FrontMatterError> {
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_end() == "---" {
            return Ok((&rest[..start], &rest[end..]));
        }
        start = end;
    }
    Err(FrontMatterError::new(1, "the front matter has no end: write a line --- after its last field"))
}
