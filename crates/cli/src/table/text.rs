//! Text made to fit: cut, or broken into lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text that takes at most so many columns; what was cut ends in `…`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fits = |letter: &char| {
        let width = letter.width().unwrap_or(0);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    if columns == 0 { kept } else { format!("{}…", kept.trim_end()) }
}

/// Breaks prose into lines of at most so many columns; a longer word stands alone.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.width() + 1 + word.width() > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines
}

/// As [`wrapped`], but no line is wider: a longer word is broken.
pub(crate) fn folded(text: &str, columns: usize) -> Vec<String> {
    wrapped(text, columns).iter().flat_map(|line| broken(line, columns)).collect()
}

fn broken(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let width = letter.width().unwrap_or(0);
        if used + width > columns && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        line.push(letter);
        used += width;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three\nfour incomprehensibly", 9), ["one two", "three", "four", "incomprehensibly"]);
        assert_eq!(wrapped("", 9), Vec::<String>::new());
    }

    #[test]
    fn a_word_that_is_too_long_is_broken_where_it_must() {
        assert_eq!(folded("see /home/me/漢字漢.txt now", 9), ["see", "/home/me/", "漢字漢.tx", "t", "now"]);
        assert_eq!(folded("漢", 1), ["漢"]);
    }
}
