//! Rewrites that keep a schema from becoming narrower when a keyword is dropped.

use serde_json::{Map, Value, json};

/// Replaces `const` by an `enum` of one.
pub(super) fn replace_const(schema: &mut Map<String, Value>) {
    if let Some(value) = schema.shift_remove("const") {
        schema.entry("enum").or_insert_with(|| json!([value]));
    }
}

/// Drops `patternProperties`; names that match a pattern must not fall under `additionalProperties`.
pub(super) fn open_patterns(schema: &mut Map<String, Value>) {
    if schema.shift_remove("patternProperties").is_some() {
        schema.insert("additionalProperties".into(), Value::Bool(true));
    }
}

/// Drops `prefixItems`; the first elements must not fall under `items`.
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

/// Drops required names that are no properties: providers refuse them.
pub(super) fn drop_undeclared_required(schema: &mut Map<String, Value>) {
    let described = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| described.contains_key(name)));
        if required.is_empty() {
            schema.shift_remove("required");
        }
    }
}

/// The types of a schema.
pub(super) fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(name) => name.as_str().into_iter().collect(),
        None => Vec::new(),
    }
}
