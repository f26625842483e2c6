//! JSON as a tree that folds, without a script: each part that does not fit on a line is an element `details`.

use std::fmt::Write;

use haft_text::numbers::count;
use serde_json::Value;

use super::highlight::code_spans;
use super::{MOST_CHARS, bounded, cut_note, escape};

/// A part of at most this many characters is one line.
const LINE: usize = 60;
/// Levels that are open at first; all of a small value.
const OPEN_LEVELS: usize = 2;
const SMALL: usize = 2_000;
/// Deeper parts are one line, so that no value exhausts the stack.
const MOST_LEVELS: usize = 48;

/// A value as a tree.
pub(crate) fn json(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= LINE || !(value.is_object() || value.is_array()) {
        let indented = format!("{value:#}");
        let (shown, is_cut) = bounded(&indented);
        return format!("<pre class=\"json\">{}</pre>{}", code_spans(shown, "json"), cut_note(is_cut));
    }
    let mut tree = JsonTree { html: String::new(), open: if text.len() <= SMALL { usize::MAX } else { OPEN_LEVELS }, is_cut: false };
    tree.part(None, value, 0);
    format!("<div class=\"json\">{}</div>{}", tree.html, cut_note(tree.is_cut))
}

struct JsonTree {
    html: String,
    open: usize,
    is_cut: bool,
}

impl JsonTree {
    fn part(&mut self, key: Option<&str>, value: &Value, level: usize) {
        // What is rendered is bounded, whatever the value.
        if self.html.len() > MOST_CHARS {
            self.is_cut = true;
            return;
        }
        let name = key.map(|key| format!("<span class=\"hl-name\">{}</span>: ", escape(key))).unwrap_or_default();
        let children: Vec<(Option<&str>, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(key, value)| (Some(key.as_str()), value)).collect(),
            Value::Array(list) => list.iter().map(|value| (None, value)).collect(),
            _ => Vec::new(),
        };
        let is_line = children.is_empty() || level >= MOST_LEVELS || is_short(value);
        // Writing to a string does not fail.
        let _ = if is_line {
            let text = value.to_string();
            let (shown, is_cut) = bounded(&text);
            self.is_cut |= is_cut;
            write!(self.html, "<div>{name}{}</div>", code_spans(shown, "json"))
        } else {
            let (what, begin, end) = if value.is_array() { ("value", '[', ']') } else { ("key", '{', '}') };
            let open = if level < self.open { " open" } else { "" };
            let count = count(children.len(), what);
            write!(self.html, "<details{open}><summary>{name}{begin}…{end} <small>{count}</small></summary>")
        };
        if is_line {
            return;
        }
        for (key, value) in children {
            self.part(key, value, level + 1);
        }
        self.html.push_str("</details>");
    }
}

/// Whether a part fits on a line, without writing all of it.
fn is_short(value: &Value) -> bool {
    fn room(value: &Value, left: usize) -> Option<usize> {
        match value {
            Value::String(text) => left.checked_sub(text.len() + 3),
            Value::Array(list) => list.iter().try_fold(left.checked_sub(2)?, |left, value| room(value, left)),
            Value::Object(map) => {
                map.iter().try_fold(left.checked_sub(2)?, |left, (key, value)| room(value, left.checked_sub(key.len() + 4)?))
            }
            other => left.checked_sub(other.to_string().len() + 1),
        }
    }
    room(value, LINE).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;

    #[test]
    fn small_values_are_text_and_large_ones_fold() {
        assert!(json(&value!({"a": 1})).starts_with("<pre class=\"json\">"));
        let long = "x".repeat(80);
        let tree = json(&value!({"name": long, "list": [1, 2], "deep": {"<b>": long}}));
        let summary = "<details open><summary>{…} <small>3 keys</small></summary><div><span class=\"hl-name\">name</span>: ";
        assert!(tree.starts_with(&format!("<div class=\"json\">{summary}")), "{tree}");
        assert!(tree.contains("<span class=\"hl-name\">deep</span>: {…} <small>1 key</small>") && tree.contains("&lt;b&gt;"), "{tree}");
        assert_eq!((tree.matches("<details").count(), tree.matches("</details>").count()), (2, 2));
        let large = value!((0..300).map(|number| value!({"number": number, "text": long})).collect::<Vec<_>>());
        let tree = json(&large);
        assert_eq!((tree.matches("<details open>").count() > 0, tree.contains("300 values")), (true, true));
        assert!(tree.contains("<p class=\"cut\">") && tree.len() < 2 * MOST_CHARS, "{}", tree.len());
    }

    #[test]
    fn depth_is_bounded() {
        let deep = (0..100).fold(value!("x".repeat(80)), |inner, _| value!([inner]));
        let tree = json(&deep);
        assert_eq!(tree.matches("<details").count(), MOST_LEVELS);
        assert_eq!(tree.matches("</details>").count(), MOST_LEVELS);
    }
}
