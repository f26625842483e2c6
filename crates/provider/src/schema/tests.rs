#![allow(clippy::unwrap_used, reason = "a test stops at the first failure")]

use serde_json::{Value, json};

use super::{ProjectedSchema, project};
use crate::{Model, Protocol};

fn model(protocol: Protocol) -> Model {
    Model::new("p", protocol, "m")
}

fn legacy() -> Model {
    let mut model = model(Protocol::Gemini);
    model.legacy_schema = true;
    model
}

/// The projection of one property, in a tool that has an optional one too, so that nothing is strict.
fn property(model: &Model, property: &Value) -> Value {
    let parameters = json!({"type": "object", "properties": {"a": property, "b": {"type": "string"}}, "required": ["b"]});
    project(model, &parameters).unwrap().value["properties"]["a"].clone()
}

#[test]
fn keywords_by_protocol() {
    let rich = json!({
        "$comment": "x", "x-note": 1, "title": "T", "description": "D", "type": "string", "minLength": 1, "maxLength": 9,
        "pattern": "^a", "format": "date", "default": "a", "examples": ["a"], "const": "a", "not": {"const": "b"}
    });
    let wide = json!({
        "title": "T", "description": "D", "type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "date",
        "default": "a", "examples": ["a"], "const": "a"
    });
    assert_eq!(property(&model(Protocol::OpenAi), &rich), wide);
    assert_eq!(property(&model(Protocol::OpenAiResponses), &rich), wide);
    assert_eq!(property(&model(Protocol::Anthropic), &rich), wide);
    assert_eq!(
        property(&model(Protocol::Gemini), &rich),
        json!({"title": "T", "description": "D", "type": "string", "format": "date", "enum": ["a"]})
    );
    assert_eq!(property(&legacy(), &rich), json!({"type": "STRING", "enum": ["a"], "description": "D"}));
}

#[test]
fn dropped_keywords_are_dropped_everywhere() {
    let nested = json!({"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 2, "enum": ["ab"]}});
    for protocol in Protocol::ALL {
        let mut model = model(protocol);
        model.dropped_keywords = ["minItems", "minLength", "enum"].map(String::from).to_vec();
        assert_eq!(property(&model, &nested), json!({"type": "array", "items": {"type": "string"}}), "{protocol}");
    }
    let mut legacy = legacy();
    legacy.dropped_keywords = vec!["enum".into()];
    assert_eq!(property(&legacy, &nested), json!({"type": "ARRAY", "items": {"type": "STRING"}}));
}

#[test]
fn projection_never_narrows_a_schema() {
    let tuple = json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    let patterns = json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false});
    let mut without_tuples = model(Protocol::OpenAi);
    without_tuples.dropped_keywords = vec!["prefixItems".into()];
    assert_eq!(property(&without_tuples, &tuple), json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}));
    assert_eq!(property(&model(Protocol::Gemini), &tuple), tuple);
    assert_eq!(property(&model(Protocol::Gemini), &patterns), json!({"type": "object", "additionalProperties": true}));
    assert_eq!(property(&model(Protocol::Anthropic), &patterns), patterns);
}

#[test]
fn malformed_keywords_and_bare_arrays_are_fixed() {
    let table = [
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (json!({"type": "array", "items": [{"type": "string"}]}), json!({"type": "array", "items": {}})),
        (json!({"type": "array", "items": false}), json!({"type": "array", "maxItems": 0, "items": {}})),
        (
            json!({"type": "array", "prefixItems": [{}], "items": false}),
            json!({"type": "array", "prefixItems": [{}], "maxItems": 1, "items": {}}),
        ),
        (json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}), json!({"type": "integer", "minimum": 1})),
        (json!({"type": "object", "properties": {}, "required": true}), json!({"type": "object", "properties": {}})),
        (json!({"type": "object", "properties": {}, "required": ["gone"]}), json!({"type": "object", "properties": {}})),
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a", "b"], "type": "string"})),
        (json!(true), json!({})),
        (json!({"oneOf": [{"type": "string"}, {}]}), json!({})),
    ];
    for (original, expected) in table {
        assert_eq!(property(&model(Protocol::Anthropic), &original), expected, "{original}");
    }
}

#[test]
fn references_and_all_of_are_inlined() {
    let parameters = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/List%3CText%3E", "description": "Names."},
            "two": {"$ref": "#/properties/one"},
            "three": {"allOf": [{"$ref": "#/definitions/Base"}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}
        },
        "$defs": {"List<Text>": {"type": "array", "items": {"type": "string"}, "description": "A list."}},
        "definitions": {"Base": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}
    });
    assert_eq!(
        project(&model(Protocol::Anthropic), &parameters).unwrap().value,
        json!({
            "type": "object",
            "properties": {
                "one": {"description": "Names.", "type": "array", "items": {"type": "string"}},
                "two": {"description": "Names.", "type": "array", "items": {"type": "string"}},
                "three": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "required": ["a", "b"]
                }
            }
        })
    );
}

