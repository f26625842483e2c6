//! What has to be said differently when a keyword cannot be said, so that the rest does not become narrower.

use serde_json::{Map, Value, json};

/// A constant as a list of one.
pub(super) fn replace_const(schema: &mut Map<String, Value>) {
    if let Some(value) = schema.shift_remove("const") {
        schema.entry("enum").or_insert_with(|| json!([value]));
    }
}

/// Names that match a pattern must not fall to `additionalProperties` when the patterns are gone.
pub(super) fn open_patterns(schema: &mut Map<String, Value>) {
    if schema.shift_remove("patternProperties").is_some() {
        schema.insert("additionalProperties".into(), Value::Bool(true));
    }
}

/// The first elements must not fall to `items` when their own schemas are gone.
pub(super) fn open_tuple(schema: &mut Map<String, Value>) {
    let Some(Value::Array(mut forms)) = schema.shift_remove("prefixItems") else { return };
    match schema.shift_remove("items") {
        Some(Value::Bool(false)) => {}
        Some(rest) => forms.push(rest),
        None => forms.push(json!({})),
    }
    if !forms.is_empty() {
        schema.insert("items".into(), json!({"anyOf": forms}));
    }
}

/// What is required must be described: providers refuse a name that is not among the properties.
pub(super) fn keep_described(schema: &mut Map<String, Value>) {
    let described = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| described.contains_key(name)));
        if required.is_empty() {
            schema.shift_remove("required");
        }
    }
}

/// The types that a schema names.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(name) => name.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}
