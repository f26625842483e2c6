//! Taking one page out of a text stream.

use haft_text::truncate::first_bytes;

/// The requested part of a text, and its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextWindow {
    /// The first line, counted from 1.
    pub(crate) line: usize,
    /// The first character of that line, counted from 1.
    pub(crate) column: usize,
    /// How many lines at most.
    pub(crate) lines: usize,
    /// How many bytes at most; at least one character.
    pub(crate) bytes: usize,
}

/// Where the next page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextPosition {
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The character of that line, counted from 1.
    pub(crate) column: usize,
}

/// Whole lines, or a part of a single line that is too large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPage {
    /// The text, unchanged.
    pub(crate) text: String,
    /// The last line of which something is shown.
    pub(crate) last_line: usize,
    /// Where the next page begins, or `None` at the end.
    pub(crate) next: Option<TextPosition>,
    /// How many lines there are, known only at the end.
    pub(crate) total_lines: Option<usize>,
}

/// Takes a page out of text that is fed in pieces; keeps no more than the page.
#[derive(Debug)]
pub(crate) struct TextPager {
    window: TextWindow,
    line: usize,
    column: usize,
    /// Whether the line before the page, where the text may end, has begun.
    begun: bool,
    text: String,
    newlines: usize,
    rest: bool,
}

impl TextPager {
    pub(crate) fn new(window: TextWindow) -> Self {
        Self { window, line: 1, column: 1, begun: false, text: String::new(), newlines: 0, rest: false }
    }

    /// Starts after lines that were skipped already; `begun` says that text follows the last of them.
    pub(crate) fn after(window: TextWindow, lines: usize, begun: bool) -> Self {
        Self { line: lines + 1, begun, ..Self::new(window) }
    }

    /// Adds the part of a text that belongs to the page.
    pub(crate) fn feed(&mut self, text: &str) {
        let text = self.skip_lines(text);
        let text = self.skip_columns(text);
        self.take(text);
    }

    /// Whether nothing more will be taken.
    pub(crate) fn is_full(&self) -> bool {
        self.rest || self.newlines == self.window.lines || self.text.len() == self.window.bytes
    }

    /// Whether text was fed that did not fit.
    pub(crate) fn has_rest(&self) -> bool {
        self.rest
    }

    fn skip_lines<'t>(&mut self, mut text: &'t str) -> &'t str {
        while self.line < self.window.line {
            let Some(end) = text.find('\n') else {
                self.begun |= !text.is_empty();
                return "";
            };
            self.line += 1;
            self.begun = false;
            text = &text[end + 1..];
        }
        text
    }

    /// A column after the end of its line means that end.
    fn skip_columns<'t>(&mut self, text: &'t str) -> &'t str {
        let skipped = self.window.column - self.column;
        if skipped == 0 || text.is_empty() {
            return text;
        }
        let line = text.find('\n').map_or(text, |end| &text[..end]);
        let at = line.char_indices().nth(skipped).map_or(line.len(), |(at, _)| at);
        self.column += line[..at].chars().count();
        self.begun = true;
        if line.len() < text.len() && at == line.len() {
            self.window.column = self.column;
        }
        &text[at..]
    }

    fn take(&mut self, text: &str) {
        if self.is_full() {
            self.rest |= !text.is_empty();
            return;
        }
        let fitting = first_bytes(text, self.window.bytes - self.text.len());
        let lines = self.window.lines - self.newlines;
        let mut end = fitting.len();
        for (place, at) in memchr::memchr_iter(b'\n', fitting.as_bytes()).take(lines).enumerate() {
            self.newlines += 1;
            if place + 1 == lines {
                end = at + 1;
            }
        }
        self.text.push_str(&fitting[..end]);
        self.rest = end < text.len();
    }

    /// The page; `more` says whether the source continues after it.
    pub(crate) fn finish(self, more: bool) -> TextPage {
        let Self { window, line, begun, mut text, newlines, .. } = self;
        // No line feed is behind the last one.
        if more && let Some(end) = text.rfind('\n') {
            text.truncate(end + 1);
        }
        let ended = text.ends_with('\n');
        let after = window.line + newlines;
        let last_line = if ended { after - 1 } else { after };
        let sliced = || TextPosition { line: window.line, column: window.column + text.chars().count() };
        let next = more.then(|| if ended { TextPosition { line: after, column: 1 } } else { sliced() });
        let seen = if text.is_empty() { line - 1 + usize::from(begun) } else { last_line };
        TextPage { text, last_line, next, total_lines: (!more).then_some(seen) }
    }
}

