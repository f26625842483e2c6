//! The small validator, beside the whole one.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn object(property: &Value) -> Value {
    json!({"type": "object", "properties": {"p": property}, "required": ["p"]})
}

#[test]
fn faults_are_said_in_the_words_of_the_whole_validator() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 9},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}}
        },
        "required": ["n"]
    });
    for (value, fault) in [
        (json!({"n": 1}), None),
        (json!({}), Some("Missing required parameter: 'n'.")),
        (json!({"n": "1"}), Some("Parameter 'n' expected type 'integer' but got string: \"1\".")),
        (json!({"n": 1, "mode": "c"}), Some("Parameter 'mode' must be one of: a, b (got \"c\").")),
        (json!({"n": 1, "list": [{"x": true}, {}]}), Some("Missing required parameter: 'list.1.x'.")),
        (json!({"n": 1, "list": [{"x": 1}]}), Some("Parameter 'list.0.x' expected type 'boolean' but got integer: 1.")),
    ] {
        let flat: Vec<String> = Validator::compile(&schema).unwrap().faults(&value, 1);
        assert_eq!(flat.first().map(String::as_str), fault, "{value}");
        #[cfg(feature = "json-schema")]
        assert_eq!(crate::validator::full::Validator::compile(&schema).unwrap().faults(&value, 1), flat, "{value}");
    }
}

#[test]
fn keyword_that_it_does_not_know_is_refused_with_the_feature_that_knows_it() {
    let schema = object(&json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}}));
    let why = Validator::compile(&schema).unwrap_err();
    assert_eq!(why, "the keyword 'patternProperties' needs the feature 'json-schema' of the crate haft");
    assert!(Validator::compile(&object(&json!({"type": "string", "pattern": "("}))).is_err());
    assert!(Validator::compile(&json!(1)).is_err());
}

fn schemas() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "string", "minLength": 2, "maxLength": 4})),
        Just(json!({"type": "string", "pattern": "^a.c$"})),
        Just(json!({"type": "integer", "minimum": -1, "exclusiveMaximum": 3})),
        Just(json!({"type": "number", "exclusiveMinimum": 0, "maximum": 2.5, "multipleOf": 0.5})),
        Just(json!({"enum": ["a", 1, {"x": 2}, [1, 2]]})),
        Just(json!({"const": 1.0})),
        Just(json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2, "uniqueItems": true})),
        Just(json!({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1, "maxProperties": 2})),
        Just(json!({"type": "object", "properties": {"x": {"type": "boolean"}}, "additionalProperties": false})),
        Just(json!({"description": "anything"})),
        Just(json!(true)),
        Just(json!(false)),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        (-3_i64..4).prop_map(|value| json!(value)),
        (-6_i32..7).prop_map(|halves| json!(f64::from(halves) / 2.0)),
        "[abc]{0,5}".prop_map(|value| json!(value)),
    ];
    scalar.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|value| json!(value)),
            proptest::collection::btree_map("[xy]", inner, 0..3).prop_map(|value| json!(value)),
        ]
    })
}

proptest! {
    #[test]
    #[cfg(feature = "json-schema")]
    fn both_validators_take_the_same(property in schemas(), value in values()) {
        let schema = object(&property);
        let value = json!({"p": value});
        let (small, whole) = (Validator::compile(&schema).unwrap(), jsonschema::is_valid(&schema, &value));
        prop_assert_eq!(small.is_valid(&value), whole, "{} by {}", value, schema);
        prop_assert_eq!(small.faults(&value, 1).is_empty(), whole, "{} by {}", value, schema);
        prop_assert_eq!(crate::validator::full::Validator::compile(&schema).unwrap().is_valid(&value), whole);
    }
}
