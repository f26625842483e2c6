//! Styled text of a paragraph, broken at words.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::table::break_line;

/// A text of parts with styles.
#[derive(Debug, Clone, Default)]
pub(super) struct InlineText(Vec<(Style, String)>);

/// A word: parts without blanks between them.
#[derive(Debug, Default)]
struct InlineWord {
    parts: Vec<(Style, String)>,
    width: usize,
}

impl InlineText {
    pub(super) fn add(&mut self, style: Style, text: &str) {
        match self.0.last_mut() {
            Some((last, before)) if *last == style => before.push_str(text),
            _ => self.0.push((style, text.to_owned())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.trim().is_empty())
    }

    /// The text without styles.
    pub(super) fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The words of each line that the text itself breaks.
    fn lines(&self) -> Vec<Vec<InlineWord>> {
        let mut lines = vec![Vec::new()];
        let mut word = InlineWord::default();
        for (style, text) in &self.0 {
            for (index, piece) in text.split('\n').enumerate() {
                if index > 0 {
                    end_word(&mut word, &mut lines);
                    lines.push(Vec::new());
                }
                for (index, part) in piece.split(' ').enumerate() {
                    if index > 0 {
                        end_word(&mut word, &mut lines);
                    }
                    if !part.is_empty() {
                        word.width += part.width();
                        word.parts.push((*style, part.to_owned()));
                    }
                }
            }
        }
        end_word(&mut word, &mut lines);
        lines
    }

    /// The lines of at most this width; a word that is longer is broken.
    pub(super) fn wrap(&self, width: usize) -> Vec<String> {
        let mut wrapped = Vec::new();
        for words in self.lines() {
            let (mut line, mut used) = (String::new(), 0);
            for word in words {
                if used > 0 && used + 1 + word.width > width {
                    wrapped.push(std::mem::take(&mut line));
                    used = 0;
                }
                if used > 0 {
                    line.push(' ');
                    used += 1;
                }
                if word.width > width {
                    used = break_word(&word, width, &mut line, &mut wrapped);
                    continue;
                }
                used += word.width;
                word.parts.iter().for_each(|(style, text)| line.push_str(&styled(*style, text)));
            }
            wrapped.push(line);
        }
        wrapped
    }
}

fn end_word(word: &mut InlineWord, lines: &mut [Vec<InlineWord>]) {
    if let (Some(line), false) = (lines.last_mut(), word.parts.is_empty()) {
        line.push(std::mem::take(word));
    }
}

/// Breaks a word that fits no line; returns the width of its rest.
fn break_word(word: &InlineWord, width: usize, line: &mut String, lines: &mut Vec<String>) -> usize {
    let style = word.parts.first().map_or_else(Style::new, |(style, _)| *style);
    let text: String = word.parts.iter().map(|(_, text)| text.as_str()).collect();
    let mut pieces = break_line(&text, width);
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        lines.push(std::mem::take(line) + &styled(style, &piece));
    }
    line.push_str(&styled(style, &last));
    last.width()
}

pub(super) fn styled(style: Style, text: &str) -> String {
    if style == Style::new() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}
