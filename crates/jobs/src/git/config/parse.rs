//! The grammar of Git's configuration files, as `config.c` of Git reads it.

use std::ops::Range;

use super::Key;

/// The section in lower case, and the subsection.
pub(crate) type SectionName = (String, Option<Vec<u8>>);

/// A section header, and where it is in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: SectionName,
    pub(crate) span: Range<usize>,
}

/// An entry, and where it is in the text, without the end of its last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    /// The last part of its name as it was written.
    pub(crate) written: String,
    /// `None` if it has no `=`, which means true.
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) span: Range<usize>,
    /// The index of its section; `None` before the first.
    pub(crate) section: Option<usize>,
}

/// A file as its sections and entries, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    pub(crate) sections: Vec<Section>,
    pub(crate) entries: Vec<Entry>,
}

/// Reads a file; `None` where Git would report an error, and for a text with NUL bytes.
pub(crate) fn parse(text: &[u8]) -> Option<ConfigFile> {
    if text.contains(&0) {
        return None;
    }
    let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    Parser { text, at: start, file: ConfigFile::default(), base: Vec::new() }.run()
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    file: ConfigFile,
    /// What precedes the names of entries: `remote.origin.`.
    base: Vec<u8>,
}

impl Parser<'_> {
    fn run(mut self) -> Option<ConfigFile> {
        let mut is_comment = false;
        while self.at < self.text.len() {
            let start = self.at;
            match self.next() {
                b'\n' => is_comment = false,
                ch if is_comment || is_space(ch) => {}
                b'#' | b';' => is_comment = true,
                b'[' => self.section(start)?,
                ch if ch.is_ascii_alphabetic() => self.entry(start, ch)?,
                _ => return None,
            }
        }
        Some(self.file)
    }

    /// The next byte; a CR before an LF is passed over, and the end of the text is the end of a line.
    fn next(&mut self) -> u8 {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (ch, length) = match rest {
            [] => (b'\n', 0),
            [b'\r', b'\n', ..] => (b'\n', 2),
            [ch, ..] => (*ch, 1),
        };
        self.at += length;
        ch
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    fn section(&mut self, start: usize) -> Option<()> {
        self.base.clear();
        loop {
            if self.is_at_end() {
                return None;
            }
            match self.next() {
                b']' => break,
                ch if is_space(ch) => {
                    self.subsection(ch)?;
                    break;
                }
                ch if is_key_char(ch) || ch == b'.' => self.base.push(ch.to_ascii_lowercase()),
                _ => return None,
            }
        }
        if self.base.is_empty() {
            return None;
        }
        let name = split_section(&self.base)?;
        self.base.push(b'.');
        self.file.sections.push(Section { name, span: start..self.at });
        Some(())
    }

    /// The quoted part of `[remote "origin"]`.
    fn subsection(&mut self, mut ch: u8) -> Option<()> {
        while is_space(ch) {
            if ch == b'\n' {
                return None;
            }
            ch = self.next();
        }
        if ch != b'"' {
            return None;
        }
        self.base.push(b'.');
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    ch => self.base.push(ch),
                },
                ch => self.base.push(ch),
            }
        }
        (self.next() == b']').then_some(())
    }

    fn entry(&mut self, start: usize, first: u8) -> Option<()> {
        let mut name = vec![first];
        let mut ch = self.next();
        while is_key_char(ch) {
            name.push(ch);
            ch = self.next();
        }
        while ch == b' ' || ch == b'\t' {
            ch = self.next();
        }
        let value = match ch {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return None,
        };
        let end = self.end_of_line();
        let written = String::from_utf8(name).ok()?;
        let key = split_key(&self.base, &written)?;
        self.file.entries.push(Entry { key, written, value, span: start..end, section: self.file.sections.len().checked_sub(1) });
        Some(())
    }

    /// Where the line that was just read ends, without its line break.
    fn end_of_line(&self) -> usize {
        let line = &self.text[..self.at];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line).len()
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut is_quoted, mut is_comment, mut trimmed) = (Vec::new(), false, false, None);
        loop {
            match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => {
                    value.truncate(trimmed.unwrap_or(value.len()));
                    return Some(value);
                }
                _ if is_comment => {}
                ch if is_space(ch) && !is_quoted => {
                    trimmed.get_or_insert(value.len());
                    if !value.is_empty() {
                        value.push(ch);
                    }
                }
                b';' | b'#' if !is_quoted => is_comment = true,
                ch => {
                    trimmed = None;
                    match ch {
                        b'\\' => self.escape(&mut value)?,
                        b'"' => is_quoted = !is_quoted,
                        ch => value.push(ch),
                    }
                }
            }
        }
    }

    fn escape(&mut self, value: &mut Vec<u8>) -> Option<()> {
        let is_last = self.is_at_end();
        match self.next() {
            // A text that ends in a continued line would continue in what is added to it.
            b'\n' if is_last => return None,
            b'\n' => {}
            b't' => value.push(b'\t'),
            b'b' => value.push(8),
            b'n' => value.push(b'\n'),
            ch @ (b'\\' | b'"') => value.push(ch),
            _ => return None,
        }
        Some(())
    }
}

fn split_section(base: &[u8]) -> Option<SectionName> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_ascii_lowercase()).ok();
    match base.iter().position(|byte| *byte == b'.') {
        Some(dot) => Some((text(&base[..dot])?, Some(base[dot + 1..].to_vec()))),
        None => Some((text(base)?, None)),
    }
}

fn split_key(base: &[u8], name: &str) -> Option<Key> {
    let (section, subsection) = split_section(base.strip_suffix(b".").unwrap_or(base))?;
    Some(Key { section, subsection, name: name.to_ascii_lowercase() })
}

fn is_space(ch: u8) -> bool {
    matches!(ch, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key_char(ch: u8) -> bool {
    ch.is_ascii_alphanumeric() || ch == b'-'
}
