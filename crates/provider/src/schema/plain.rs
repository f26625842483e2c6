//! JSON Schema for OpenAI, Anthropic and current Gemini: an allow-list of keywords, and the widening it requires.

use serde_json::{Map, Value, json};

use super::resolve::add_literal_type;
use super::widen::{drop_undeclared_required, open_patterns, open_tuple, replace_const, types};
use crate::{Model, Protocol};

/// Keywords for Anthropic and non-strict OpenAI.
#[rustfmt::skip]
const WIDE: [&str; 28] = [
    "type", "title", "description", "default", "examples", "enum", "const", "anyOf",
    "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties",
    "items", "prefixItems", "minItems", "maxItems", "uniqueItems",
    "pattern", "format", "minLength", "maxLength",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
];
/// Keywords that Google documents for Gemini; references are inlined.
#[rustfmt::skip]
const GEMINI: [&str; 15] = [
    "type", "title", "description", "format", "enum", "anyOf",
    "properties", "required", "additionalProperties",
    "items", "prefixItems", "minItems", "maxItems",
    "minimum", "maximum",
];

/// The keywords that a model accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keywords<'a> {
    allowed: &'static [&'static str],
    dropped: &'a [String],
    /// Gemini: `enum` accepts only strings and numbers.
    simple_literals: bool,
}

impl<'a> Keywords<'a> {
    pub(super) fn for_model(model: &'a Model) -> Self {
        let gemini = model.protocol == Protocol::Gemini;
        Self { allowed: if gemini { &GEMINI } else { &WIDE }, dropped: &model.dropped_keywords, simple_literals: gemini }
    }

    pub(super) fn has(self, keyword: &str) -> bool {
        self.allowed.contains(&keyword) && !self.dropped.iter().any(|dropped| dropped == keyword)
    }
}

/// Projects the root schema.
pub(super) fn project(root: &Map<String, Value>, keywords: Keywords<'_>) -> Result<Map<String, Value>, String> {
    let projected = schema(root, keywords);
    let is_empty = |keyword: &str| root.get(keyword).and_then(Value::as_object).is_none_or(Map::is_empty);
    if is_empty("properties") && !is_empty("patternProperties") && !projected.contains_key("patternProperties") {
        return Err("its parameters are named by patterns only, which this model cannot be told".into());
    }
    Ok(projected)
}

fn schema(original: &Map<String, Value>, keywords: Keywords<'_>) -> Map<String, Value> {
    let source = widened(original, keywords);
    let mut projected = Map::new();
    for (keyword, value) in &source {
        if keywords.has(keyword) {
            projected.insert(keyword.clone(), inside(keyword, value, keywords));
        }
    }
    if types(&source).contains(&"array") && keywords.has("items") {
        // Providers refuse an array without `items`.
        projected.entry("items").or_insert_with(|| json!({}));
    }
    projected
}

fn widened(original: &Map<String, Value>, keywords: Keywords<'_>) -> Map<String, Value> {
    let mut source = original.clone();
    if !keywords.has("const") {
        replace_const(&mut source);
    }
    if !keywords.has("patternProperties") {
        open_patterns(&mut source);
    }
    if !keywords.has("prefixItems") {
        open_tuple(&mut source);
    }
    if keywords.simple_literals {
        simplify_literals(&mut source);
    }
    count_closed_tuple(&mut source);
    drop_undeclared_required(&mut source);
    source
}

fn inside(keyword: &str, value: &Value, keywords: Keywords<'_>) -> Value {
    match (keyword, value) {
        ("properties" | "patternProperties", Value::Object(members)) => {
            members.iter().map(|(name, member)| (name.clone(), subschema(member, keywords))).collect()
        }
        ("items" | "additionalProperties", _) => subschema(value, keywords),
        ("anyOf" | "prefixItems", Value::Array(parts)) => parts.iter().map(|part| subschema(part, keywords)).collect(),
        _ => value.clone(),
    }
}

fn subschema(value: &Value, keywords: Keywords<'_>) -> Value {
    value.as_object().map_or_else(|| value.clone(), |map| Value::Object(schema(map, keywords)))
}

/// Replaces `items: false` by `maxItems`: not every provider accepts a boolean schema.
fn count_closed_tuple(source: &mut Map<String, Value>) {
    if source.get("items") == Some(&Value::Bool(false)) {
        source.shift_remove("items");
        let length = source.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        let most = source.get("maxItems").and_then(Value::as_u64).map_or(json!(length), |most| json!(most.min(length as u64)));
        source.insert("maxItems".into(), most);
    }
}

/// Drops an `enum` with other values than strings and numbers; if the only other one is null, null becomes a variant.
fn simplify_literals(source: &mut Map<String, Value>) {
    let Some(Value::Array(literals)) = source.get("enum") else { return };
    if literals.iter().all(|literal| literal.is_string() || literal.is_number()) {
        return;
    }
    let simple: Vec<Value> = literals.iter().filter(|literal| !literal.is_null()).cloned().collect();
    let null_alone = !simple.is_empty() && simple.iter().all(|literal| literal.is_string() || literal.is_number());
    source.shift_remove("enum");
    if null_alone && !source.contains_key("anyOf") {
        source.shift_remove("type");
        let mut listed = Map::from_iter([("enum".to_owned(), Value::Array(simple))]);
        add_literal_type(&mut listed);
        source.insert("anyOf".into(), json!([listed, {"type": "null"}]));
    }
}
