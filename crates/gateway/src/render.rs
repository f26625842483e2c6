//! Text for people: Markdown, ANSI, diffs, JSON and code, as HTML that is safe to insert.
//!
//! Everything here is made from escaped text and elements of our own, or passes the sanitiser. The content policy of the page is the
//! second lock.

mod ansi;
mod diff;
mod highlight;
mod json_tree;
mod markdown;
mod matches;
mod plot;
mod schema;

use std::borrow::Cow;
use std::fmt::Write;

use haft_text::display;
use haft_text::truncate::first_chars;

pub(crate) use self::ansi::ansi;
pub(crate) use self::diff::diff;
pub(crate) use self::highlight::code;
pub(crate) use self::json_tree::json;
pub(crate) use self::markdown::{MarkdownBlocks, blocks, markdown};
pub(crate) use self::matches::mark_words;
pub(crate) use self::plot::{BarPlot, MOST_SERIES};
pub(crate) use self::schema::schema_difference;

/// Characters of a text that are rendered; the whole of it is read in pages.
pub(crate) const MOST_CHARS: usize = 65_536;

/// The text that is shown, and whether something was cut.
pub(crate) fn bounded(text: &str) -> (&str, bool) {
    let shown = first_chars(text, MOST_CHARS);
    (shown, shown.len() < text.len())
}

/// A paragraph that says that text was cut, or nothing.
pub(crate) fn cut_note(is_cut: bool) -> &'static str {
    if is_cut { "<p class=\"cut\">The rest is not shown here.</p>" } else { "" }
}

/// Text for HTML: no character of it is markup, and none hides or reorders its surroundings.
pub(crate) fn escape(text: &str) -> String {
    let text = visible(text);
    let mut safe = String::with_capacity(text.len() + 16);
    for ch in text.chars() {
        match ch {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            ch => safe.push(ch),
        }
    }
    safe
}

/// Text of several lines in which hidden characters can be seen: `⟨U+202E⟩`. Line breaks, tabs and joined emoji stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    show_hidden(text, |ch| matches!(ch, '\n' | '\t' | '\u{200c}' | '\u{200d}' | '\u{a0}' | '\u{3000}' | '\u{fe0e}' | '\u{fe0f}'))
}

/// The same for one line.
pub(crate) fn visible_line(text: &str) -> Cow<'_, str> {
    show_hidden(text, |_| false)
}

fn show_hidden(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_shown = |ch: char| display::is_hidden(ch) && !keep(ch);
    if !text.contains(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for ch in text.chars() {
        if is_shown(ch) {
            // Writing to a string does not fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(ch));
        } else {
            shown.push(ch);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_and_markup_is_text() {
        assert_eq!(escape("<b a=\"'\">&\u{202e}\n"), "&lt;b a=&quot;&#39;&quot;&gt;&amp;⟨U+202E⟩\n");
        assert_eq!(visible_line("a\n\u{200b}b"), "a⟨U+000A⟩⟨U+200B⟩b");
    }
}
