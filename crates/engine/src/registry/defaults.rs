//! Defaults that their own schemas refuse: a call that leaves such a parameter out would fail.

use haft_contract::schema::{SchemaFault, type_name};
use serde_json::Value;

use crate::validator::Validator;

/// Keywords that the plain check below knows, or that constrain nothing. Other schemas are left to the validator, which takes longer.
const PLAIN: &[&str] = &["type", "enum", "default", "description", "minimum", "maximum", "properties", "items", "examples"];

/// Every default in a schema that the schema refuses.
pub(super) fn faults(parameters: &Value) -> Vec<SchemaFault> {
    let mut faults = Vec::new();
    collect(parameters, "parameters", &mut faults);
    faults
}

fn collect(schema: &Value, path: &str, faults: &mut Vec<SchemaFault>) {
    let Value::Object(map) = schema else { return };
    if let Some(default) = map.get("default")
        && !allows(schema, default)
    {
        let problem = format!("the default {default} does not fit its own schema; change one of them");
        faults.push(SchemaFault { path: path.to_owned(), problem });
    }
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        collect(property, &format!("{path}.properties.{name}"), faults);
    }
    if let Some(items) = map.get("items") {
        collect(items, &format!("{path}.items"), faults);
    }
}

fn allows(schema: &Value, value: &Value) -> bool {
    // Nothing in it could break a rule on its items: a validator would cost more than the start of the program.
    let is_empty = value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(serde_json::Map::is_empty);
    let is_scalar = !value.is_array() && !value.is_object();
    let is_plain = schema.as_object().is_some_and(|map| map.keys().all(|key| PLAIN.contains(&key.as_str()) || key.starts_with("x-")));
    if (is_scalar || is_empty) && is_plain {
        return allows_plain(schema, value);
    }
    // A schema that cannot be compiled is refused when the tool is first called, with the reason.
    Validator::compile(schema).map_or(true, |validator| validator.is_valid(value))
}

fn allows_plain(schema: &Value, value: &Value) -> bool {
    let fits_type = match (schema["type"].as_str(), type_name(value)) {
        (None, _) | (Some("number"), "integer") => true,
        (Some("integer"), "number") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        (Some(wanted), found) => wanted == found,
    };
    let is_choice = schema["enum"].as_array().is_none_or(|choices| choices.contains(value));
    let number = value.as_f64();
    let is_beyond =
        |key: &str, beyond: fn(&f64, &f64) -> bool| number.zip(schema[key].as_f64()).is_some_and(|(number, limit)| beyond(&number, &limit));
    fits_type && is_choice && !is_beyond("minimum", f64::lt) && !is_beyond("maximum", f64::gt)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_are_checked_at_every_depth() {
        for (property, is_fault) in [
            (json!({"type": "integer", "default": 3}), false),
            (json!({"type": "integer", "default": 3.0}), false),
            (json!({"type": "number", "default": 3}), false),
            (json!({"type": "integer", "default": "3"}), true),
            (json!({"type": "integer", "default": 0, "minimum": 1}), true),
            (json!({"type": "integer", "default": 9, "maximum": 5}), true),
            (json!({"type": "string", "enum": ["a", "b"], "default": "a"}), false),
            (json!({"type": "string", "enum": ["a", "b"], "default": "c"}), true),
            (json!({"type": "string", "pattern": "^x", "default": "y"}), true),
            (json!({"type": "string", "minLength": 2, "default": "long"}), false),
            (json!({"type": "array", "items": {"type": "string"}, "default": []}), false),
            (json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "default": []}), true),
            (json!({"type": "string", "default": []}), true),
            (json!({"type": "array", "default": {}}), true),
            (json!({"type": "object", "default": {}}), false),
            (json!({"enum": [[]], "default": []}), false),
            (json!({"enum": ["a"], "default": []}), true),
            (json!({"type": "array", "items": {"type": "string"}, "default": [1]}), true),
            (json!({"type": "object", "required": ["a"], "default": {}}), true),
            (json!({"type": "object", "properties": {"a": {"type": "boolean", "default": "yes"}}}), true),
            (json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "boolean", "default": 1}}}}), true),
        ] {
            let schema = json!({"type": "object", "properties": {"p": property}});
            assert_eq!(!faults(&schema).is_empty(), is_fault, "{schema}");
        }
        let inner = json!({"type": "object", "properties": {"a": {"type": "string", "default": 1}}});
        assert_eq!(faults(&json!({"type": "object", "properties": {"p": inner}}))[0].path, "parameters.properties.p.properties.a");
    }
}
