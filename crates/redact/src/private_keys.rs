//! Private key blocks: the extent of each, also without its last line, or in source code.

use regex::bytes::Regex;

use super::{Secret, compiled, is_words};

/// The patterns of private key blocks.
pub(super) struct KeyPatterns {
    begin: Regex,
    end: Regex,
    line: Regex,
    header: Regex,
}

/// The extent of a key block behind its first marker.
struct KeyExtent {
    /// `None` where the marker is only mentioned.
    end: Option<usize>,
    /// Whether more text could make it longer.
    open: bool,
}

/// No key has more lines in a row that could be something else.
const DOUBTS: usize = 8;
/// Shorter base64 could be a name in code. The lines of a key are longer, but for its last.
const CERTAIN: usize = 32;

impl KeyPatterns {
    pub(super) fn compiled() -> Option<Self> {
        // The prefixes and suffixes of lines in editors, `grep`, `cat -n`, diffs, comments and string literals.
        let gutter = "(?:[^A-Za-z0-9/=]*[^A-Za-z0-9+/=])?";
        let numbers = format!("(?:[^ \t]*?[:-][0-9]+[:-])?(?:{gutter}[0-9]+[^A-Za-z0-9+/=]+)?{gutter}(?://[ \t]*)?");
        let base64 = r"(?P<key>(?:[A-Za-z0-9+/=\\]{32,}[ \t]+)*[A-Za-z0-9+/=\\]*)";
        Some(Self {
            begin: compiled("-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")?,
            end: compiled("-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")?,
            line: compiled(&format!("^{numbers}{base64}(?:[^A-Za-z0-9=(\\[{{:]*$|(?P<closed>['\"`]))"))?,
            header: compiled(&format!("^{numbers}[A-Z][A-Za-z-]*: "))?,
        })
    }

    pub(super) fn blocks(&self, bytes: &[u8], open: &mut Option<usize>) -> Vec<Secret> {
        let mut blocks = Vec::new();
        let mut markers = self.begin.find_iter(bytes).peekable();
        while let Some(marker) = markers.next() {
            let next = markers.peek().map_or(bytes.len(), regex::bytes::Match::start);
            let extent = self.extent(&bytes[marker.end()..next]);
            if let Some(length) = extent.end {
                blocks.push(Secret { name: "private_key", from: marker.start(), span: marker.start()..marker.end() + length });
            }
            *open = (extent.open && next == bytes.len()).then_some(marker.start());
        }
        blocks
    }

    /// To the last marker, where most of what lies between is a key; else as far as each line is certainly one.
    fn extent(&self, rest: &[u8]) -> KeyExtent {
        let (mut at, mut doubts, mut end, mut strange) = (0, 0, None, false);
        while at < rest.len() && doubts <= DOUBTS {
            let (length, next) = line_length(&rest[at..]);
            let line = &rest[at..at + length];
            if let Some(last) = self.end.find(line) {
                let whole = (end.is_some() && !strange) || is_mostly_key(&rest[..at + last.start()]);
                return KeyExtent { end: if whole { Some(at + last.end()) } else { end }, open: false };
            }
            match self.kind(line, end.is_some()) {
                KeyLine::Key(_) if strange => doubts = 0,
                KeyLine::Key(length) => (end, doubts) = (Some(at + length), 0),
                KeyLine::LastKey(length) if !strange => return KeyExtent { end: Some(at + length), open: false },
                KeyLine::Doubt => doubts += 1,
                KeyLine::LastKey(_) | KeyLine::Strange => (strange, doubts) = (true, doubts + 1),
            }
            at += next;
        }
        KeyExtent { end, open: doubts <= DOUBTS }
    }

    fn kind(&self, line: &[u8], certain: bool) -> KeyLine {
        let Some((found, key)) = self.line.captures(line).and_then(|found| found.name("key").map(|key| (found, key))) else {
            return if self.header.is_match(line) { KeyLine::Doubt } else { KeyLine::Strange };
        };
        let is_key = !is_words(key.as_bytes()) && (key.len() >= CERTAIN || certain);
        match (is_key, found.name("closed").is_some()) {
            (true, false) => KeyLine::Key(key.end()),
            (true, true) => KeyLine::LastKey(key.end()),
            (false, false) => KeyLine::Doubt,
            (false, true) => KeyLine::Strange,
        }
    }
}

/// The kind of a line behind a key's first marker, and how many of its bytes belong to the key.
enum KeyLine {
    Key(usize),
    /// The string literal ends within the line, and the key with it.
    LastKey(usize),
    /// Blank, a header, a word.
    Doubt,
    Strange,
}

fn is_mostly_key(text: &[u8]) -> bool {
    let runs = text.split(|byte| !is_base64(*byte));
    let key: usize = runs.filter(|run| run.len() >= CERTAIN && !is_words(run)).map(<[u8]>::len).sum();
    key * 2 > text.len()
}

/// A backslash is taken as well: some write `\/` for a slash.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte)
}

/// Without the line break, and with it.
fn line_length(text: &[u8]) -> (usize, usize) {
    let is_break = |at: &usize| text[*at] == b'\n' || text[*at..].starts_with(b"\\n");
    let length = (0..text.len()).find(is_break).unwrap_or(text.len());
    let width = if text[length..].starts_with(b"\\") { 2 } else { 1 };
    (length, text.len().min(length + width))
}
