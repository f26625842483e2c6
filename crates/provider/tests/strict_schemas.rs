//! Strict schemas of OpenAI.
#![allow(clippy::unwrap_used, reason = "a test stops at the first failure")]

use haft_provider::schema::{ProjectedSchema, project};
use haft_provider::{Model, Protocol};
use serde_json::{Map, Value, json};

fn projected(parameters: &Value) -> ProjectedSchema {
    project(&Model::new("p", Protocol::OpenAi, "m"), parameters).unwrap()
}

fn with(property: &Value) -> Value {
    json!({"type": "object", "properties": {"a": property}, "required": ["a"]})
}

#[test]
fn strict_schema_is_closed_and_loses_only_notes() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "D", "default": "x", "examples": ["y"]},
            "rows": {"type": "array", "minItems": 1, "items": {
                "type": "object", "properties": {"n": {"type": ["integer", "null"], "minimum": 0}}, "required": ["n"]
            }},
            "mode": {"anyOf": [{"const": "a"}, {"type": "integer"}]}
        },
        "required": ["mode", "path", "rows"]
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "D"},
            "rows": {"type": "array", "minItems": 1, "items": {
                "type": "object", "properties": {"n": {"type": ["integer", "null"], "minimum": 0}}, "required": ["n"], "additionalProperties": false
            }},
            "mode": {"anyOf": [{"const": "a", "type": "string"}, {"type": "integer"}]}
        },
        "required": ["path", "rows", "mode"],
        "additionalProperties": false
    });
    assert_eq!(projected(&parameters), ProjectedSchema { value: expected.clone(), strict: true });
    let responses = project(&Model::new("p", Protocol::OpenAiResponses, "m"), &parameters).unwrap();
    assert_eq!(responses, ProjectedSchema { value: expected, strict: true });
    for protocol in [Protocol::Anthropic, Protocol::Gemini] {
        assert!(!project(&Model::new("p", protocol, "m"), &parameters).unwrap().strict, "{protocol}");
    }
}

#[test]
fn tool_without_parameters_is_strict() {
    let expected = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    assert_eq!(projected(&json!({"type": "object"})), ProjectedSchema { value: expected, strict: true });
}

#[test]
fn schemas_that_are_not_strict() {
    let table = [
        (json!({"type": "string"}), true),
        (json!({"type": "string", "pattern": "^[a-z]+\\(\\?$", "format": "uuid"}), true),
        (json!({"type": "number", "multipleOf": 2, "exclusiveMinimum": 0}), true),
        (json!({"type": "string", "minLength": 1}), false),
        (json!({"type": "string", "format": "uri"}), false),
        (json!({"type": "string", "pattern": "^(?!a)"}), false),
        (json!({"type": "string", "pattern": "(a)\\1"}), false),
        (json!({}), false),
        (json!({"type": "array"}), false),
        (json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}), false),
        (json!({"type": "object"}), false),
        (json!({"type": "object", "properties": {}}), false),
        (json!({"type": "object", "properties": {}, "additionalProperties": false}), true),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), false),
        (json!({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": true}), false),
        (json!({"type": "object", "properties": {"b": {"type": "string"}}}), false),
        (json!({"type": "string", "anyOf": [{"const": "a"}, {"const": "b"}]}), false),
    ];
    for (property, strict) in table {
        assert_eq!(projected(&with(&property)).strict, strict, "{property}");
    }
}

#[test]
fn model_without_additional_properties_gets_no_strict_schema() {
    let mut model = Model::new("p", Protocol::OpenAi, "m");
    model.dropped_keywords = vec!["additionalProperties".into()];
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(project(&model, &map).unwrap(), ProjectedSchema { value: json!({"type": "object", "properties": {}}), strict: false });
}

#[test]
fn schema_beyond_a_limit_is_not_strict() {
    let many = |count: usize| {
        let properties: Map<String, Value> = (0..count).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        let required: Vec<&String> = properties.keys().collect();
        json!({"type": "object", "properties": properties, "required": required})
    };
    let nested = |levels: usize| (1..levels).fold(json!({"type": "string"}), |inner, _| with(&inner));
    let literals = |count: usize, length: usize| {
        let values: Vec<String> = (0..count).map(|n| format!("{n:0>length$}")).collect();
        with(&json!({"type": "string", "enum": values}))
    };
    let named =
        |length: usize| json!({"type": "object", "properties": {"x".repeat(length): {"type": "string"}}, "required": ["x".repeat(length)]});
    let table = [
        ("properties", many(5_000), many(5_001)),
        ("levels", nested(10), nested(11)),
        ("literals", literals(1_000, 4), literals(1_001, 4)),
        ("a long list", literals(251, 59), literals(251, 60)),
        ("names", named(120_000), named(120_001)),
    ];
    for (what, within, beyond) in table {
        assert_eq!((projected(&within).strict, projected(&beyond).strict), (true, false), "{what}");
    }
}
