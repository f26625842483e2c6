//! Lines of output: blanks collapsed, blocks apart, prefixes of lists and quotes before every line.

use super::Style;
use crate::hidden::is_invisible;

/// Writes text block by block.
#[derive(Debug)]
pub(crate) struct TextWriter {
    style: Style,
    out: String,
    /// What every line begins with: the indents of lists, the marks of quotes.
    indents: Vec<String>,
    /// Line ends that are due before the next text: 0, 1 or 2.
    gap: usize,
    /// Whether a blank is due before the next word.
    blank: bool,
    /// Whether the line has nothing but its prefix and markers.
    at_start: bool,
    /// Where the mark that was opened last begins, and whether a blank stood before it.
    keeps_line: bool,
}

impl TextWriter {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, out: String::new(), indents: Vec::new(), gap: 0, blank: false, at_start: true, keeps_line: false }
    }

    /// What follows is on a line of its own.
    pub(crate) fn line(&mut self) {
        if self.keeps_line {
            self.blank = true;
        } else if !self.at_start {
            self.gap = self.gap.max(1);
        }
    }

    /// What follows is a block of its own.
    pub(crate) fn block(&mut self) {
        if self.keeps_line {
            self.blank = true;
        } else if !self.at_start {
            self.gap = 2;
        }
    }

    /// Whether line ends become blanks, as in a heading.
    pub(crate) fn keep_on_line(&mut self, keep: bool) {
        self.keeps_line = keep;
    }

    pub(crate) fn indent(&mut self, prefix: &str) {
        self.begin_line();
        let prefix = if self.style == Style::Markdown || prefix.trim().is_empty() { prefix } else { "  " };
        if self.at_start && prefix.trim() == ">" {
            self.out.push_str(prefix);
        }
        self.indents.push(prefix.to_owned());
    }

    pub(crate) fn dedent(&mut self) {
        self.indents.pop();
    }

    /// Ends the line if that is due, and writes the prefix of the new one.
    fn begin_line(&mut self) {
        if self.gap == 0 {
            return;
        }
        let prefix = self.indents.concat();
        for count in (0..self.gap).rev() {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            self.out.push('\n');
            self.out.push_str(if count == 0 { &prefix } else { prefix.trim_end() });
        }
        (self.gap, self.blank, self.at_start) = (0, false, true);
    }

    /// The mark of a heading or an item, before its text.
    pub(crate) fn marker(&mut self, marker: &str) {
        self.begin_line();
        self.out.push_str(marker);
        (self.at_start, self.blank) = (true, false);
    }

    /// Text with blanks collapsed.
    pub(crate) fn text(&mut self, text: &str) {
        let is_blank = |ch: char| ch.is_whitespace() && ch != '\u{a0}';
        self.blank |= text.starts_with(is_blank);
        for word in text.split(is_blank).filter(|word| !word.is_empty()) {
            self.word(word);
            self.blank = true;
        }
        if !text.is_empty() {
            self.blank = text.ends_with(is_blank) || (self.blank && text.chars().all(is_blank));
        }
    }

    fn word(&mut self, word: &str) {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain && word.chars().all(|ch| is_invisible(ch) || ch == '\u{a0}') {
            self.blank = true;
            return;
        }
        let at_start = self.begin_word();
        if at_start && self.style == Style::Markdown && looks_like_markup(word) {
            self.out.push('\\');
        }
        if is_plain {
            return self.out.push_str(word);
        }
        self.out.extend(word.chars().filter(|ch| !is_invisible(*ch)).map(|ch| if ch == '\u{a0}' { ' ' } else { ch }));
    }

    /// Writes the blank that is due; returns whether the line begins here.
    fn begin_word(&mut self) -> bool {
        self.begin_line();
        if self.blank && !self.at_start {
            self.out.push(' ');
        }
        self.blank = false;
        std::mem::replace(&mut self.at_start, false)
    }

    /// Something that is written as it is, within a line.
    pub(crate) fn inline(&mut self, text: &str) {
        self.begin_word();
        self.out.push_str(text);
    }

    /// Opens a mark; blanks that follow directly stand before it.
    pub(crate) fn open(&mut self, mark: &str) {
        self.begin_word();
        self.out.push_str(mark);
        // No blank after an opening mark.
        self.at_start = true;
    }

    /// Closes a mark; blanks before it stand behind it.
    pub(crate) fn close(&mut self, mark: &str) {
        let blank = std::mem::take(&mut self.blank);
        self.out.push_str(mark);
        (self.blank, self.at_start) = (blank, false);
    }

    /// One line as it is.
    pub(crate) fn verbatim_line(&mut self, line: &str) {
        self.line();
        self.begin_line();
        self.out.push_str(line);
        (self.at_start, self.gap) = (false, 1);
    }

    /// A text as it is, on the current line.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.begin_line();
        self.out.push_str(text);
        self.at_start = false;
    }

    pub(crate) fn finish(self) -> String {
        let mut out = self.out;
        out.truncate(out.trim_end().len());
        out
    }
}

/// Whether a line that begins with this word would be something else in Markdown.
fn looks_like_markup(word: &str) -> bool {
    matches!(word, "-" | "+" | "*" | ">" | "---" | "===")
        || word.starts_with("```")
        || word.starts_with('>')
        || (word.starts_with('#') && word.trim_start_matches('#').is_empty())
        || word
            .strip_suffix(['.', ')'])
            .is_some_and(|number| !number.is_empty() && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
