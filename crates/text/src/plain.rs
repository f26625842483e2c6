//! Output of programs as plain text: without colours and cursor movements, every byte a character.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Plain text of terminal output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PlainText {
    /// The text.
    pub text: String,
    /// Whether some bytes were not UTF-8.
    pub is_lossy: bool,
    /// How often a line was overwritten, as progress bars do.
    pub overwritten: usize,
}

/// The plain text of terminal output.
pub fn plain_text(bytes: &[u8]) -> PlainText {
    let decoded = String::from_utf8_lossy(bytes);
    let mut screen = LineScreen { chars: decoded.chars().peekable(), shown: PlainText::default(), line: 0, returned: false };
    while let Some(ch) = screen.chars.next() {
        screen.take(ch);
    }
    PlainText { is_lossy: matches!(decoded, Cow::Owned(_)), ..screen.shown }
}

/// The part of a terminal that plain text needs.
struct LineScreen<'a> {
    chars: Peekable<Chars<'a>>,
    shown: PlainText,
    /// The start of the current line.
    line: usize,
    /// Whether the cursor is back at the start of the line: the next character overwrites it.
    returned: bool,
}

impl LineScreen<'_> {
    fn take(&mut self, ch: char) {
        match ch {
            '\n' => self.end_line(),
            '\r' => self.returned = true,
            '\u{1b}' => self.skip_escape(),
            '\u{9b}' => self.skip_sequence(),
            '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => self.skip_string(),
            '\u{8}' => self.step_back(),
            '\t' => self.put('\t'),
            '\0'..='\u{1f}' => self.put(char::from_u32(0x2400 + u32::from(ch)).unwrap_or('\u{fffd}')),
            '\u{7f}' => self.put('\u{2421}'),
            _ if ch.is_control() => self.put('\u{fffd}'),
            _ => self.put(ch),
        }
    }

    fn put(&mut self, ch: char) {
        if std::mem::take(&mut self.returned) && self.shown.text.len() > self.line {
            self.shown.text.truncate(self.line);
            self.shown.overwritten += 1;
        }
        self.shown.text.push(ch);
    }

    fn end_line(&mut self) {
        self.shown.text.push('\n');
        (self.line, self.returned) = (self.shown.text.len(), false);
    }

    /// Manual pages overprint a character to make it bold.
    fn step_back(&mut self) {
        if self.shown.text.len() > self.line {
            self.shown.text.pop();
        }
    }

    /// Skips an escape sequence.
    fn skip_escape(&mut self) {
        match self.chars.peek() {
            Some('[') => {
                self.chars.next();
                self.skip_sequence();
            }
            Some(']' | 'P' | 'X' | '^' | '_') => self.skip_string(),
            Some(' '..='/') => {
                while self.chars.next_if(|ch| matches!(ch, ' '..='/')).is_some() {}
                self.chars.next_if(|ch| !ch.is_control());
            }
            _ => {
                self.chars.next_if(|ch| !ch.is_control());
            }
        }
    }

    /// Skips a control sequence up to its final character.
    fn skip_sequence(&mut self) {
        while self.chars.next_if(|ch| matches!(ch, ' '..='?')).is_some() {}
        self.chars.next_if(|ch| matches!(ch, '@'..='~'));
    }

    /// Skips a title or a link, at most to the end of the line.
    fn skip_string(&mut self) {
        while let Some(ch) = self.chars.next_if(|ch| *ch != '\n') {
            match ch {
                '\u{7}' | '\u{9c}' => return,
                '\u{1b}' => {
                    self.chars.next_if_eq(&'\\');
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
    fn terminal_sequences_are_removed() {
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
            assert_eq!(plain_text(written.as_bytes()), PlainText { text: text.into(), ..PlainText::default() }, "{written:?}");
        }
    }

    #[test]
    fn overwritten_lines_leave_only_the_last() {
        for (written, text, overwritten) in [
            ("10%\r20%\r100%\ndone", "100%\ndone", 2),
            ("10%\r\u{1b}[2K20%\r\n", "20%\n", 1),
            ("\rfirst", "first", 0),
            ("last\r", "last", 0),
            ("a\r\r\nb", "a\nb", 0),
        ] {
            assert_eq!(plain_text(written.as_bytes()), PlainText { text: text.into(), is_lossy: false, overwritten }, "{written:?}");
        }
    }

    #[test]
    fn invalid_bytes_become_replacement_characters() {
        assert_eq!(plain_text(b"a\xffb\xc3"), PlainText { text: "a\u{fffd}b\u{fffd}".into(), is_lossy: true, overwritten: 0 });
    }
}
