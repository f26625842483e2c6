//! Code with comments, strings, numbers and keywords set off, by rules that hold in most languages.

use anstyle::Style;

use super::inline::styled;
use crate::output::{CAUTION, CYAN, DIM, GOOD, PLAIN};

const KEYWORDS: &str = " and as async await break case catch class const continue def do elif else enum except export extends false \
    finally fn for from func function if impl import in interface is let loop match mod module move mut new nil none None not null or \
    package pass pub raise return select self static struct super switch then this throw trait true True False try type undefined union \
    unsafe use var void where while with yield SELECT FROM WHERE INSERT UPDATE DELETE CREATE fi done esac local export ";
/// Languages whose comments begin with `#`.
const HASHES: &str = " bash conf dockerfile make makefile perl py python r rb ruby sh shell toml yaml yml zsh console ";

/// One line of code.
pub(super) fn highlight(line: &str, language: &str) -> String {
    if matches!(language, "" | "text" | "txt" | "plain") {
        return line.to_owned();
    }
    if language == "diff" || language == "patch" {
        return crate::diff::style_lines(&[line.to_owned()]).concat();
    }
    let has_hashes = HASHES.contains(&format!(" {} ", language.to_lowercase()));
    let (mut page, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        let (style, length) = token(first, rest, has_hashes);
        let (now, later) = rest.split_at(length.clamp(first.len_utf8(), rest.len()));
        page.push_str(&styled(style, now));
        rest = later;
    }
    page
}

/// The style and the length of what a text begins with.
fn token(first: char, text: &str, has_hashes: bool) -> (Style, usize) {
    let while_true = |belongs: fn(char) -> bool| text.find(|ch| !belongs(ch)).unwrap_or(text.len());
    match first {
        '#' if has_hashes => (DIM, text.len()),
        '/' if text.starts_with("//") || text.starts_with("/*") => (DIM, text.len()),
        '-' if text.starts_with("-- ") => (DIM, text.len()),
        '"' | '`' | '\'' => closing(text, first).map_or((PLAIN, 1), |length| (GOOD, length)),
        ch if ch.is_ascii_digit() => (CAUTION, while_true(|ch| ch.is_ascii_alphanumeric() || ch == '.' || ch == '_')),
        ch if ch.is_alphabetic() || ch == '_' => {
            let length = while_true(|ch| ch.is_alphanumeric() || ch == '_');
            (if KEYWORDS.contains(&format!(" {} ", &text[..length])) { CYAN } else { PLAIN }, length)
        }
        _ => (PLAIN, while_true(|ch| !ch.is_alphanumeric() && !"_\"`'#/-".contains(ch))),
    }
}

/// The length of a quoted text; `None` if the quote is not closed in this line.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ch if ch == quote => return Some(at + ch.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_text_whatever_it_is() {
        for line in ["let a = \"x\"; // c", "'", "é\u{301} 漢'字' \"", "", "# 1", "x-- -", "'a", "\\\"", "/* 12_3.5 */"] {
            for language in ["rust", "sh", "", "diff", "nobody"] {
                assert_eq!(anstream::adapter::strip_str(&highlight(line, language)).to_string(), line);
            }
        }
        let expected = format!("{CYAN}let{CYAN:#} a = {GOOD}\"x\"{GOOD:#}; {DIM}// c{DIM:#}");
        assert_eq!(highlight("let a = \"x\"; // c", "rust"), expected);
        assert_eq!(highlight("a # b", "rust"), "a # b");
        assert_eq!(highlight("a # b", "sh"), format!("a {DIM}# b{DIM:#}"));
    }
}