/// How many line feeds there are.
pub(crate) fn newlines(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, piece: usize, window: TextWindow) -> TextPage {
        let mut pager = TextPager::new(window);
        let mut rest = text;
        while !rest.is_empty() && !pager.is_full() {
            let (now, later) = rest.split_at(rest.ceil_char_boundary(piece));
            pager.feed(now);
            rest = later;
        }
        let more = pager.has_rest() || !rest.is_empty();
        pager.finish(more)
    }

    /// Every page of a text, whatever the pieces it arrives in.
    fn pages(text: &str, piece: usize, lines: usize, bytes: usize) -> Vec<String> {
        let mut at = Some(TextPosition { line: 1, column: 1 });
        let mut pages = Vec::new();
        while let Some(TextPosition { line, column }) = at {
            let page = page(text, piece, TextWindow { line, column, lines, bytes });
            pages.push(page.text);
            at = page.next;
        }
        pages
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_overlap() {
        for text in ["", "a", "a\n", "\n\n\n", "one\ntwo\nthree", "é€𝄞\r\nüü\r\n", "a long line without an end", "x\na long line\ny\n"]
        {
            for piece in 1..8 {
                for (lines, bytes) in [(1, 4), (2, 5), (1, 100), (3, 9), (100, 8)] {
                    let pages = pages(text, piece, lines, bytes);
                    assert_eq!(pages.concat(), text, "{text:?} in pieces of {piece}, {lines} lines, {bytes} bytes");
                    assert!(pages.iter().all(|page| page.len() <= bytes && newlines(page.as_bytes()) <= lines), "{pages:?}");
                }
            }
        }
    }

    #[test]
    fn a_page_holds_whole_lines_when_one_fits() {
        assert_eq!(pages("one\ntwo\nthree\n", 3, 100, 8), ["one\ntwo\n", "three\n"]);
        assert_eq!(pages("one\ntwo\nthree\n", 3, 100, 9), ["one\ntwo\n", "three\n"]);
        assert_eq!(pages("one\ntwo\nthree\n", 3, 2, 100), ["one\ntwo\n", "three\n"]);
        assert_eq!(pages("abcdefgh\nx\n", 3, 100, 4), ["abcd", "efgh", "\nx\n"]);
    }

    #[test]
    fn total_lines_are_known_at_the_end() {
        let window = |line, column| TextWindow { line, column, lines: 2, bytes: 100 };
        let shown = |text: &str, line, column| {
            let page = page(text, 2, window(line, column));
            (page.text, page.last_line, page.next.map(|next| (next.line, next.column)), page.total_lines)
        };
        assert_eq!(shown("a\nb\nc", 1, 1), ("a\nb\n".into(), 2, Some((3, 1)), None));
        assert_eq!(shown("a\nb\nc", 2, 1), ("b\nc".into(), 3, None, Some(3)));
        assert_eq!(shown("a\nb\nc\n", 2, 1), ("b\nc\n".into(), 3, None, Some(3)));
        assert_eq!(shown("a\nb\nc", 9, 1).3, Some(3));
        assert_eq!(shown("a\nb\nc\n", 4, 1), (String::new(), 4, None, Some(3)));
        assert_eq!(shown("", 1, 1), (String::new(), 1, None, Some(0)));
        assert_eq!(shown("abc", 1, 3), ("c".into(), 1, None, Some(1)));
        assert_eq!(shown("abc\nd", 1, 9), ("\nd".into(), 2, None, Some(2)));
        assert_eq!(shown("abc", 1, 9), (String::new(), 1, None, Some(1)));
    }
}