#[test]
fn references_of_older_drafts_keep_only_notes_beside_them() {
    let parameters = |draft: &str| {
        json!({
            "$schema": draft, "type": "object", "definitions": {"N": {"type": "integer"}},
            "properties": {"n": {"$ref": "#/definitions/N", "minimum": 5, "description": "D"}}
        })
    };
    let n = |draft| project(&model(Protocol::Gemini), &parameters(draft)).unwrap().value["properties"]["n"].clone();
    assert_eq!(n("http://json-schema.org/draft-07/schema#"), json!({"description": "D", "type": "integer"}));
    assert_eq!(n("https://json-schema.org/draft/2020-12/schema"), json!({"minimum": 5, "description": "D", "type": "integer"}));
}

#[test]
fn root_union_becomes_one_object() {
    let parameters = json!({
        "type": "object",
        "properties": {"dry_run": {"type": "boolean"}},
        "oneOf": [
            {"properties": {"action": {"const": "add"}, "text": {"type": "string"}}, "required": ["action", "text"]},
            {"properties": {"action": {"const": "move"}, "text": {"type": "integer"}, "to": {"type": "integer"}}, "required": ["action", "to"]},
            {"type": "string"}
        ]
    });
    for protocol in Protocol::ALL {
        let action = json!({"type": "string", "enum": ["add", "move"]});
        assert_eq!(
            project(&model(protocol), &parameters),
            Ok(ProjectedSchema {
                value: json!({
                    "type": "object",
                    "required": ["action"],
                    "properties": {
                        "dry_run": {"type": "boolean"},
                        "action": action,
                        "text": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                        "to": {"type": "integer"}
                    }
                }),
                strict: false
            }),
            "{protocol}"
        );
    }
}

#[test]
fn schema_that_cannot_be_projected_is_refused_with_the_reason() {
    let deep = (0..40).fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let mut bomb = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": {}});
    for level in 0..14 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        bomb["$defs"][format!("l{level}")] = json!({"type": "object", "properties": {"x": next, "y": next}});
    }
    bomb["$defs"]["l14"] = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let table = [
        (json!({"type": "string"}), "its parameters are of type \"string\"; they must be an object"),
        (json!(false), "its parameters accept nothing"),
        (json!([]), "a schema must be an object, not []"),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "none of the variants of its parameters is an object"),
        (object(json!({"a": {"$ref": "#"}})), "its schema refers to itself through '#' (at 'a.a')"),
        (object(json!({"a": {"$ref": "#/$defs/x"}})), "'#/$defs/x' is not found in its schema (at 'a')"),
        (object(json!({"a": {"$ref": "https://example.org/x.json"}})), "'https://example.org/x.json' is not found in its schema (at 'a')"),
        (object(json!({"a": {"$dynamicRef": "#x"}})), "'$dynamicRef' cannot be inlined (at 'a')"),
        (object(json!({"a": {"type": "text"}})), "\"text\" is not a type (at 'a')"),
        (object(json!({"a": {"type": []}})), "its list of types is empty (at 'a')"),
        (object(json!({"a": 5})), "a schema must be an object, not 5 (at 'a')"),
        (bomb, "its schema has more than 10000 parts after inlining references (at 'a."),
        (deep, "its schema is nested deeper than 32 levels (at 'a.a."),
    ];
    for (parameters, why) in table {
        for model in Protocol::ALL.map(model).into_iter().chain([legacy()]) {
            let error = project(&model, &parameters).unwrap_err();
            assert!(error == why || (why.ends_with('.') && error.starts_with(why)), "{error}");
        }
    }
}

#[test]
fn refused_parameter_names_drop_one_tool_only() {
    let with =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "object", "properties": {"any thing": {"type": "string"}}}}});
    let table = [
        ("filter[id]", [true, true, false, true, false]),
        ("a.b-c", [true, true, true, true, false]),
        ("9a", [true, true, true, true, false]),
        (&"x".repeat(65), [true, true, false, true, false]),
        ("_ok9", [true; 5]),
    ];
    for (name, expected) in table {
        let models =
            [model(Protocol::OpenAi), model(Protocol::OpenAiResponses), model(Protocol::Anthropic), model(Protocol::Gemini), legacy()];
        assert_eq!(models.map(|model| project(&model, &with(name)).is_ok()), expected, "{name}");
    }
    let error = project(&model(Protocol::Anthropic), &with("filter[id]")).unwrap_err();
    assert_eq!(
        error,
        "its parameter 'filter[id]' has a name that anthropic refuses; it accepts at most 64 ASCII alphanumerics, '_', '.' and '-'"
    );
}

