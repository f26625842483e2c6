//! Text from outside, made safe to show.

/// Escapes what hides, reorders or breaks the text around it: control characters, line breaks, invisible and bidirectional marks.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    safe
}

/// Escapes, and cuts after so many characters.
pub(crate) fn shorten(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => escape(&text[..end]) + "…",
        None => escape(text),
    }
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_spelled_out() {
        assert_eq!(escape("a b\nc\t\0\u{1b}[31m\u{202e}é\u{200b}"), "a b\\nc\\t\\u{0}\\u{1b}[31m\\u{202e}é\\u{200b}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shorten("éàü", 2), "éà…");
        assert_eq!(shorten("éàü", 3), "éàü");
        assert_eq!(shorten("\n\n", 1), "\\n…");
    }
}
