//! Argument text → a value: bounded, and with no key given twice.

use haft_contract::ToolError;
use haft_contract::json::parse_strict;
use serde_json::{Map, Value};

/// Parses argument text. Empty text means no arguments. Depth is bounded by the JSON library (128 levels).
pub(crate) fn parse(text: &str, limit: usize) -> Result<Value, ToolError> {
    if text.len() > limit {
        return Err(ToolError::validation(format!(
            "The arguments are too large: {} bytes, at most {limit} are taken. Send less at once.",
            text.len()
        )));
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    parse_strict(text).map_err(|error| ToolError::validation(format!("The arguments are not valid JSON: {error}. Send one JSON object.")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_values_come_through() {
        let value = json!({"a": [1, -2, 1.5, true, null, "x"], "b": {"c": {}}});
        assert_eq!(parse(&value.to_string(), 1000).unwrap(), value);
        assert_eq!(parse("  ", 1000).unwrap(), json!({}));
    }

    #[test]
    fn bad_text_is_a_validation_error_that_says_where() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        for (text, said) in [
            ("{", "EOF"),
            ("nul", "line 1"),
            ("{} {}", "trailing"),
            (r#"{"a":1,"a":2}"#, "the key 'a' is given twice"),
            (r#"{"o":{"x":1,"x":1}}"#, "the key 'x' is given twice"),
            (r#"{"a":1e999}"#, "out of range"),
            (r#"{"a":"\ud800"}"#, "hex escape"),
            (r#"{"a":NaN}"#, "line 1"),
            (deep.as_str(), "recursion limit"),
        ] {
            let error = parse(text, 1 << 20).unwrap_err();
            assert!(error.message().contains(said), "{}: {}", &text[..text.len().min(40)], error.message());
        }
        assert!(parse(&"x".repeat(11), 10).unwrap_err().message().contains("11 bytes, at most 10"));
    }
}
