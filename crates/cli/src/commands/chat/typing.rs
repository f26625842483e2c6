//! What is typed while the model works: a line of its own, and the answer to a question.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use haft_contract::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// More than this is not typed.
const MOST_BYTES: usize = 1024 * 1024;

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Nothing,
    /// Show the line anew.
    Show,
    /// Say it as soon as the calls that run now have their results.
    Say(String),
    /// Say it after the turn.
    SayLater(String),
    /// Take back what was said last and still waits.
    TakeBack,
    /// Stop the turn.
    Stop,
    Details,
}

/// The line that is typed.
#[derive(Debug, Default)]
pub(super) struct Typed(String);

impl Typed {
    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// Puts a text before what was typed.
    pub(super) fn put_back(&mut self, text: &str) {
        let between = if self.0.is_empty() { "" } else { "\n" };
        self.0 = format!("{text}{between}{}", self.0);
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Act {
        if key.kind == KeyEventKind::Release {
            return Act::Nothing;
        }
        let (control, alt) = (key.modifiers.contains(KeyModifiers::CONTROL), key.modifiers.contains(KeyModifiers::ALT));
        match key.code {
            KeyCode::Enter if alt => self.ended().map_or(Act::Nothing, Act::SayLater),
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::SHIFT) => self.insert("\n"),
            KeyCode::Enter if self.0.ends_with('\\') => {
                self.0.pop();
                self.insert("\n")
            }
            // A command is not for the model.
            KeyCode::Enter if self.0.trim_start().starts_with(['/', '!']) => self.ended().map_or(Act::Nothing, Act::SayLater),
            KeyCode::Enter => self.ended().map_or(Act::Nothing, Act::Say),
            KeyCode::Up if self.0.is_empty() => Act::TakeBack,
            KeyCode::Esc => Act::Stop,
            KeyCode::Char('o') if control => Act::Details,
            KeyCode::Char('u') if control => self.cut_to(0),
            KeyCode::Char('w') if control => self.cut_to(word_start(&self.0)),
            KeyCode::Backspace if alt || control => self.cut_to(word_start(&self.0)),
            KeyCode::Backspace => self.cut_to(self.0.char_indices().next_back().map_or(0, |(at, _)| at)),
            KeyCode::Char('h') if control => self.cut_to(self.0.char_indices().next_back().map_or(0, |(at, _)| at)),
            KeyCode::Char(letter) if !control && !alt => self.insert(letter.encode_utf8(&mut [0; 4])),
            _ => Act::Nothing,
        }
    }

    /// Text from elsewhere, with its line breaks.
    pub(super) fn insert(&mut self, text: &str) -> Act {
        if self.0.len() + text.len() > MOST_BYTES {
            return Act::Nothing;
        }
        self.0.push_str(&text.replace("\r\n", "\n").replace('\r', "\n"));
        Act::Show
    }

    fn cut_to(&mut self, place: usize) -> Act {
        self.0.truncate(place);
        Act::Show
    }

    /// What was typed, if it is anything.
    fn ended(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.0);
        (!text.trim().is_empty()).then_some(text)
    }

    /// The end of it, on one line of so many columns.
    pub(super) fn shown(&self, columns: usize) -> String {
        let text = visible::line(&self.0.replace('\n', "⏎ ")).into_owned();
        if text.width() <= columns {
            return text;
        }
        let (mut width, mut start) = (1, text.len());
        for (at, letter) in text.char_indices().rev() {
            width += letter.width().unwrap_or(0);
            if width > columns {
                break;
            }
            start = at;
        }
        format!("…{}", &text[start..])
    }
}

/// Where the last word begins.
fn word_start(text: &str) -> usize {
    let end = text.trim_end().len();
    text[..end].rfind(char::is_whitespace).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

/// The answer to a question, which is typed behind its prompt.
#[derive(Debug, Default)]
pub(super) struct Answer(String);

impl Answer {
    /// What the terminal is to show of a key, and the answer once it is complete. Whoever turns away says nothing, which is a no.
    pub(super) fn key(&mut self, key: KeyEvent) -> (String, Option<String>) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => (String::new(), None),
            KeyCode::Enter => ("\n".into(), Some(std::mem::take(&mut self.0))),
            KeyCode::Esc => self.given_up(),
            KeyCode::Char('d') if control && self.0.is_empty() => self.given_up(),
            KeyCode::Char('u') if control => (rubbed_out(&std::mem::take(&mut self.0)), None),
            KeyCode::Backspace => (self.0.pop().map(|letter| rubbed_out(&letter.to_string())).unwrap_or_default(), None),
            KeyCode::Char(letter) if !control && !visible::is_hidden(letter) && self.0.len() < MOST_BYTES => {
                self.0.push(letter);
                (letter.to_string(), None)
            }
            _ => (String::new(), None),
        }
    }

    fn given_up(&mut self) -> (String, Option<String>) {
        self.0.clear();
        ("\n".into(), Some(String::new()))
    }
}

