//! The output of a cell.

use serde_json::Value;

use super::text_of;
use haft_text::plain::plain_text;

/// An output: text, pictures in base64, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellOutput {
    /// `stdout`, `stderr`, `error` or `result`.
    pub(crate) kind: String,
    /// The text.
    pub(crate) text: String,
    /// Pictures, in base64.
    pub(crate) pictures: Vec<String>,
    /// Media types of other data.
    pub(crate) others: Vec<String>,
}

/// Pictures that models can be shown.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Text formats, the most readable first.
const TEXTS: &[&str] = &["text/markdown", "text/plain", "text/latex", "application/json", "text/html"];

impl CellOutput {
    /// Parses an output; `None` if it is malformed.
    pub(super) fn parse(raw: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(raw).ok()?;
        let empty = |kind: &str| Self { kind: kind.to_owned(), text: String::new(), pictures: Vec::new(), others: Vec::new() };
        match value["output_type"].as_str()? {
            "stream" => Some(Self { text: text(&value["text"]), ..empty(value["name"].as_str().unwrap_or("stdout")) }),
            "error" => Some(Self { text: error_text(&value), ..empty("error") }),
            "display_data" | "execute_result" => Some(rich_output(&value["data"], empty("result"))),
            other => Some(Self { others: vec![other.to_owned()], ..empty("result") }),
        }
    }
}

/// A string or a list of them.
fn text(value: &Value) -> String {
    text_of(&value.to_string()).0
}

/// The traceback repeats name and value; without one they are all there is.
fn error_text(value: &Value) -> String {
    let lines: Vec<&str> = value["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if lines.is_empty() {
        return format!("{}: {}", value["ename"].as_str().unwrap_or("Error"), value["evalue"].as_str().unwrap_or_default());
    }
    plain_text(lines.join("\n").as_bytes()).text
}

fn rich_output(data: &Value, mut output: CellOutput) -> CellOutput {
    let Some(data) = data.as_object() else { return output };
    output.pictures = PICTURES.iter().filter_map(|kind| data.get(*kind)).map(text).collect();
    let best = TEXTS.iter().find_map(|kind| data.get(*kind));
    // The text beside a picture only says that there is one.
    if output.pictures.is_empty() {
        output.text = best.map(|value| if value.is_object() { value.to_string() } else { text(value) }).unwrap_or_default();
    }
    if output.pictures.is_empty() && best.is_none() {
        output.others = data.keys().cloned().collect();
    }
    output
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(kind: &str, text: &str, pictures: &[&str], others: &[&str]) -> CellOutput {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        CellOutput { kind: kind.into(), text: text.into(), pictures: owned(pictures), others: owned(others) }
    }

    #[test]
    fn every_kind_of_output_is_told_apart() {
        for (value, expected) in [
            (json!({"output_type": "stream", "name": "stderr", "text": ["a\n", "b"]}), output("stderr", "a\nb", &[], &[])),
            (json!({"output_type": "stream", "text": "a"}), output("stdout", "a", &[], &[])),
            (json!({"output_type": "error", "ename": "E", "evalue": "why"}), output("error", "E: why", &[], &[])),
            (
                json!({"output_type": "error", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: why", "there"]}),
                output("error", "E: why\nthere", &[], &[]),
            ),
            (
                json!({"output_type": "display_data", "data": {"image/png": ["iVBO\n", "Rw=="], "text/plain": "<Figure>"}}),
                output("result", "", &["iVBO\nRw=="], &[]),
            ),
            (
                json!({"output_type": "execute_result", "data": {"text/html": "<b>", "text/plain": ["4", "2"]}}),
                output("result", "42", &[], &[]),
            ),
            (json!({"output_type": "execute_result", "data": {"application/json": {"a": 1}}}), output("result", "{\"a\":1}", &[], &[])),
            (
                json!({"output_type": "display_data", "data": {"application/x-widget": {}}}),
                output("result", "", &[], &["application/x-widget"]),
            ),
            (json!({"output_type": "display_data"}), output("result", "", &[], &[])),
            (json!({"output_type": "odd"}), output("result", "", &[], &["odd"])),
        ] {
            assert_eq!(CellOutput::parse(&value.to_string()), Some(expected), "{value}");
        }
        assert_eq!(CellOutput::parse("7"), None);
    }
}
