//! Every keyword of JSON Schema, compiled.
//!
//! To compile one schema for all keywords takes longer than the start of a program. So schemas of plain keywords, which are nearly all,
//! are compiled by the small validator, which takes the same there; the whole one is asked what is wrong with a value.

use std::sync::OnceLock;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::{flat, no_choice, within, wrong, wrong_type};
use crate::stages::arguments::missing;

/// The names of types.
const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];
/// From here on not every whole number is a `f64`, in which the small validator compares.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Validator {
    /// For a schema of plain keywords, with that schema.
    plain: Option<(flat::Validator, Value)>,
    whole: OnceLock<Result<jsonschema::Validator, String>>,
}

impl Validator {
    /// Compiles a schema; the error says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let plain = flat::Validator::compile(schema).ok().filter(|_| is_plain(schema));
        if let Some(plain) = plain {
            return Ok(Self { plain: Some((plain, schema.clone())), whole: OnceLock::new() });
        }
        let whole = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
        Ok(Self { plain: None, whole: OnceLock::from(Ok(whole)) })
    }

    fn whole(&self) -> Result<&jsonschema::Validator, &str> {
        let compile = || {
            let schema = self.plain.as_ref().map_or(&Value::Null, |(_, schema)| schema);
            jsonschema::validator_for(schema).map_err(|error| error.to_string())
        };
        self.whole.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.plain.as_ref().is_some_and(|(plain, _)| plain.is_valid(value)) || self.whole().is_ok_and(|whole| whole.is_valid(value))
    }

    /// What is wrong with a value: a sentence for each fault, with its path.
    pub(crate) fn faults(&self, value: &Value, most: usize) -> Vec<String> {
        if self.plain.as_ref().is_some_and(|(plain, _)| plain.is_valid(value)) {
            return Vec::new();
        }
        match self.whole() {
            Ok(whole) => whole.iter_errors(value).take(most).map(|error| describe(&error)).collect(),
            Err(why) => vec![wrong("", why)],
        }
    }
}

/// Whether both validators take the same by this schema: no dialect, no pattern, no format, and no number that a `f64` is not.
fn is_plain(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return schema.is_boolean() };
    map.iter().all(|(key, value)| match key.as_str() {
        "type" => value.as_str().is_some_and(|name| TYPES.contains(&name)),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.as_f64().is_some_and(|limit| limit.abs() < EXACT),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => value.is_u64(),
        "items" | "additionalProperties" => is_plain(value),
        "properties" => value.as_object().is_some_and(|properties| properties.values().all(is_plain)),
        "title" | "description" => value.is_string(),
        "enum" | "required" | "examples" => value.is_array(),
        "default" => true,
        other => other.starts_with("x-"),
    })
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let name = path.trim_start_matches('/').replace('/', ".");
    let got = error.instance();
    match error.kind() {
        ValidationErrorKind::Type { .. } => {
            let text = error.to_string();
            wrong_type(&name, text.rsplit('"').nth(1).unwrap_or("another type"), got)
        }
        ValidationErrorKind::Enum { options } => no_choice(&name, options.as_array().map(Vec::as_slice).unwrap_or_default(), got),
        ValidationErrorKind::Required { property } => missing(&within(&name, property.as_str().unwrap_or_default())),
        _ => wrong(&name, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_validator_is_used_where_both_take_the_same() {
        for (property, expected) in [
            (json!({"type": "string", "description": "d", "x-rare": true, "default": "a", "enum": ["a"]}), true),
            (json!({"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": false}, "minItems": 1}), true),
            (json!({"type": "integer", "minimum": 0, "maximum": 4_294_967_295_u64}), true),
            (json!({"type": "integer", "maximum": u64::MAX}), false),
            (json!({"type": "string", "pattern": "^a"}), false),
            (json!({"type": "string", "format": "uri"}), false),
            (json!({"type": "number", "multipleOf": 0.1}), false),
            (json!({"type": ["string", "null"]}), false),
            (json!({"anyOf": [{"type": "string"}]}), false),
            (json!({"items": {"$ref": "#"}}), false),
        ] {
            let schema = json!({"type": "object", "properties": {"p": property}, "required": ["p"]});
            assert_eq!(Validator::compile(&schema).unwrap().plain.is_some(), expected, "{schema}");
        }
        assert!(Validator::compile(&json!({"type": "strange"})).is_err(), "what is no schema is refused");
    }

    #[test]
    fn whole_validator_is_compiled_by_the_first_fault() {
        let validator = Validator::compile(&json!({"type": "object", "properties": {"n": {"type": "integer"}}})).unwrap();
        assert!(validator.is_valid(&json!({"n": 1})) && validator.faults(&json!({"n": 1}), 1).is_empty());
        assert!(validator.whole.get().is_none());
        assert!(!validator.is_valid(&json!({"n": "x"})));
        assert_eq!(validator.faults(&json!({"n": "x"}), 9), ["Parameter 'n' expected type 'integer' but got string: \"x\"."]);
        assert!(validator.whole.get().is_some());
    }
}
