//! Text broken into lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Breaks prose into lines of at most this width; a longer word gets its own line. A line that fits keeps its blanks: what stands below
/// each other in a message stays there.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        if paragraph.width() <= columns {
            lines.push(paragraph.trim_end().to_owned());
            continue;
        }
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

/// As [`wrap`], but longer words are broken.
pub fn wrap_hard(text: &str, columns: usize) -> Vec<String> {
    wrap(text, columns).iter().flat_map(|line| break_line(line, columns)).collect()
}

/// Breaks one line at this width, with its blanks as they are.
pub(crate) fn break_line(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for ch in text.chars() {
        let width = ch.width().unwrap_or(0);
        if used + width > columns && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        line.push(ch);
        used += width;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_breaks_between_words() {
        assert_eq!(wrap("one two three\nfour incomprehensibly", 9), ["one two", "three", "four", "incomprehensibly"]);
        assert_eq!(wrap("", 9), Vec::<String>::new());
        assert_eq!(wrap("is:   a b\nwant: a c\n  far too long ", 9), ["is:   a b", "want: a c", "far too", "long"]);
    }

    #[test]
    fn wrap_hard_breaks_long_words() {
        assert_eq!(wrap_hard("see /home/me/漢字漢.txt now", 9), ["see", "/home/me/", "漢字漢.tx", "t", "now"]);
        assert_eq!(wrap_hard("漢", 1), ["漢"]);
    }
}
