//! What a run of a cell left behind.

use serde_json::Value;

use super::text_of;

/// An output: words, pictures as they are written in base64, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// `stdout`, `stderr`, `error` or `result`.
    pub(crate) kind: String,
    /// What it says.
    pub(crate) text: String,
    /// Pictures, in base64.
    pub(crate) pictures: Vec<String>,
    /// Media types of what is neither.
    pub(crate) others: Vec<String>,
}

/// Pictures that models can be shown.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Of several forms of the same, the one that reads best comes first.
const TEXTS: &[&str] = &["text/markdown", "text/plain", "text/latex", "application/json", "text/html"];

impl Output {
    /// Reads one; what is none is passed over, because it is not the cell's source.
    pub(super) fn parse(raw: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(raw).ok()?;
        let empty = |kind: &str| Self { kind: kind.to_owned(), text: String::new(), pictures: Vec::new(), others: Vec::new() };
        match value["output_type"].as_str()? {
            "stream" => Some(Self { text: words(&value["text"]), ..empty(value["name"].as_str().unwrap_or("stdout")) }),
            "error" => Some(Self { text: trouble(&value), ..empty("error") }),
            "display_data" | "execute_result" => Some(shown(&value["data"], empty("result"))),
            other => Some(Self { others: vec![other.to_owned()], ..empty("result") }),
        }
    }
}

/// A string or a list of them.
fn words(value: &Value) -> String {
    text_of(&value.to_string()).0
}

/// The traceback repeats name and value; without one they are all there is.
fn trouble(value: &Value) -> String {
    let lines: Vec<&str> = value["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if lines.is_empty() {
        return format!("{}: {}", value["ename"].as_str().unwrap_or("Error"), value["evalue"].as_str().unwrap_or_default());
    }
    without_colours(&lines.join("\n"))
}

fn shown(data: &Value, mut output: Output) -> Output {
    let Some(data) = data.as_object() else { return output };
    output.pictures = PICTURES.iter().filter_map(|kind| data.get(*kind)).map(words).collect();
    let best = TEXTS.iter().find_map(|kind| data.get(*kind));
    // What stands beside a picture only says that there is one.
    if output.pictures.is_empty() {
        output.text = best.map(|value| if value.is_object() { value.to_string() } else { words(value) }).unwrap_or_default();
    }
    if output.pictures.is_empty() && best.is_none() {
        output.others = data.keys().cloned().collect();
    }
    output
}

/// Takes out what tells a terminal to change its colour.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| ('@'..='~').contains(&letter)).map_or(0, |end| end + 1);
        plain.push_str(&part[end..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(kind: &str, text: &str, pictures: &[&str], others: &[&str]) -> Output {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Output { kind: kind.into(), text: text.into(), pictures: owned(pictures), others: owned(others) }
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
            assert_eq!(Output::parse(&value.to_string()), Some(expected), "{value}");
        }
        assert_eq!(Output::parse("7"), None);
    }
}
