//! Text from outside, made safe to display: nothing in it can move the cursor, hide, or reorder its surroundings.

use std::borrow::Cow;
use std::fmt::Write;

use crate::truncate::first_chars;

/// Escapes text for one line: line breaks and tabs as well.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_unless(text, |_| false)
}

/// Escapes text of several lines: line breaks, tabs, wide blanks and emoji joiners stay, because nothing is decided by them.
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_unless(text, |ch| matches!(ch, '\n' | '\t' | '\u{200c}' | '\u{200d}') || is_harmless(ch))
}

/// Escapes text for one line and truncates it after so many characters, with `…`.
pub fn shorten(text: &str, chars: usize) -> Cow<'_, str> {
    let head = first_chars(text, chars);
    if head.len() < text.len() { Cow::Owned(format!("{}…", escape_line(head))) } else { escape_line(text) }
}

/// Escapes bytes for one line and truncates them after so many characters, with `…`: a byte that is not UTF-8 is `\xff`. Tabs
/// and wide blanks stay.
pub fn escape_bytes(bytes: &[u8], chars: usize) -> String {
    escape_chunks(bytes, chars, |ch| ch)
}

/// As [`escape_bytes`], with symbols for blanks: a space is `·`, a tab is `→`, a no-break space is `⍽`.
pub fn escape_bytes_and_blanks(bytes: &[u8], chars: usize) -> String {
    escape_chunks(bytes, chars, |ch| match ch {
        ' ' => '·',
        '\t' => '→',
        '\u{a0}' => '⍽',
        ch => ch,
    })
}

/// Whether a character is a control character, a blank that is not a space, or a zero-width, joining, reordering or tag character.
pub fn is_hidden(ch: char) -> bool {
    ch.is_control()
        || (ch.is_whitespace() && ch != ' ')
        || matches!(ch,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Wide blanks and the presentation of emoji.
fn is_harmless(ch: char) -> bool {
    matches!(ch, '\u{a0}' | '\u{3000}' | '\u{fe0e}' | '\u{fe0f}')
}

fn escape_unless(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_unsafe = |ch: char| is_hidden(ch) && !keep(ch);
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for ch in text.chars() {
        if is_unsafe(ch) { safe.extend(ch.escape_default()) } else { safe.push(ch) }
    }
    Cow::Owned(safe)
}

fn escape_chunks(bytes: &[u8], limit: usize, symbol: impl Fn(char) -> char) -> String {
    let (mut text, mut chars) = (String::new(), 0);
    // A character has at most four bytes, so these are enough.
    for chunk in bytes[..bytes.len().min(4 * limit + 4)].utf8_chunks() {
        for unit in chunk.valid().chars().map(Ok).chain(chunk.invalid().iter().map(Err)) {
            if chars == limit {
                text.push('…');
                return text;
            }
            match unit.map(&symbol) {
                Ok(ch) if is_hidden(ch) && ch != '\t' && !is_harmless(ch) => text.extend(ch.escape_default()),
                Ok(ch) => text.push(ch),
                // Writing to a string does not fail.
                Err(byte) => write!(text, "\\x{byte:02x}").unwrap_or_default(),
            }
            chars += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_terminal_obeys_or_hides_are_escaped() {
        for (text, escaped) in [
            ("plain ü 漢 🦀", "plain ü 漢 🦀"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("a\rb\u{8}c\u{7f}\u{9b}31m", "a\\rb\\u{8}c\\u{7f}\\u{9b}31m"),
            ("safe\u{202e}gpj.exe\u{202c}", "safe\\u{202e}gpj.exe\\u{202c}"),
            ("ad\u{200b}min\u{feff}\u{e0041}\u{ad}", "ad\\u{200b}min\\u{feff}\\u{e0041}\\u{ad}"),
        ] {
            assert_eq!(escape_line(text), escaped);
            assert_eq!(escape_lines(text), escaped);
            assert_eq!(escape_bytes(text.as_bytes(), 100), escaped);
        }
    }

    #[test]
    fn prose_keeps_its_layout_and_one_line_stays_one() {
        assert_eq!(escape_line("a\n\tb\u{2028}\u{a0}\u{200d}"), "a\\n\\tb\\u{2028}\\u{a0}\\u{200d}");
        assert_eq!(escape_lines("a\n\tb\r\u{2028}\u{a0}\u{200d}"), "a\n\tb\\r\\u{2028}\u{a0}\u{200d}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!((shorten("éàü", 2), shorten("éàü", 3), shorten("\n\n", 1)), ("éà…".into(), "éàü".into(), "\\n…".into()));
    }

    #[test]
    fn bytes_are_escaped_and_bounded() {
        let bytes = b"a \t\xc2\xa0\r\x1b\xff\xe2\x80\xae\xe2\x80\x9cb";
        assert_eq!(escape_bytes(bytes, 99), "a \t\u{a0}\\r\\u{1b}\\xff\\u{202e}“b");
        assert_eq!(escape_bytes_and_blanks(bytes, 99), "a·→⍽\\r\\u{1b}\\xff\\u{202e}“b");
        assert_eq!(escape_bytes("é".repeat(161).as_bytes(), 160), "é".repeat(160) + "…");
        assert_eq!(escape_bytes(&[0xff; 10_000], 160), "\\xff".repeat(160) + "…");
    }
}
