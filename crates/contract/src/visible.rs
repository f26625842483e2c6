//! Text from outside, made safe to show: nothing in it can move the cursor, hide, or reorder what stands around it.

use std::borrow::Cow;

/// One line: line breaks and tabs are spelled out as well.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Several lines of prose: line breaks, tabs, wide blanks and what joins emoji stay, because nothing is decided by them.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| matches!(letter, '\n' | '\t' | '\u{a0}' | '\u{3000}' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'))
}

/// One line, cut after so many characters.
pub fn shorten(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(format!("{}…", line(&text[..end]))),
        None => line(text),
    }
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let unsafe_here = |letter: char| is_hidden(letter) && !keep(letter);
    if !text.contains(unsafe_here) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if unsafe_here(letter) { safe.extend(letter.escape_default()) } else { safe.push(letter) }
    }
    Cow::Owned(safe)
}

/// Control characters, blanks that are not blanks, and zero-width, joining, reordering and tag characters.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || (letter.is_whitespace() && letter != ' ')
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_spelled_out() {
        for (text, shown) in [
            ("plain ü 漢 🦀", "plain ü 漢 🦀"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"),
            ("a\rb\u{8}c\u{7f}\u{9b}31m", "a\\rb\\u{8}c\\u{7f}\\u{9b}31m"),
            ("safe\u{202e}gpj.exe\u{202c}", "safe\\u{202e}gpj.exe\\u{202c}"),
            ("ad\u{200b}min\u{feff}\u{e0041}\u{ad}", "ad\\u{200b}min\\u{feff}\\u{e0041}\\u{ad}"),
        ] {
            assert_eq!(line(text), shown);
            assert_eq!(lines(text), shown);
        }
    }

    #[test]
    fn prose_keeps_its_layout_and_one_line_stays_one() {
        assert_eq!(line("a\n\tb\u{2028}\u{a0}\u{200d}"), "a\\n\\tb\\u{2028}\\u{a0}\\u{200d}");
        assert_eq!(lines("a\n\tb\r\u{2028}\u{a0}\u{200d}"), "a\n\tb\\r\\u{2028}\u{a0}\u{200d}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!((shorten("éàü", 2), shorten("éàü", 3), shorten("\n\n", 1)), ("éà…".into(), "éàü".into(), "\\n…".into()));
    }
}
