//! Text from files and variables, made fit to be shown.

const MAX_SHOWN: usize = 400;

/// Escapes what a terminal would obey or hide, and cuts what no one would read: a file may come from anywhere.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MAX_SHOWN));
    for (count, letter) in text.chars().enumerate() {
        if count == MAX_SHOWN {
            shown.push('…');
            break;
        }
        if letter.is_control() || is_hidden(letter) { shown.extend(letter.escape_unicode()) } else { shown.push(letter) }
    }
    shown
}

/// A value as part of a sentence: quoted, and short.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_QUOTED: usize = 60;
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}

/// Some of several things, as part of a sentence.
pub(crate) fn listed(things: &[String]) -> String {
    const MAX_NAMED: usize = 3;
    match things {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if things.len() <= MAX_NAMED => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", things[..MAX_NAMED].join(", "), things.len() - MAX_NAMED),
    }
}

// Zero-width, joining, reordering and tag characters.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        for (text, shown) in [
            ("plain ü 漢", "plain ü 漢"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\nb\tc\0", "a\\u{a}b\\u{9}c\\u{0}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible(&"x".repeat(500)), format!("{}…", "x".repeat(400)));
    }

    #[test]
    fn long_things_are_cut_in_sentences() {
        assert_eq!(quoted("short"), "'short'");
        assert_eq!(quoted(&"ü".repeat(61)), format!("'{}…'", "ü".repeat(60)));
        let things: Vec<String> = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert_eq!([0, 1, 2, 3, 5].map(|count| listed(&things[..count])), ["", "a", "a and b", "a, b and c", "a, b, c and 2 more"]);
    }
}
