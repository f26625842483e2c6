//! Argument text → a value: bounded, and with no key given twice.

use std::fmt;

use haft_contract::ToolError;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

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
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| ToolError::validation(format!("The arguments are not valid JSON: {error}. Send one JSON object.")))
}

/// A value in which no object has a key twice: two readers could disagree about which one counts.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is out of range"))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Strict)?;
            match map.entry(key) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(place) => return Err(A::Error::custom(format!("the key '{}' is given twice", place.key()))),
            };
        }
        Ok(Value::Object(map))
    }
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