fn rubbed_out(text: &str) -> String {
    "\u{8} \u{8}".repeat(text.width())
}

#[cfg(test)]
impl Typed {
    pub(super) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: KeyModifiers = KeyModifiers::NONE;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    fn type_in(typed: &mut Typed, text: &str) {
        for letter in text.chars() {
            assert_eq!(typed.key(key(KeyCode::Char(letter), PLAIN)), Act::Show);
        }
    }

    #[test]
    fn enter_says_it_and_the_keys_around_it_have_their_meanings() {
        let (enter, say, later) = (KeyCode::Enter, Act::Say, Act::SayLater);
        for (text, code, modifiers, act, left) in [
            ("go left", enter, PLAIN, say("go left".into()), ""),
            ("go left", enter, KeyModifiers::ALT, later("go left".into()), ""),
            ("/cost", enter, PLAIN, later("/cost".into()), ""),
            ("!ls", enter, PLAIN, later("!ls".into()), ""),
            ("  ", enter, PLAIN, Act::Nothing, ""),
            ("one\\", enter, PLAIN, Act::Show, "one\n"),
            ("one", enter, KeyModifiers::SHIFT, Act::Show, "one\n"),
            ("", KeyCode::Up, PLAIN, Act::TakeBack, ""),
            ("x", KeyCode::Up, PLAIN, Act::Nothing, "x"),
            ("keep", KeyCode::Esc, PLAIN, Act::Stop, "keep"),
            ("keep", KeyCode::Char('o'), KeyModifiers::CONTROL, Act::Details, "keep"),
            ("two words", KeyCode::Char('w'), KeyModifiers::CONTROL, Act::Show, "two "),
            ("two words ", KeyCode::Backspace, KeyModifiers::ALT, Act::Show, "two "),
            ("two words", KeyCode::Char('u'), KeyModifiers::CONTROL, Act::Show, ""),
            ("aü", KeyCode::Backspace, PLAIN, Act::Show, "a"),
            ("", KeyCode::Backspace, PLAIN, Act::Show, ""),
            ("a", KeyCode::Char('x'), KeyModifiers::ALT, Act::Nothing, "a"),
            ("a", KeyCode::Left, PLAIN, Act::Nothing, "a"),
        ] {
            let mut typed = Typed::default();
            type_in(&mut typed, text);
            assert_eq!(typed.key(key(code, modifiers)), act, "{text:?} {code:?}");
            assert_eq!(typed.into_text(), left, "{text:?} {code:?}");
        }
    }

    #[test]
    fn what_is_taken_back_stands_before_what_was_typed_and_pastes_keep_their_lines() {
        let mut typed = Typed::default();
        typed.put_back("first");
        assert_eq!(typed.insert(", and\r\nmore\rlines"), Act::Show);
        typed.put_back("zeroth");
        assert_eq!(typed.into_text(), "zeroth\nfirst, and\nmore\nlines");
        assert_eq!(Typed::default().insert(&"x".repeat(MOST_BYTES + 1)), Act::Nothing);
    }

    #[test]
    fn the_end_of_a_long_line_is_shown_and_nothing_in_it_drives_the_terminal() {
        for (text, columns, shown) in [
            ("short", 10, "short"),
            ("a longer line", 8, "…er line"),
            ("漢字漢字", 6, "…漢字"),
            ("one\ntwo", 20, "one⏎ two"),
            ("\u{1b}[2J", 20, "\\u{1b}[2J"),
        ] {
            let shown_so = Typed::of(text).shown(columns);
            assert_eq!(shown_so, shown);
            assert!(shown_so.width() <= columns);
        }
    }

    #[test]
    fn an_answer_is_echoed_and_whoever_turns_away_says_nothing() {
        let mut answer = Answer::default();
        for (code, modifiers, echo, line) in [
            (KeyCode::Char('y'), PLAIN, "y", None),
            (KeyCode::Char('漢'), PLAIN, "漢", None),
            (KeyCode::Backspace, PLAIN, "\u{8} \u{8}\u{8} \u{8}", None),
            (KeyCode::Enter, PLAIN, "\n", Some("y")),
            (KeyCode::Backspace, PLAIN, "", None),
            (KeyCode::Char('d'), KeyModifiers::CONTROL, "\n", Some("")),
            (KeyCode::Char('y'), PLAIN, "y", None),
            (KeyCode::Char('d'), KeyModifiers::CONTROL, "", None),
            (KeyCode::Esc, PLAIN, "\n", Some("")),
            (KeyCode::Char('a'), PLAIN, "a", None),
            (KeyCode::Char('b'), PLAIN, "b", None),
            (KeyCode::Char('u'), KeyModifiers::CONTROL, "\u{8} \u{8}\u{8} \u{8}", None),
            (KeyCode::Char('\u{202e}'), PLAIN, "", None),
            (KeyCode::Enter, PLAIN, "\n", Some("")),
        ] {
            assert_eq!(answer.key(key(code, modifiers)), (echo.to_owned(), line.map(str::to_owned)), "{code:?}");
        }
    }
}
