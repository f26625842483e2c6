//! Text of one value: plain, quoted, in brackets or braces, and block text.

use super::{FrontMatterError, FrontMatterValue};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ScalarStyle {
    Plain,
    Quoted(char),
    Brackets,
    Braces,
}

/// Text that is collected line by line until it is complete.
pub(super) struct Plain {
    style: ScalarStyle,
    text: String,
    blank_lines: usize,
    line: usize,
}

impl Plain {
    pub(super) fn start(first: &str, line: usize) -> Result<Self, FrontMatterError> {
        let style = match first.chars().next() {
            Some(quote @ ('"' | '\'')) => ScalarStyle::Quoted(quote),
            Some('[') => ScalarStyle::Brackets,
            Some('{') => ScalarStyle::Braces,
            Some(ch @ ('&' | '!' | '%' | '@' | '`')) => {
                return Err(FrontMatterError::new(line, format!("a value must not start with {ch}: put it in quotation marks")));
            }
            Some('*') if first.len() > 1 && !first.starts_with("**") => {
                return Err(FrontMatterError::new(line, "a value must not start with *: put it in quotation marks"));
            }
            _ => ScalarStyle::Plain,
        };
        let first = if style == ScalarStyle::Plain { without_comment(first) } else { first };
        Ok(Self { style, text: first.to_owned(), blank_lines: 0, line })
    }

    /// Whether no further line belongs to it. Plain text has no end of its own.
    pub(super) fn is_complete(&self) -> bool {
        match self.style {
            ScalarStyle::Plain => false,
            ScalarStyle::Quoted(quote) => end_of_quoted(&self.text, quote).is_some(),
            ScalarStyle::Brackets => is_balanced(&self.text, '[', ']'),
            ScalarStyle::Braces => is_balanced(&self.text, '{', '}'),
        }
    }

    /// Adds a line. A line end becomes a blank, and an empty line a line end.
    pub(super) fn push(&mut self, line: &str) {
        if line.is_empty() {
            self.blank_lines += 1;
            return;
        }
        let line = if self.style == ScalarStyle::Plain { without_comment(line) } else { line };
        match self.blank_lines {
            0 => self.text.push(' '),
            lines => self.text.extend(std::iter::repeat_n('\n', lines)),
        }
        self.blank_lines = 0;
        self.text.push_str(line);
    }

    pub(super) fn finish(self) -> Result<FrontMatterValue, FrontMatterError> {
        let unclosed = |what: &str| FrontMatterError::new(self.line, format!("the value has no closing {what}"));
        match self.style {
            ScalarStyle::Plain => Ok(FrontMatterValue::Text(self.text)),
            ScalarStyle::Quoted(quote) => {
                let end = end_of_quoted(&self.text, quote).ok_or_else(|| unclosed(&quote.to_string()))?;
                if !without_comment(&self.text[end + 1..]).trim().is_empty() {
                    return Err(FrontMatterError::new(
                        self.line,
                        format!("there is text after the closing {quote}: remove it, or quote it, too"),
                    ));
                }
                unquoted(&self.text[1..end], quote, self.line).map(FrontMatterValue::Text)
            }
            ScalarStyle::Brackets if !is_balanced(&self.text, '[', ']') => Err(unclosed("]")),
            ScalarStyle::Brackets => bracketed(&self.text, self.line),
            ScalarStyle::Braces if !is_balanced(&self.text, '{', '}') => Err(unclosed("}")),
            ScalarStyle::Braces => Ok(FrontMatterValue::Braces(self.text)),
        }
    }
}

/// The text before ` #`, where a comment starts.
fn without_comment(text: &str) -> &str {
    if text.starts_with('#') {
        return "";
    }
    text.find(" #").map_or(text, |at| &text[..at]).trim_end()
}

/// The byte at which the closing quotation mark stands.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, ch)) = characters.next() {
        match ch {
            '\\' if quote == '"' => {
                characters.next();
            }
            // Two single ones are one that belongs to the text.
            '\'' if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
            }
            ch if ch == quote => return Some(at),
            _ => {}
        }
    }
    None
}

fn unquoted(inner: &str, quote: char, line: usize) -> Result<String, FrontMatterError> {
    if quote == '\'' {
        return Ok(inner.replace("''", "'"));
    }
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(ch) = characters.next() {
        if ch != '\\' {
            text.push(ch);
            continue;
        }
        let escaped = characters.next().unwrap_or('\\');
        text.push(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            '"' | '\\' | '/' | ' ' => escaped,
            'x' => code_point(&mut characters, 2, line)?,
            'u' => code_point(&mut characters, 4, line)?,
            'U' => code_point(&mut characters, 8, line)?,
            other => return Err(FrontMatterError::new(line, format!("\\{other} is no escape: write \\\\{other}, or use ' instead of \""))),
        });
    }
    Ok(text)
}

