//! How a notebook is laid out, so that what is added looks as if its own program had written it.

use crate::shared::notebook::{Notebook, Shape};

/// What holds for the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// How lines end.
    pub(super) newline: &'static str,
    /// One step to the right; nothing if everything stands on one line.
    pub(super) unit: Option<String>,
    /// Between a name and its value.
    pub(super) colon: &'static str,
    /// Between two values on one line.
    pub(super) comma: &'static str,
    /// Whether letters beyond ASCII are written as escapes.
    pub(super) ascii: bool,
}

impl Style {
    /// Looks at how it was done so far.
    pub(super) fn of(notebook: &Notebook<'_>) -> Self {
        let text = notebook.text;
        let before = text.find('{').map_or("", |brace| blank(&text[brace + 1..]));
        let colon = if text[..notebook.list.start].ends_with(':') { ":" } else { ": " };
        Self {
            newline: if before.contains("\r\n") { "\r\n" } else { "\n" },
            unit: after_line(before).map(str::to_owned),
            colon,
            comma: if colon == ":" { "," } else { ", " },
            ascii: text.is_ascii() && has_escapes(text),
        }
    }

    /// A string, as JSON.
    pub(super) fn string(&self, text: &str) -> String {
        let plain = serde_json::Value::from(text).to_string();
        if !self.ascii || plain.is_ascii() {
            return plain;
        }
        let escapes = |letter: char| match letter {
            ascii if ascii.is_ascii() => ascii.to_string(),
            other => other.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat(),
        };
        plain.chars().map(escapes).collect::<Vec<_>>().concat()
    }

    /// A source, as JSON, in its shape; `around` says how far lines of a list are indented, and the bracket that closes it.
    pub(super) fn source(&self, text: &str, shape: Shape, around: Option<(&str, &str)>) -> String {
        if shape == Shape::Text {
            return self.string(text);
        }
        if text.is_empty() {
            return "[]".into();
        }
        let lines: Vec<String> = text.split_inclusive('\n').map(|line| self.string(line)).collect();
        let Some((inner, outer)) = around else { return format!("[{}]", lines.join(self.comma)) };
        let newline = self.newline;
        format!("[{newline}{inner}{}{newline}{outer}]", lines.join(&format!(",{newline}{inner}")))
    }
}

/// The blanks that a text begins with.
pub(super) fn blank(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches([' ', '\t', '\r', '\n']).len()]
}

/// What stands behind the last line end of some blanks: how far that line is indented.
pub(super) fn after_line(blanks: &str) -> Option<&str> {
    blanks.rfind('\n').map(|end| &blanks[end + 1..])
}

/// Whether a letter beyond ASCII is written as an escape somewhere.
fn has_escapes(text: &str) -> bool {
    text.match_indices("\\u").any(|(at, _)| {
        let digits = text.get(at + 2..at + 6).and_then(|digits| u16::from_str_radix(digits, 16).ok());
        digits.is_some_and(|code| code >= 0x80)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(text: &str) -> Style {
        Style::of(&Notebook::parse(text).unwrap())
    }

    #[test]
    fn the_layout_is_found() {
        let expected =
            |newline, unit: Option<&str>, colon, comma, ascii| Style { newline, unit: unit.map(str::to_owned), colon, comma, ascii };
        for (text, found) in [
            ("{\n \"cells\": [], \"nbformat\": 4}", expected("\n", Some(" "), ": ", ", ", false)),
            ("\u{feff}{\r\n\t\"nbformat\": 4,\r\n\t\"cells\": []}", expected("\r\n", Some("\t"), ": ", ", ", false)),
            ("{\n\"cells\":[],\"nbformat\":4}", expected("\n", Some(""), ":", ",", false)),
            ("{\"cells\": [], \"nbformat\": 4, \"x\": \"\\u00e9\"}", expected("\n", None, ": ", ", ", true)),
            ("{\"cells\": [], \"nbformat\": 4, \"x\": \"\\u001b é\"}", expected("\n", None, ": ", ", ", false)),
        ] {
            assert_eq!(style(text), found, "{text}");
        }
    }

    #[test]
    fn a_source_takes_the_shape_that_it_had() {
        let plain = style("{\n \"cells\": [], \"nbformat\": 4}");
        let ascii = Style { ascii: true, newline: "\r\n", ..plain.clone() };
        for (style, text, shape, around, expected) in [
            (&plain, "a\n\"é\"", Shape::Lines, Some(("  ", " ")), "[\n  \"a\\n\",\n  \"\\\"é\\\"\"\n ]"),
            (&ascii, "é🦀", Shape::Lines, Some(("\t", "")), "[\r\n\t\"\\u00e9\\ud83e\\udd80\"\r\n]"),
            (&plain, "a\nb\n", Shape::Lines, None, "[\"a\\n\", \"b\\n\"]"),
            (&plain, "", Shape::Lines, Some((" ", "")), "[]"),
            (&plain, "a\nb", Shape::Text, Some((" ", "")), "\"a\\nb\""),
            (&plain, "\u{1b}\u{7f}\u{8}\t", Shape::Text, None, "\"\\u001b\u{7f}\\b\\t\""),
        ] {
            assert_eq!(style.source(text, shape, around), expected);
        }
    }
}
