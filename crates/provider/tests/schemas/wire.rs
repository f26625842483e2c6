//! Schema faults that providers report, and the meaning of Gemini's older form.

use haft_provider::schema::ProjectedSchema;
use haft_provider::{Model, Protocol};
use serde_json::{Map, Value, json};

#[rustfmt::skip]
const LEGACY: [&str; 8] = ["type", "description", "enum", "items", "properties", "required", "nullable", "anyOf"];
#[rustfmt::skip]
const GEMINI: [&str; 15] = [
    "type", "title", "description", "format", "enum", "anyOf", "properties", "required", "additionalProperties", "items",
    "prefixItems", "minItems", "maxItems", "minimum", "maximum",
];
#[rustfmt::skip]
const STRICT: [&str; 19] = [
    "type", "title", "description", "enum", "const", "anyOf", "properties", "required", "additionalProperties", "items",
    "minItems", "maxItems", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
];
#[rustfmt::skip]
const PLAIN: [&str; 28] = [
    "type", "title", "description", "default", "examples", "enum", "const", "anyOf", "properties", "required",
    "additionalProperties", "patternProperties", "minProperties", "maxProperties", "items", "prefixItems", "minItems", "maxItems",
    "uniqueItems", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf",
];

/// Everything that the provider would refuse.
pub(crate) fn faults(model: &Model, projected: &ProjectedSchema) -> Vec<String> {
    let mut faults = Vec::new();
    let root = projected.value.as_object().unwrap();
    if root["type"] != json!(if model.legacy_schema { "OBJECT" } else { "object" }) || !root.contains_key("properties") {
        faults.push("the root is no object with properties".into());
    }
    if ["anyOf", "oneOf", "allOf", "enum", "not"].iter().any(|keyword| root.contains_key(*keyword)) {
        faults.push("a choice at the root".into());
    }
    each(&projected.value, &mut |schema| {
        faults.extend(node_faults(model, projected.strict, schema).into_iter().map(|fault| format!("{fault} in {}", json!(schema))));
    });
    faults
}

fn node_faults(model: &Model, strict: bool, schema: &Map<String, Value>) -> Vec<&'static str> {
    let mut faults = Vec::new();
    let allowed: &[&str] = match (model.protocol, model.legacy_schema, strict) {
        (Protocol::Gemini, true, _) => &LEGACY,
        (Protocol::Gemini, false, _) => &GEMINI,
        (_, _, true) => &STRICT,
        _ => &PLAIN,
    };
    let dropped = |keyword: &String| model.dropped_keywords.contains(keyword);
    if schema.keys().any(|keyword| !allowed.contains(&keyword.as_str()) || dropped(keyword)) {
        faults.push("a keyword that it does not take");
    }
    let names = |name: &str| {
        schema.get("type").is_some_and(|types| *types == json!(name) || types.as_array().is_some_and(|types| types.contains(&json!(name))))
    };
    if (names("array") || names("ARRAY")) && !schema.contains_key("items") {
        faults.push("an array without items");
    }
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required: Vec<&str> = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if required.iter().any(|name| !properties.contains_key(*name)) {
        faults.push("something required that is not described");
    }
    if strict && names("object") && (required.len() != properties.len() || schema.get("additionalProperties") != Some(&json!(false))) {
        faults.push("an object that is not closed");
    }
    if strict && schema.contains_key("type") == schema.contains_key("anyOf") {
        faults.push("no type");
    }
    let literals = schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
    if model.protocol == Protocol::Gemini && !literals.iter().all(|literal| literal.is_string() || literal.is_number()) {
        faults.push("a literal that is neither text nor a number");
    }
    if model.legacy_schema {
        faults.extend(legacy_faults(schema, &literals));
    }
    faults
}

fn legacy_faults(schema: &Map<String, Value>, literals: &[Value]) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if schema.contains_key("anyOf") {
        if schema.len() != 1 {
            faults.push("something beside a choice");
        }
    } else if !schema.get("type").and_then(Value::as_str).is_some_and(|name| name.chars().all(char::is_uppercase)) {
        faults.push("no type in capitals");
    }
    if !literals.iter().all(|literal| literal.as_str().is_some_and(|text| !text.is_empty())) {
        faults.push("a literal that is no text");
    }
    faults
}

/// Visits every schema.
fn each(value: &Value, visit: &mut dyn FnMut(&Map<String, Value>)) {
    let Value::Object(schema) = value else { return };
    visit(schema);
    for keyword in ["properties", "patternProperties"] {
        schema.get(keyword).and_then(Value::as_object).into_iter().flatten().for_each(|(_, member)| each(member, visit));
    }
    for keyword in ["items", "additionalProperties"] {
        schema.get(keyword).into_iter().for_each(|member| each(member, visit));
    }
    for keyword in ["anyOf", "prefixItems"] {
        schema.get(keyword).and_then(Value::as_array).into_iter().flatten().for_each(|member| each(member, visit));
    }
}

/// Gemini's older form as the JSON Schema that it stands for.
pub(crate) fn as_json_schema(value: &Value) -> Value {
    let Value::Object(schema) = value else { return value.clone() };
    let mut plain = Map::new();
    for (keyword, value) in schema {
        let meant = match keyword.as_str() {
            "type" => json!(value.as_str().unwrap().to_lowercase()),
            "properties" => value.as_object().unwrap().iter().map(|(name, member)| (name.clone(), as_json_schema(member))).collect(),
            "items" => as_json_schema(value),
            "anyOf" => value.as_array().unwrap().iter().map(as_json_schema).collect(),
            "nullable" => continue,
            _ => value.clone(),
        };
        plain.insert(keyword.clone(), meant);
    }
    if schema.get("nullable") == Some(&json!(true)) { json!({"anyOf": [plain, {"type": "null"}]}) } else { Value::Object(plain) }
}
