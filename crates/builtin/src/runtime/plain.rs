//! What programs write, as plain text: without colours, without a cursor that moves, and every byte a character.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Text that a model can read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) text: String,
    /// Whether some bytes were no UTF-8.
    pub(super) is_lossy: bool,
    /// How often a line was written over another, as progress bars do.
    pub(super) overwritten: usize,
}

/// The text of some bytes.
pub(super) fn plain(bytes: &[u8]) -> Plain {
    let decoded = String::from_utf8_lossy(bytes);
    let mut screen = Screen { letters: decoded.chars().peekable(), shown: Plain::default(), line: 0, returned: false };
    while let Some(letter) = screen.letters.next() {
        screen.take(letter);
    }
    Plain { is_lossy: matches!(decoded, Cow::Owned(_)), ..screen.shown }
}

/// As much of a terminal as plain text needs.
struct Screen<'a> {
    letters: Peekable<Chars<'a>>,
    shown: Plain,
    /// Where the current line begins.
    line: usize,
    /// Whether the cursor went back to where the line begins: what comes next is written over it.
    returned: bool,
}

impl Screen<'_> {
    fn take(&mut self, letter: char) {
        match letter {
            '\n' => self.end_line(),
            '\r' => self.returned = true,
            '\u{1b}' => self.skip_escape(),
            '\u{9b}' => self.skip_sequence(),
            '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.skip_string(),
            '\u{8}' => self.step_back(),
            '\t' => self.put('\t'),
            '\0'..='\u{1f}' => self.put(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}' => self.put('\u{2421}'),
            _ if letter.is_control() => self.put('\u{fffd}'),
            _ => self.put(letter),
        }
    }

    fn put(&mut self, letter: char) {
        if std::mem::take(&mut self.returned) && self.shown.text.len() > self.line {
            self.shown.text.truncate(self.line);
            self.shown.overwritten += 1;
        }
        self.shown.text.push(letter);
    }

    fn end_line(&mut self) {
        self.shown.text.push('\n');
        (self.line, self.returned) = (self.shown.text.len(), false);
    }

    /// Manual pages print a letter over itself to make it bold.
    fn step_back(&mut self) {
        if self.shown.text.len() > self.line {
            self.shown.text.pop();
        }
    }

    /// What stands behind an escape character, and means something to a terminal alone.
    fn skip_escape(&mut self) {
        match self.letters.peek() {
            Some('[') => {
                self.letters.next();
                self.skip_sequence();
            }
            Some(']' | 'P' | 'X' | '^' | '_') => self.skip_string(),
            Some(' '..='/') => {
                while self.letters.next_if(|letter| matches!(letter, ' '..='/')).is_some() {}
                self.letters.next_if(|letter| !letter.is_control());
            }
            _ => {
                self.letters.next_if(|letter| !letter.is_control());
            }
        }
    }

    /// Up to the letter that says what to do.
    fn skip_sequence(&mut self) {
        while self.letters.next_if(|letter| matches!(letter, ' '..='?')).is_some() {}
        self.letters.next_if(|letter| matches!(letter, '@'..='~'));
    }

    /// A title or a link: up to its end, or to the end of the line if it has none.
    fn skip_string(&mut self) {
        while let Some(letter) = self.letters.next_if(|letter| *letter != '\n') {
            match letter {
                '\u{7}' | '\u{9c}' => return,
                '\u{1b}' => {
                    self.letters.next_if_eq(&'\\');
                    return;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_left_out() {
        for (written, text) in [
            ("", ""),
            ("plain ü 漢 🦀\ttab\n", "plain ü 漢 🦀\ttab\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            ("\u{1b}[38;2;1;2;3mx\u{1b}[K\u{1b}[?25l", "x"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
            ("\u{1b}]0;never closed\nnext", "\nnext"),
            ("\u{1b}(B\u{1b}=\u{1b}Mx\u{9b}31my", "xy"),
            ("cut\u{1b}", "cut"),
            ("cut\u{1b}[3", "cut"),
            ("N\u{8}NA\u{8}A \u{8}\n\u{8}x", "NA\nx"),
            ("bell\u{7} nul\0 del\u{7f} c1\u{85}", "bell␇ nul␀ del␡ c1\u{fffd}"),
            ("one\r\ntwo\r\n", "one\ntwo\n"),
        ] {
            assert_eq!(plain(written.as_bytes()), Plain { text: text.into(), ..Plain::default() }, "{written:?}");
        }
    }

    #[test]
    fn of_what_is_written_over_the_last_is_left() {
        for (written, text, overwritten) in [
            ("10%\r20%\r100%\ndone", "100%\ndone", 2),
            ("10%\r\u{1b}[2K20%\r\n", "20%\n", 1),
            ("\rfirst", "first", 0),
            ("last\r", "last", 0),
            ("a\r\r\nb", "a\nb", 0),
        ] {
            assert_eq!(plain(written.as_bytes()), Plain { text: text.into(), is_lossy: false, overwritten }, "{written:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_seen_and_said() {
        assert_eq!(plain(b"a\xffb\xc3"), Plain { text: "a\u{fffd}b\u{fffd}".into(), is_lossy: true, overwritten: 0 });
    }
}
