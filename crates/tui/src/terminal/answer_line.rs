//! A line of text that is typed as an answer: a comment, or edited arguments. It scrolls sideways in one row.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use haft_text::display;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::typed::{character, is_end};

/// The longest line.
const MOST_CHARACTERS: usize = 1024 * 1024;

/// What a key did to the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineAction {
    /// It may look different.
    Show,
    Done,
    GiveUp,
}

/// The line, and where the next character goes.
#[derive(Debug, Default)]
pub(super) struct AnswerLine {
    characters: Vec<char>,
    cursor: usize,
}

impl AnswerLine {
    /// Starts with this text, behind which typing continues.
    pub(super) fn new(text: &str) -> Self {
        let characters: Vec<char> = text.chars().collect();
        Self { cursor: characters.len(), characters }
    }

    pub(super) fn into_text(self) -> String {
        self.characters.into_iter().collect()
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> LineAction {
        let (control, end) = (key.modifiers.contains(KeyModifiers::CONTROL), self.characters.len());
        match key.code {
            KeyCode::Enter => return LineAction::Done,
            _ if is_end(key) => return LineAction::GiveUp,
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(end),
            KeyCode::Home => self.cursor = 0,
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::End => self.cursor = end,
            KeyCode::Char('e') if control => self.cursor = end,
            KeyCode::Char('u') if control => self.remove(0),
            KeyCode::Char('w') if control => self.remove(self.word_start()),
            KeyCode::Char('k') if control => self.characters.truncate(self.cursor),
            KeyCode::Delete if self.cursor < end => drop(self.characters.remove(self.cursor)),
            KeyCode::Backspace => self.remove(self.cursor.saturating_sub(1)),
            _ => character(key).into_iter().for_each(|ch| self.insert(ch)),
        }
        LineAction::Show
    }

    /// Inserts text without its line breaks.
    pub(super) fn paste(&mut self, text: &str) {
        text.chars().filter(|ch| !ch.is_control()).for_each(|ch| self.insert(ch));
    }

    fn insert(&mut self, ch: char) {
        if self.characters.len() < MOST_CHARACTERS && !ch.is_control() {
            self.characters.insert(self.cursor, ch);
            self.cursor += 1;
        }
    }

    /// Removes what is between there and the cursor.
    fn remove(&mut self, from: usize) {
        self.characters.drain(from..self.cursor);
        self.cursor = from;
    }

    fn word_start(&self) -> usize {
        let before = &self.characters[..self.cursor];
        let end = before.iter().rposition(|ch| !ch.is_whitespace()).map_or(0, |at| at + 1);
        before[..end].iter().rposition(|ch| ch.is_whitespace()).map_or(0, |at| at + 1)
    }

    /// The part around the cursor that fits into this width, and how many columns of it are behind the cursor.
    pub(super) fn window(&self, columns: usize) -> (String, usize) {
        let shown = |range: &[char]| range.iter().map(|ch| display::escape_line(&ch.to_string()).into_owned()).collect::<String>();
        let mut start = 0;
        while shown(&self.characters[start..self.cursor]).width() >= columns.max(1) {
            start += 1;
        }
        let (before, mut text) = (shown(&self.characters[start..self.cursor]), String::new());
        for ch in &self.characters[self.cursor..] {
            let next = shown(&[*ch]);
            if before.width() + text.width() + next.width() > columns {
                break;
            }
            text += &next;
        }
        let behind = text.chars().map(|ch| ch.width().unwrap_or(0)).sum();
        (before + &text, behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: KeyModifiers = KeyModifiers::NONE;

    #[test]
    fn keys_edit_the_line() {
        let control = KeyModifiers::CONTROL;
        for (text, keys, expected) in [
            ("ab", &[(KeyCode::Char('c'), PLAIN)][..], "abc"),
            ("ab", &[(KeyCode::Left, PLAIN), (KeyCode::Char('x'), PLAIN)], "axb"),
            ("ab", &[(KeyCode::Home, PLAIN), (KeyCode::Delete, PLAIN), (KeyCode::Right, PLAIN), (KeyCode::Char('漢'), PLAIN)], "b漢"),
            ("ab", &[(KeyCode::Backspace, PLAIN), (KeyCode::Backspace, PLAIN), (KeyCode::Backspace, PLAIN)], ""),
            ("two  words", &[(KeyCode::Char('w'), control)], "two  "),
            ("two words", &[(KeyCode::Char('a'), control), (KeyCode::Char('k'), control)], ""),
            ("two words", &[(KeyCode::Char('u'), control), (KeyCode::Char('x'), control)], ""),
            ("ab", &[(KeyCode::Char('a'), control), (KeyCode::Char('e'), control), (KeyCode::Char('c'), PLAIN)], "abc"),
        ] {
            let mut line = AnswerLine::new(text);
            for (code, modifiers) in keys {
                assert_eq!(line.key(KeyEvent::new(*code, *modifiers)), LineAction::Show);
            }
            assert_eq!(line.into_text(), expected, "{text} {keys:?}");
        }
        let mut line = AnswerLine::new("a");
        line.paste("b\r\nc\u{1b}");
        assert_eq!(line.key(KeyEvent::new(KeyCode::Enter, PLAIN)), LineAction::Done);
        assert_eq!(line.key(KeyEvent::new(KeyCode::Esc, PLAIN)), LineAction::GiveUp);
        assert_eq!(line.into_text(), "abc");
    }

    #[test]
    fn window_follows_the_cursor() {
        let mut line = AnswerLine::new("0123456789");
        assert_eq!(line.window(20), ("0123456789".to_owned(), 0));
        assert_eq!(line.window(5), ("6789".to_owned(), 0), "with room for the cursor");
        for _ in 0..8 {
            line.key(KeyEvent::new(KeyCode::Left, PLAIN));
        }
        assert_eq!(line.window(5), ("01234".to_owned(), 3));
        assert_eq!(AnswerLine::new("漢字\u{202e}").window(20), ("漢字\\u{202e}".to_owned(), 0));
        assert_eq!(AnswerLine::default().window(0), (String::new(), 0));
    }
}
