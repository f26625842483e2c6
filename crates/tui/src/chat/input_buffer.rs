//! The message that is typed while a turn runs.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use haft_text::display;
use haft_text::truncate::ellipsize_start_to_width;

/// The longest input.
const MOST_BYTES: usize = 1024 * 1024;

/// What a key does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyAction {
    Nothing,
    /// Redraw the line.
    Show,
    /// Send the message with the results of the running calls.
    Send(String),
    /// Send the message after the turn.
    SendLater(String),
    /// Take the newest queued message back.
    TakeBack,
    /// Stop the turn.
    Stop,
    Details,
}

/// The message that is typed.
#[derive(Debug, Default)]
pub(super) struct InputBuffer(String);

impl InputBuffer {
    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// Puts text before what is typed.
    pub(super) fn put_back(&mut self, text: &str) {
        let between = if self.0.is_empty() { "" } else { "\n" };
        self.0 = format!("{text}{between}{}", self.0);
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> KeyAction {
        if key.kind == KeyEventKind::Release {
            return KeyAction::Nothing;
        }
        let (control, alt) = (key.modifiers.contains(KeyModifiers::CONTROL), key.modifiers.contains(KeyModifiers::ALT));
        match key.code {
            KeyCode::Enter if alt => self.take().map_or(KeyAction::Nothing, KeyAction::SendLater),
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            KeyCode::Enter if self.0.ends_with('\\') => {
                self.0.pop();
                self.insert("\n")
            }
            // A command is not for the model.
            KeyCode::Enter if self.0.trim_start().starts_with(['/', '!']) => self.take().map_or(KeyAction::Nothing, KeyAction::SendLater),
            KeyCode::Enter => self.take().map_or(KeyAction::Nothing, KeyAction::Send),
            KeyCode::Up if self.0.is_empty() => KeyAction::TakeBack,
            KeyCode::Esc => KeyAction::Stop,
            KeyCode::Char('o') if control => KeyAction::Details,
            KeyCode::Char('u') if control => self.cut_to(0),
            KeyCode::Char('w') if control => self.cut_to(word_start(&self.0)),
            KeyCode::Backspace if alt || control => self.cut_to(word_start(&self.0)),
            KeyCode::Backspace => self.cut_to(self.0.char_indices().next_back().map_or(0, |(at, _)| at)),
            KeyCode::Char('h') if control => self.cut_to(self.0.char_indices().next_back().map_or(0, |(at, _)| at)),
            KeyCode::Char(ch) if !control && !alt => self.insert(ch.encode_utf8(&mut [0; 4])),
            _ => KeyAction::Nothing,
        }
    }

    /// Inserts text, such as a paste, with its line breaks.
    pub(super) fn insert(&mut self, text: &str) -> KeyAction {
        if self.0.len() + text.len() > MOST_BYTES {
            return KeyAction::Nothing;
        }
        self.0.push_str(&text.replace("\r\n", "\n").replace('\r', "\n"));
        KeyAction::Show
    }

    fn cut_to(&mut self, length: usize) -> KeyAction {
        self.0.truncate(length);
        KeyAction::Show
    }

    /// Takes the message, unless it is blank.
    fn take(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.0);
        (!text.trim().is_empty()).then_some(text)
    }

    /// The end of the message, on one line of at most this width.
    pub(super) fn tail(&self, columns: usize) -> String {
        let text = display::escape_line(&self.0.replace('\n', "⏎ ")).into_owned();
        ellipsize_start_to_width(&text, columns)
    }
}

/// Start of the last word.
fn word_start(text: &str) -> usize {
    let end = text.trim_end().len();
    text[..end].rfind(char::is_whitespace).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

#[cfg(test)]
impl InputBuffer {
    pub(super) fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    const PLAIN: KeyModifiers = KeyModifiers::NONE;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    fn type_in(typed: &mut InputBuffer, text: &str) {
        for ch in text.chars() {
            assert_eq!(typed.key(key(KeyCode::Char(ch), PLAIN)), KeyAction::Show);
        }
    }

    #[test]
    fn enter_sends_and_other_keys_edit_or_control() {
        let (enter, send, later) = (KeyCode::Enter, KeyAction::Send, KeyAction::SendLater);
        for (text, code, modifiers, act, left) in [
            ("go left", enter, PLAIN, send("go left".into()), ""),
            ("go left", enter, KeyModifiers::ALT, later("go left".into()), ""),
            ("/cost", enter, PLAIN, later("/cost".into()), ""),
            ("!ls", enter, PLAIN, later("!ls".into()), ""),
            ("  ", enter, PLAIN, KeyAction::Nothing, ""),
            ("one\\", enter, PLAIN, KeyAction::Show, "one\n"),
            ("one", enter, KeyModifiers::SHIFT, KeyAction::Show, "one\n"),
            ("", KeyCode::Up, PLAIN, KeyAction::TakeBack, ""),
            ("x", KeyCode::Up, PLAIN, KeyAction::Nothing, "x"),
            ("keep", KeyCode::Esc, PLAIN, KeyAction::Stop, "keep"),
            ("keep", KeyCode::Char('o'), KeyModifiers::CONTROL, KeyAction::Details, "keep"),
            ("two words", KeyCode::Char('w'), KeyModifiers::CONTROL, KeyAction::Show, "two "),
            ("two words ", KeyCode::Backspace, KeyModifiers::ALT, KeyAction::Show, "two "),
            ("two words", KeyCode::Char('u'), KeyModifiers::CONTROL, KeyAction::Show, ""),
            ("aü", KeyCode::Backspace, PLAIN, KeyAction::Show, "a"),
            ("", KeyCode::Backspace, PLAIN, KeyAction::Show, ""),
            ("a", KeyCode::Char('x'), KeyModifiers::ALT, KeyAction::Nothing, "a"),
            ("a", KeyCode::Left, PLAIN, KeyAction::Nothing, "a"),
        ] {
            let mut typed = InputBuffer::default();
            type_in(&mut typed, text);
            assert_eq!(typed.key(key(code, modifiers)), act, "{text:?} {code:?}");
            assert_eq!(typed.into_text(), left, "{text:?} {code:?}");
        }
    }

    #[test]
    fn text_taken_back_comes_first_and_pastes_keep_line_breaks() {
        let mut typed = InputBuffer::default();
        typed.put_back("first");
        assert_eq!(typed.insert(", and\r\nmore\rlines"), KeyAction::Show);
        typed.put_back("zeroth");
        assert_eq!(typed.into_text(), "zeroth\nfirst, and\nmore\nlines");
        assert_eq!(InputBuffer::default().insert(&"x".repeat(MOST_BYTES + 1)), KeyAction::Nothing);
    }

    #[test]
    fn tail_of_a_long_line_is_shown_escaped() {
        for (text, columns, expected) in [
            ("short", 10, "short"),
            ("a longer line", 8, "…er line"),
            ("漢字漢字", 6, "…漢字"),
            ("one\ntwo", 20, "one⏎ two"),
            ("\u{1b}[2J", 20, "\\u{1b}[2J"),
        ] {
            let tail = InputBuffer::from_text(text).tail(columns);
            assert_eq!(tail, expected);
            assert!(tail.width() <= columns);
        }
    }
}
