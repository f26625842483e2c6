//! For any schema and any input, what the original accepts, each projection accepts, and each projection is one that its
//! provider takes.
#![allow(clippy::unwrap_used, reason = "a test stops at the first failure")]

mod sample;
mod shape;
mod wire;

use haft_provider::schema::project;
use haft_provider::{Model, Protocol};
use proptest::prelude::*;
use serde_json::{Value, json};

use sample::Choices;
use shape::{Shape, parameters};

fn models() -> Vec<Model> {
    let mut legacy = Model::new("google", Protocol::Gemini, "old");
    legacy.legacy_schema = true;
    let mut picky = Model::new("xai", Protocol::OpenAi, "grok");
    picky.dropped_keywords =
        ["minLength", "maxLength", "minItems", "maxItems", "prefixItems", "patternProperties", "const"].map(String::from).into();
    Protocol::ALL.into_iter().map(|protocol| Model::new("p", protocol, "m")).chain([legacy, picky]).collect()
}

/// The schema that a provider goes by, as JSON Schema.
fn understood(model: &Model, projected: &Value) -> Value {
    if model.legacy_schema { wire::as_json_schema(projected) } else { projected.clone() }
}

fn check(shape: &Shape, seed: &[u8]) -> Result<(), TestCaseError> {
    let schema = shape.root_schema();
    let original = jsonschema::validator_for(&schema).unwrap();
    for model in models() {
        let projected = project(&model, &schema).map_err(TestCaseError::fail)?;
        prop_assert_eq!(wire::faults(&model, &projected), Vec::<String>::new(), "{}\n{}", schema, projected.value);
        let understood = understood(&model, &projected.value);
        prop_assert!(jsonschema::meta::is_valid(&understood), "{understood}");
        let validator = jsonschema::validator_for(&understood).unwrap();
        // What is not declared does not count where everything is closed.
        let mut choices = Choices::new(seed, !projected.strict);
        for _ in 0..4 {
            let input = shape.sample(&mut choices);
            prop_assert!(original.is_valid(&input), "the sample itself is wrong: {input} for {schema}");
            prop_assert!(validator.is_valid(&input), "{} refuses {input}\nof {schema}\nwith {understood}", model.protocol);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn projection_accepts_what_the_original_accepts(shape in parameters(), seed in proptest::collection::vec(any::<u8>(), 64)) {
        check(&shape, &seed)?;
    }
}

/// Schemas as the built-in tools have them, each with an input.
fn real() -> [(&'static str, Value, Value); 5] {
    [
        (
            "read_file",
            json!({"type": "object", "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace root.", "minLength": 1},
                "offset": {"type": "integer", "minimum": 1, "description": "First line, counted from 1."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 2_000}
            }, "required": ["path"]}),
            json!({"path": "a.txt", "offset": 3}),
        ),
        (
            "get_current_time",
            json!({"type": "object", "properties": {"timezone": {"type": "string", "description": "An IANA name."}}, "required": ["timezone"]}),
            json!({"timezone": "Asia/Tokyo"}),
        ),
        (
            "http_request",
            json!({"type": "object", "properties": {
                "method": {"type": "string", "enum": ["GET", "POST", "PUT"]},
                "url": {"type": "string", "format": "uri"},
                "headers": {"type": "object", "additionalProperties": {"type": "string"}},
                "body": {"description": "Text, or any JSON value."}
            }, "required": ["method", "url"]}),
            json!({"method": "POST", "url": "http://127.0.0.1/", "headers": {"X-A": "1"}, "body": {"a": [1, null]}}),
        ),
        (
            "todo_write",
            json!({"type": "object", "properties": {"todos": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"oneOf": [{"const": "pending", "description": "Not begun."}, {"const": "done"}]}
                },
                "required": ["content", "status"], "additionalProperties": false
            }}}, "required": ["todos"]}),
            json!({"todos": [{"content": "x", "status": "pending"}]}),
        ),
        (
            "query",
            json!({"type": "object", "properties": {
                "filter": {"$ref": "#/$defs/Filter", "description": "What to look for."},
                "limit": {"type": ["integer", "null"], "exclusiveMinimum": 0},
                "range": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}
            }, "required": ["filter"], "$defs": {"Filter": {"anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"all": {"type": "array", "items": {"type": "string"}}}, "required": ["all"]}
            ]}}}),
            json!({"filter": {"all": ["a"]}, "limit": null, "range": ["a", 1]}),
        ),
    ]
}

#[test]
fn real_schemas_match_golden_files() {
    for (name, schema, input) in real() {
        assert!(jsonschema::is_valid(&schema, &input), "{name}");
        let mut shown = serde_json::Map::new();
        for model in models() {
            let projected = project(&model, &schema).unwrap();
            assert_eq!(wire::faults(&model, &projected), Vec::<String>::new(), "{name}");
            assert!(jsonschema::is_valid(&understood(&model, &projected.value), &input), "{name} {}", projected.value);
            let label = format!("{} {}", model.provider, if model.legacy_schema { "older form" } else { model.protocol.as_str() });
            shown.insert(label, json!({"strict": projected.strict, "schema": projected.value}));
        }
        insta::assert_json_snapshot!(name, shown);
    }
}