#[test]
fn parameters_without_fixed_names() {
    let patterns = json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let all = [model(Protocol::OpenAi), model(Protocol::Anthropic), model(Protocol::Gemini), legacy()];
    assert_eq!(all.clone().map(|model| project(&model, &patterns).is_ok()), [true, true, false, false]);
    assert_eq!(all.map(|model| project(&model, &map).is_ok()), [true, true, true, false]);
    assert_eq!(
        project(&model(Protocol::Gemini), &patterns).unwrap_err(),
        "its parameters are named by patterns only, which this model cannot be told"
    );
    assert_eq!(project(&legacy(), &map).unwrap_err(), "its parameters have no fixed names, which this model cannot be told");
    assert_eq!(project(&legacy(), &json!({})).unwrap().value, json!({"type": "OBJECT", "properties": {}}));
}

#[test]
fn gemini_legacy_form() {
    let anything = |more: Value| {
        let names = ["STRING", "NUMBER", "BOOLEAN", "OBJECT"].map(|name| json!({"type": name, "nullable": true}));
        json!({"anyOf": names.into_iter().chain(more.as_array().unwrap().clone()).collect::<Vec<_>>()})
    };
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    let table = [
        (json!({"type": ["string", "null"]}), json!({"type": "STRING", "nullable": true})),
        (
            json!({"type": ["string", "integer"], "description": "D"}),
            json!({"anyOf": [
            {"type": "STRING", "description": "D"}, {"type": "INTEGER", "description": "D"}]}),
        ),
        (
            json!({"anyOf": [{"const": "a", "description": "A."}, {"const": "b", "description": "B."}, {"const": "c"}, {"type": "null"}], "description": "D"}),
            json!({"type": "STRING", "enum": ["a", "b", "c"], "description": "D a: A. b: B.", "nullable": true}),
        ),
        (json!({"anyOf": [text, {"type": "null"}]}), json!({"type": "STRING", "nullable": true})),
        (json!({"oneOf": [text, number, text]}), json!({"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]})),
        (json!({"type": "integer", "enum": [1, 2], "description": "D."}), json!({"type": "INTEGER", "description": "D. One of 1, 2."})),
        (json!({"enum": ["", "a"]}), json!({"type": "STRING", "description": "One of \"\", \"a\"."})),
        (
            json!({"type": "array"}),
            json!({"type": "ARRAY", "items": anything(json!([{"type": "ARRAY", "items": anything(json!([])), "nullable": true}]))}),
        ),
        (json!({"type": "array", "prefixItems": [text], "items": false}), json!({"type": "ARRAY", "items": {"type": "STRING"}})),
        (
            json!({"type": "object", "anyOf": [{"required": ["x"]}, {"required": ["y"]}], "properties": {"x": text, "y": text}}),
            json!({"anyOf": [
                {"type": "OBJECT", "properties": {"x": {"type": "STRING"}, "y": {"type": "STRING"}}, "required": ["x"]},
                {"type": "OBJECT", "properties": {"x": {"type": "STRING"}, "y": {"type": "STRING"}}, "required": ["y"]}]}),
        ),
        (json!({"type": "object", "additionalProperties": text, "minProperties": 1}), json!({"type": "OBJECT"})),
        (
            json!({"properties": {"x": text}, "required": ["x", "gone"]}),
            json!({"type": "OBJECT", "properties": {"x": {"type": "STRING"}}, "required": ["x"]}),
        ),
        (json!({"type": "null"}), json!({"type": "STRING", "nullable": true})),
    ];
    for (original, expected) in table {
        assert_eq!(property(&legacy(), &original), expected, "{original}");
    }
}

#[test]
fn gemini_enums_are_strings_and_numbers() {
    let table = [
        (json!({"enum": ["a", 1]}), json!({"enum": ["a", 1]})),
        (json!({"type": "boolean", "enum": [true]}), json!({"type": "boolean"})),
        (json!({"type": ["string", "null"], "enum": ["a", null]}), json!({"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]})),
        (json!({"enum": ["a", true, null]}), json!({})),
    ];
    for (original, expected) in table {
        assert_eq!(property(&model(Protocol::Gemini), &original), expected, "{original}");
    }
}
