//! Fields, lists and block text, by their indentation.

use super::scalar::{self, Plain};
use super::{FrontMatterError, FrontMatterField, FrontMatterValue};

/// Deeper nesting is refused.
const MAX_DEPTH: usize = 12;

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    indent: usize,
    /// Without indentation and without blanks at its end.
    text: &'a str,
    /// The whole line, for block text.
    raw: &'a str,
}

impl Line<'_> {
    fn is_blank(&self) -> bool {
        self.text.is_empty()
    }
    fn is_comment(&self) -> bool {
        self.text.starts_with('#')
    }
    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }
}

/// The fields of a front matter whose first line has this number.
pub(super) fn parse(head: &str, first_line: usize) -> Result<Vec<FrontMatterField>, FrontMatterError> {
    let lines = head.lines().enumerate().map(|(index, raw)| line(first_line + index, raw)).collect::<Result<Vec<_>, _>>()?;
    let mut reader = BlockReader { lines, at: 0 };
    reader.skip_empty();
    let fields = match reader.peek() {
        None => Vec::new(),
        Some(first) => reader.fields(first.indent, 0)?,
    };
    match reader.peek() {
        None => Ok(fields),
        Some(line) => Err(FrontMatterError::new(line.number, "a field was expected here: write 'key: value' without indentation")),
    }
}

fn line(number: usize, raw: &str) -> Result<Line<'_>, FrontMatterError> {
    let unindented = raw.trim_start_matches(' ');
    if unindented.starts_with('\t') && !unindented.trim().is_empty() {
        return Err(FrontMatterError::new(number, "the indentation has a tab: use blanks"));
    }
    Ok(Line { number, indent: raw.len() - unindented.len(), text: unindented.trim_end(), raw })
}

struct BlockReader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
}

impl<'a> BlockReader<'a> {
    fn peek(&self) -> Option<Line<'a>> {
        self.lines.get(self.at).copied()
    }

    fn skip_empty(&mut self) {
        while self.peek().is_some_and(|line| line.is_blank() || line.is_comment()) {
            self.at += 1;
        }
    }

    fn fields(&mut self, indent: usize, depth: usize) -> Result<Vec<FrontMatterField>, FrontMatterError> {
        let mut fields: Vec<FrontMatterField> = Vec::new();
        loop {
            self.skip_empty();
            let Some(line) = self.peek().filter(|line| line.indent == indent && !line.is_item()) else { break };
            let Some((key, rest)) = key_of(line.text) else {
                return Err(FrontMatterError::new(line.number, "this is not 'key: value': indent it if it continues the line above"));
            };
            if fields.iter().any(|field| field.key == key) {
                return Err(FrontMatterError::new(line.number, format!("'{key}' is there twice: remove one")));
            }
            self.at += 1;
            let value = self.value(rest, line, depth)?;
            fields.push(FrontMatterField { key: key.to_owned(), value, line: line.number });
        }
        Ok(fields)
    }

    /// The value whose text on the line of its key is `rest`.
    fn value(&mut self, rest: &'a str, owner: Line<'a>, depth: usize) -> Result<FrontMatterValue, FrontMatterError> {
        if rest.starts_with(['|', '>']) {
            return self.block_text(rest, owner).map(FrontMatterValue::Text);
        }
        if rest.is_empty() || rest.starts_with('#') {
            return self.nested(owner, depth);
        }
        self.scalar(rest, owner)
    }

    fn nested(&mut self, owner: Line<'a>, depth: usize) -> Result<FrontMatterValue, FrontMatterError> {
        if depth >= MAX_DEPTH {
            return Err(FrontMatterError::new(owner.number, format!("more than {MAX_DEPTH} levels: write it flatter")));
        }
        self.skip_empty();
        match self.peek() {
            // A list may stand below its key without indentation.
            Some(line) if line.is_item() && line.indent >= owner.indent => self.list(line.indent, depth),
            Some(line) if line.indent > owner.indent && key_of(line.text).is_some() => {
                self.fields(line.indent, depth + 1).map(FrontMatterValue::Fields)
            }
            Some(line) if line.indent > owner.indent => {
                self.at += 1;
                self.scalar(line.text, owner)
            }
            _ => Ok(FrontMatterValue::Text(String::new())),
        }
    }

    fn list(&mut self, indent: usize, depth: usize) -> Result<FrontMatterValue, FrontMatterError> {
        let mut values = Vec::new();
        loop {
            self.skip_empty();
            let Some(line) = self.peek().filter(|line| line.indent == indent && line.is_item()) else { break };
            let content = line.text[1..].trim_start();
            if content.is_empty() {
                self.at += 1;
                values.push(self.nested(Line { indent, ..line }, depth + 1)?);
            } else if key_of(content).is_some() && !content.starts_with(['"', '\'', '[']) {
                // Fields of an item: its first one stands on the line of the hyphen.
                let inner = indent + line.text.len() - content.len();
                self.lines[self.at] = Line { indent: inner, text: content, ..line };
                values.push(FrontMatterValue::Fields(self.fields(inner, depth + 1)?));
            } else {
                self.at += 1;
                values.push(self.value(content, line, depth + 1)?);
            }
        }
        Ok(FrontMatterValue::List(values))
    }

    /// Text that starts with `rest` and continues on lines that are indented further than their key.
    fn scalar(&mut self, rest: &str, owner: Line<'a>) -> Result<FrontMatterValue, FrontMatterError> {
        let mut plain = Plain::start(rest, owner.number)?;
        while let Some(line) = self.peek() {
            let continues = line.is_blank() || line.indent > owner.indent;
            if plain.is_complete() || !continues {
                break;
            }
            self.at += 1;
            plain.push(line.text);
        }
        plain.finish()
    }

    /// `|` keeps lines, `>` joins them; `-` drops the line end at the end, `+` keeps all of them.
    fn block_text(&mut self, header: &str, owner: Line<'a>) -> Result<String, FrontMatterError> {
        let (folds, keeps_end) = scalar::block_header(header, owner.number)?;
        let start = self.at;
        while self.peek().is_some_and(|line| line.is_blank() || line.indent > owner.indent) {
            self.at += 1;
        }
        let lines = &self.lines[start..self.at];
        let indent = lines.iter().filter(|line| !line.is_blank()).map(|line| line.indent).min().unwrap_or(0);
        let lines: Vec<&str> = lines.iter().map(|line| line.raw.get(indent..).unwrap_or("").trim_end_matches('\r')).collect();
        Ok(scalar::block_text(&lines, folds, keeps_end))
    }
}

/// The key of a line `key: value`, and the value. A key is one word.
fn key_of(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = match text.strip_prefix(['"', '\'']) {
        Some(quoted) => {
            let quote = text.chars().next()?;
            let (key, rest) = quoted.split_once(quote)?;
            (key, rest.strip_prefix(':')?)
        }
        None => text.split_once(':')?,
    };
    let is_word = !key.is_empty() && key.chars().all(|ch| ch.is_alphanumeric() || "_-.".contains(ch));
    let separated = rest.is_empty() || rest.starts_with([' ', '\t']);
    (is_word && separated).then(|| (key, rest.trim()))
}