fn code_point(characters: &mut std::str::Chars<'_>, digits: usize, line: usize) -> Result<char, FrontMatterError> {
    let hex: String = characters.take(digits).collect();
    let parsed = if hex.len() == digits { u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) } else { None };
    parsed.ok_or_else(|| FrontMatterError::new(line, format!("'{hex}' is no character: write {digits} hexadecimal digits")))
}

/// Whether every bracket outside quotation marks is closed.
fn is_balanced(text: &str, open: char, close: char) -> bool {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for ch in text.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some('"') if ch == '\\' => escaped = true,
            Some(current) if ch == current => quote = None,
            None if ch == '"' || ch == '\'' => quote = Some(ch),
            None if ch == open => depth += 1,
            None if ch == close => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth == 0 && quote.is_none()
}

/// The entries of `[one, "two, three"]`.
fn bracketed(text: &str, line: usize) -> Result<FrontMatterValue, FrontMatterError> {
    let end = text.rfind(']').unwrap_or(text.len());
    if !without_comment(&text[(end + 1).min(text.len())..]).trim().is_empty() {
        return Err(FrontMatterError::new(line, "there is text after the closing ]: remove it, or put the value in quotation marks"));
    }
    let entries = split_outside(&text[1..end], |ch| ch == ',');
    let values = entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty()).map(|entry| {
        match Plain::start(entry, line)? {
            plain if plain.style == ScalarStyle::Plain => Ok(FrontMatterValue::Text(entry.to_owned())),
            quoted if matches!(quoted.style, ScalarStyle::Quoted(_)) => quoted.finish(),
            // Not parsed further: brackets in brackets would be as deep as a file likes.
            _ => Ok(FrontMatterValue::Braces(entry.to_owned())),
        }
    });
    values.collect::<Result<_, _>>().map(FrontMatterValue::List)
}

/// The entries of text in which commas and blanks separate, but not in parentheses or quotation marks.
pub(super) fn split_entries(text: &str) -> Vec<String> {
    let entries = split_outside(text, |ch| ch == ',' || ch.is_whitespace());
    entries.into_iter().map(|entry| entry.trim().trim_matches(['"', '\'']).to_owned()).filter(|entry| !entry.is_empty()).collect()
}

fn split_outside(text: &str, separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut entries = vec![String::new()];
    let (mut depth, mut quote) = (0_usize, None);
    for ch in text.chars() {
        match (quote, ch) {
            (Some(current), _) if ch == current => quote = None,
            (None, '"' | '\'') => quote = Some(ch),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if quote.is_none() && depth == 0 && separates(ch) {
            entries.push(String::new());
        } else if let Some(entry) = entries.last_mut() {
            entry.push(ch);
        }
    }
    entries
}

/// Whether lines are joined, and whether the last line end stays.
pub(super) fn block_header(header: &str, line: usize) -> Result<(bool, bool), FrontMatterError> {
    let header = without_comment(header);
    let folds = header.starts_with('>');
    let rest = header[1..].trim_matches(|ch: char| ch.is_ascii_digit());
    match rest {
        "" | "+" => Ok((folds, true)),
        "-" => Ok((folds, false)),
        _ => Err(FrontMatterError::new(line, "text after | or > belongs on the next line, indented")),
    }
}

pub(super) fn block_text(lines: &[&str], folds: bool, keeps_end: bool) -> String {
    let mut text = if folds { folded(lines) } else { lines.join("\n") };
    text.truncate(text.trim_end_matches(['\n', ' ', '\r']).len());
    if keeps_end && !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Joins lines with a blank; an empty line is a line end, and a line that is indented further stays on its own.
fn folded(lines: &[&str]) -> String {
    let mut text = String::new();
    let mut blank_lines = 0;
    for line in lines.iter().map(|line| line.trim_end()) {
        if line.is_empty() {
            blank_lines += 1;
            continue;
        }
        match blank_lines {
            _ if text.is_empty() => {}
            0 if line.starts_with(' ') => text.push('\n'),
            0 => text.push(' '),
            lines => text.extend(std::iter::repeat_n('\n', lines)),
        }
        blank_lines = 0;
        text.push_str(line);
    }
    text
}
