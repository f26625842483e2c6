//! Text for people and models, on one line, with everything in it to be seen.

use std::fmt::Write;

/// How many letters of a line are shown, and how many in a diff.
const SHOWN: usize = 160;
const SHOWN_IN_DIFF: usize = 2_000;

/// The bytes on one line: control characters and bytes that are no UTF-8 as escapes, cut where it gets long.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    shown(bytes, SHOWN, |letter| letter)
}

/// The same, for a line of a diff.
pub(crate) fn quoted_whole(bytes: &[u8]) -> String {
    shown(bytes, SHOWN_IN_DIFF, |letter| letter)
}

/// The same, with blanks as marks: a space is `·`, a tab is `→`, a space that does not break is `⍽`.
pub(crate) fn marked(bytes: &[u8]) -> String {
    shown(bytes, SHOWN, |letter| match letter {
        ' ' => '·',
        '\t' => '→',
        '\u{a0}' => '⍽',
        letter => letter,
    })
}

fn shown(bytes: &[u8], limit: usize, mark: impl Fn(char) -> char) -> String {
    let (mut text, mut letters) = (String::new(), 0);
    // No letter takes more than four bytes, so nothing that will be shown is cut off here.
    for chunk in bytes[..bytes.len().min(4 * limit + 4)].utf8_chunks() {
        for letter in chunk.valid().chars().map(Ok).chain(chunk.invalid().iter().map(Err)) {
            if letters == limit {
                text.push('…');
                return text;
            }
            match letter {
                Ok(letter) => push(&mut text, mark(letter)),
                Err(byte) => escape(&mut text, "\\x", u32::from(*byte)),
            }
            letters += 1;
        }
    }
    text
}

fn push(text: &mut String, letter: char) {
    match letter {
        '\t' => text.push(letter),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        letter if letter.is_control() => escape(text, "\\x", u32::from(letter)),
        // Letters that cannot be seen, or that turn the direction of others: what is shown would not be what is there.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
            escape(text, "\\u", u32::from(letter));
        }
        letter => text.push(letter),
    }
}

fn escape(text: &mut String, kind: &str, number: u32) {
    let width = if kind == "\\x" { 2 } else { 4 };
    write!(text, "{kind}{number:0width$x}").unwrap_or_default();
}

/// `1 line`, `2 lines`; thousands apart.
pub(crate) fn counted(number: usize, what: &str) -> String {
    let plural = match (number, what.strip_suffix("ch")) {
        (1, _) => "",
        (_, Some(_)) => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", grouped(number))
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `line 3`, or `lines 3-5`.
pub(crate) fn line_range((first, last): (usize, usize)) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}-{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_seen() {
        let bytes = b"a \t\xc2\xa0\r\x1b\xff\xe2\x80\xae\xe2\x80\x9cb";
        assert_eq!(quoted(bytes), "a \t\u{a0}\\r\\x1b\\xff\\u202e“b");
        assert_eq!(marked(bytes), "a·→⍽\\r\\x1b\\xff\\u202e“b");
        assert_eq!(quoted("é".repeat(SHOWN + 1).as_bytes()), "é".repeat(SHOWN) + "…");
        assert_eq!(quoted(&[0xff; 10_000]), "\\xff".repeat(SHOWN) + "…");
        assert_eq!(quoted_whole(&[b'a'; 3_000]), "a".repeat(SHOWN_IN_DIFF) + "…");
    }

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "match"), counted(2, "match"), counted(3, "line")], ["1 match", "2 matches", "3 lines"]);
        assert_eq!([line_range((3, 3)), line_range((3, 5))], ["line 3", "lines 3-5"]);
    }
}
