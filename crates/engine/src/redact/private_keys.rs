//! Private key blocks: how far each goes, also where its end is missing or it stands in code.

use regex::bytes::Regex;

use super::{Secret, compiled, is_words};

/// The patterns of private key blocks.
pub(super) struct Keys {
    begin: Regex,
    end: Regex,
    line: Regex,
    header: Regex,
}

/// How far a key block goes behind its first marker.
struct Extent {
    /// Nothing where the marker is only mentioned.
    end: Option<usize>,
    /// Whether more text could make it longer.
    open: bool,
}

/// No key has more lines in a row that could be something else.
const DOUBTS: usize = 8;
/// Shorter base64 could be a name in code. The lines of a key are longer, but for its last.
const CERTAIN: usize = 32;

impl Keys {
    pub(super) fn compiled() -> Option<Self> {
        // What editors, `grep`, `cat -n`, diffs, comments and string literals put before and behind each line of a file.
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
                blocks.push(Secret { name: "private_key", from: marker.start(), place: marker.start()..marker.end() + length });
            }
            *open = (extent.open && next == bytes.len()).then_some(marker.start());
        }
        blocks
    }

    /// To the last marker, where most of what lies between is a key; else as far as each line is certainly one.
    fn extent(&self, rest: &[u8]) -> Extent {
        let (mut at, mut doubts, mut end, mut strange) = (0, 0, None, false);
        while at < rest.len() && doubts <= DOUBTS {
            let (length, next) = line_length(&rest[at..]);
            let line = &rest[at..at + length];
            if let Some(last) = self.end.find(line) {
                let whole = (end.is_some() && !strange) || is_mostly_key(&rest[..at + last.start()]);
                return Extent { end: if whole { Some(at + last.end()) } else { end }, open: false };
            }
            match self.kind(line, end.is_some()) {
                Line::Key(_) if strange => doubts = 0,
                Line::Key(length) => (end, doubts) = (Some(at + length), 0),
                Line::LastKey(length) if !strange => return Extent { end: Some(at + length), open: false },
                Line::Doubt => doubts += 1,
                Line::LastKey(_) | Line::Strange => (strange, doubts) = (true, doubts + 1),
            }
            at += next;
        }
        Extent { end, open: doubts <= DOUBTS }
    }

    fn kind(&self, line: &[u8], certain: bool) -> Line {
        let Some((found, key)) = self.line.captures(line).and_then(|found| found.name("key").map(|key| (found, key))) else {
            return if self.header.is_match(line) { Line::Doubt } else { Line::Strange };
        };
        let is_key = !is_words(key.as_bytes()) && (key.len() >= CERTAIN || certain);
        match (is_key, found.name("closed").is_some()) {
            (true, false) => Line::Key(key.end()),
            (true, true) => Line::LastKey(key.end()),
            (false, false) => Line::Doubt,
            (false, true) => Line::Strange,
        }
    }
}

/// What a line behind a key's first marker is, and how many of its bytes are the key's.
enum Line {
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
