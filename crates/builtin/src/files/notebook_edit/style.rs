//! The layout of a notebook, so that additions look as if Jupyter had written them.

use crate::shared::notebook::{Notebook, SourceShape};

/// The layout of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotebookStyle {
    /// The line ending.
    pub(super) newline: &'static str,
    /// One step of indentation; `None` if everything is on one line.
    pub(super) unit: Option<String>,
    /// Between a name and its value.
    pub(super) colon: &'static str,
    /// Between two values on one line.
    pub(super) comma: &'static str,
    /// Whether characters beyond ASCII are escaped.
    pub(super) ascii: bool,
}

impl NotebookStyle {
    /// Detects the layout of a notebook.
    pub(super) fn detect(notebook: &Notebook<'_>) -> Self {
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
        let escapes = |ch: char| match ch {
            ascii if ascii.is_ascii() => ascii.to_string(),
            other => other.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat(),
        };
        plain.chars().map(escapes).collect::<Vec<_>>().concat()
    }

    /// A source, as JSON, in its shape; `around` has the indentation of its lines and of the closing bracket.
    pub(super) fn source(&self, text: &str, shape: SourceShape, around: Option<(&str, &str)>) -> String {
        if shape == SourceShape::Text {
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

/// The blanks after the last line feed: the indentation of that line.
pub(super) fn after_line(blanks: &str) -> Option<&str> {
    blanks.rfind('\n').map(|end| &blanks[end + 1..])
}

/// Whether a character beyond ASCII is escaped somewhere.
fn has_escapes(text: &str) -> bool {
    text.match_indices("\\u").any(|(at, _)| {
        let digits = text.get(at + 2..at + 6).and_then(|digits| u16::from_str_radix(digits, 16).ok());
        digits.is_some_and(|code| code >= 0x80)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(text: &str) -> NotebookStyle {
        NotebookStyle::detect(&Notebook::parse(text).unwrap())
    }

    #[test]
    fn the_layout_is_found() {
        let expected = |newline, unit: Option<&str>, colon, comma, ascii| NotebookStyle {
            newline,
            unit: unit.map(str::to_owned),
            colon,
            comma,
            ascii,
        };
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
        let ascii = NotebookStyle { ascii: true, newline: "\r\n", ..plain.clone() };
        for (style, text, shape, around, expected) in [
            (&plain, "a\n\"é\"", SourceShape::Lines, Some(("  ", " ")), "[\n  \"a\\n\",\n  \"\\\"é\\\"\"\n ]"),
            (&ascii, "é🦀", SourceShape::Lines, Some(("\t", "")), "[\r\n\t\"\\u00e9\\ud83e\\udd80\"\r\n]"),
            (&plain, "a\nb\n", SourceShape::Lines, None, "[\"a\\n\", \"b\\n\"]"),
            (&plain, "", SourceShape::Lines, Some((" ", "")), "[]"),
            (&plain, "a\nb", SourceShape::Text, Some((" ", "")), "\"a\\nb\""),
            (&plain, "\u{1b}\u{7f}\u{8}\t", SourceShape::Text, None, "\"\\u001b\u{7f}\\b\\t\""),
        ] {
            assert_eq!(style.source(text, shape, around), expected);
        }
    }
}
