//! The hunks of one file.

use super::marker::Marker;
use super::{Hunk, HunkLine, LineKind, ParseError};

/// The rest of a patch.
#[derive(Debug)]
pub(super) struct PatchCursor<'a> {
    lines: &'a [(usize, &'a str)],
}

impl<'a> PatchCursor<'a> {
    pub(super) fn new(lines: &'a [(usize, &'a str)]) -> Self {
        Self { lines }
    }

    pub(super) fn peek(&self) -> Option<(usize, &'a str)> {
        self.lines.first().copied()
    }

    /// Every line that is left.
    pub(super) fn rest(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.lines.iter().copied()
    }

    /// The line so many lines ahead.
    pub(super) fn ahead(&self, lines: usize) -> &'a str {
        self.lines.get(lines).map_or("", |(_, line)| line)
    }

    pub(super) fn skip(&mut self, lines: usize) {
        self.lines = self.lines.get(lines..).unwrap_or_default();
    }

    /// Whether a unified diff of a file begins here.
    pub(super) fn at_file_header(&self) -> bool {
        self.ahead(0).starts_with("--- ") && self.ahead(1).starts_with("+++ ")
    }
}

/// The format around a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HunkForm {
    Envelope,
    Unified,
}

/// Reads hunks until something else begins.
pub(super) fn read(cursor: &mut PatchCursor<'_>, form: HunkForm, most: usize) -> Result<Vec<Hunk>, ParseError> {
    let mut hunks = Vec::new();
    while let Some((line, text)) = cursor.peek() {
        if Marker::parse(text).is_some_and(Marker::ends_hunk) || ends(cursor, form) {
            break;
        }
        let blank = blank_before_end(cursor);
        if blank > 0 {
            cursor.skip(blank);
            continue;
        }
        if hunks.len() == most {
            return Err(ParseError::too_many_hunks());
        }
        hunks.push(hunk(cursor, form, line)?);
    }
    Ok(hunks)
}

/// Whether the next file of a unified diff begins. A removed line may look like its first header line, but not like all three.
fn ends(cursor: &PatchCursor<'_>, form: HunkForm) -> bool {
    let header = cursor.at_file_header() && cursor.ahead(2).starts_with("@@");
    form == HunkForm::Unified && (header || cursor.ahead(0).starts_with("diff --git "))
}

/// How many blank lines precede a line of structure here.
fn blank_before_end(cursor: &PatchCursor<'_>) -> usize {
    let blank = cursor.lines.iter().take_while(|(_, line)| line.trim().is_empty()).count();
    let structure = |line: &str| Marker::parse(line).is_some() || line.starts_with("@@") || line.starts_with("diff --git ");
    if blank == cursor.lines.len() || structure(cursor.ahead(blank)) { blank } else { 0 }
}

fn hunk(cursor: &mut PatchCursor<'_>, form: HunkForm, line: usize) -> Result<Hunk, ParseError> {
    let (mut hunk, mut counted) = (Hunk { line, ..Hunk::default() }, None);
    while let Some(header) = cursor.peek().and_then(|(_, text)| text.strip_prefix("@@")) {
        counted = read_header(&mut hunk, header).or(counted);
        cursor.skip(1);
    }
    let mut unprefixed = 0;
    while let Some((line, text)) = cursor.peek() {
        if text.starts_with("@@") || Marker::parse(text).is_some_and(Marker::ends_hunk) || ends(cursor, form) {
            break;
        }
        cursor.skip(1);
        if Marker::parse(text) == Some(Marker::EndOfFile) {
            hunk.end_of_file = true;
            break;
        }
        read_line(&mut hunk, line, text)?;
        unprefixed = if text.is_empty() { unprefixed + 1 } else { 0 };
    }
    trim(&mut hunk, unprefixed, counted);
    if hunk.lines.is_empty() {
        let (line, text) = cursor.peek().unwrap_or((line, ""));
        return Err(ParseError::new(line, text, "lines of a hunk, each starting with ' ', '-' or '+'"));
    }
    Ok(hunk)
}

/// Removes blank lines without a prefix at the end: they are layout, unless the header counts them.
fn trim(hunk: &mut Hunk, mut unprefixed: usize, counted: Option<usize>) {
    let mut old = hunk.old_lines().count();
    while unprefixed > 0 && old > counted.unwrap_or_default() {
        hunk.lines.pop();
        (unprefixed, old) = (unprefixed - 1, old - 1);
    }
    // Without old lines, the number is that of the line above, unless the header counts old lines.
    if old == 0 && counted.is_some_and(|counted| counted > 0) {
        hunk.near = hunk.near.map(|near| near.saturating_sub(1));
    }
}

/// `@@`, `@@ a line above`, or `@@ -12,3 +12,4 @@ a line above, perhaps cut`. Gives the number of old lines that it counts.
fn read_header(hunk: &mut Hunk, header: &str) -> Option<usize> {
    if let Some((near, counted)) = line_numbers(header) {
        hunk.near = Some(near);
        return Some(counted);
    }
    let header = header.strip_prefix(' ').unwrap_or(header).trim_end();
    let header = header.strip_suffix("@@").map_or(header, str::trim_end);
    if !header.is_empty() {
        hunk.headers.push(header.to_owned());
    }
    None
}

/// The first line of the original that a unified diff names, and how many it counts.
fn line_numbers(header: &str) -> Option<(usize, usize)> {
    let (old, new) = header.trim_start().strip_prefix('-')?.split_once(" +")?;
    let range = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let _: (usize, usize) = range(new.split([' ', '@']).next()?)?;
    range(old.trim_end())
}

fn read_line(hunk: &mut Hunk, line: usize, text: &str) -> Result<(), ParseError> {
    let mut chars = text.chars();
    let kind = match chars.next() {
        None | Some(' ') => LineKind::Context,
        Some('-') => LineKind::Remove,
        Some('+') => LineKind::Add,
        // `\ No newline at end of file`
        Some('\\') => {
            if let Some(last) = hunk.lines.last_mut() {
                last.unended = true;
            }
            return Ok(());
        }
        Some(_) => {
            let expected = "a line that starts with ' ' (context), '-' (removed) or '+' (added), or `@@`, or the next `*** ` line";
            return Err(ParseError::new(line, text, expected));
        }
    };
    hunk.lines.push(HunkLine::new(kind, chars.as_str()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_lines_or_numbers() {
        for (header, headers, near) in [
            ("", &[][..], None),
            (" fn main() {", &["fn main() {"], None),
            ("     def f(self):  ", &["    def f(self):"], None),
            (" class A @@", &["class A"], None),
            (" -12,3 +12,4 @@", &[], Some(12)),
            (" -1 +1 @@ fn cut(a, b", &[], Some(1)),
            (" -0,0 +1,2 @@", &[], Some(0)),
            (" -x +y", &["-x +y"], None),
            (" - +", &["- +"], None),
        ] {
            let mut hunk = Hunk::default();
            read_header(&mut hunk, header);
            assert_eq!((&*hunk.headers, hunk.near), (&*headers.iter().map(|&one| one.to_owned()).collect::<Vec<_>>(), near), "{header}");
        }
    }
}
