use serde_json::json;

use super::*;

fn table() -> ParameterTable {
    ParameterTable::new(&ToolDefinition::new(
        "t",
        "d",
        json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "x-aliases": ["path"]},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "deep": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "headers": {"type": "object"},
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"old_text": {"type": "string", "x-aliases": ["before"]}, "deep": {"type": "boolean"}},
                        "required": ["old_text"]
                    }
                },
                "mode": {"type": "string", "enum": ["overwrite", "append"], "default": "overwrite", "x-choices": {"add_to": "append"}},
                "content": {"type": "string", "x-verbatim": true}
            },
            "required": ["file_path"]
        }),
    ))
}

fn read(arguments: Value) -> (Value, Vec<String>) {
    let Value::Object(mut map) = arguments else { panic!("not an object") };
    let warnings = table().read(&mut map).unwrap().warnings;
    (Value::Object(map), warnings)
}

#[test]
fn every_reader_of_seed_004_section_5() {
    let quiet = |arguments: Value, expected: Value| {
        let (mut value, warnings) = read(arguments.clone());
        value.as_object_mut().unwrap().shift_remove("mode");
        assert_eq!((value, warnings), (expected, vec![]), "{arguments}");
    };
    quiet(json!({"filePath": "a"}), json!({"file_path": "a"}));
    quiet(json!({"FilePath": "a"}), json!({"file_path": "a"}));
    quiet(json!({"path": "a"}), json!({"file_path": "a"}));
    quiet(json!({"file_path": "  a "}), json!({"file_path": "a"}));
    quiet(json!({"file_path": 5}), json!({"file_path": "5"}));
    quiet(json!({"file_path": "a", "count": "7"}), json!({"file_path": "a", "count": 7}));
    quiet(json!({"file_path": "a", "count": "7.0"}), json!({"file_path": "a", "count": 7}));
    quiet(json!({"file_path": "a", "count": 7.0}), json!({"file_path": "a", "count": 7}));
    quiet(json!({"file_path": "a", "ratio": "0.5"}), json!({"file_path": "a", "ratio": 0.5}));
    quiet(json!({"file_path": "a", "deep": "True"}), json!({"file_path": "a", "deep": true}));
    quiet(json!({"file_path": "a", "tags": "x"}), json!({"file_path": "a", "tags": ["x"]}));
    quiet(json!({"file_path": "a", "tags": "[\"x\",\"y\"]"}), json!({"file_path": "a", "tags": ["x", "y"]}));
    quiet(json!({"file_path": "a", "tags": [1, "y"]}), json!({"file_path": "a", "tags": ["1", "y"]}));
    quiet(json!({"file_path": "a", "headers": "{\"x\":1}"}), json!({"file_path": "a", "headers": {"x": 1}}));
    quiet(json!({"file_path": "a", "count": null}), json!({"file_path": "a"}));
    quiet(json!({"file_path": "a", "count": ""}), json!({"file_path": "a"}));
    quiet(json!({"file_path": "a", "content": " x "}), json!({"file_path": "a", "content": " x "}));
    quiet(json!({"file_path": "a", "content": ""}), json!({"file_path": "a", "content": ""}));
}

#[test]
fn object_in_place_of_a_choice_is_opened() {
    for (arguments, expected, warned) in [
        (json!({"file_path": "a", "mode": {"mode": "append", "count": "7"}}), json!({"file_path": "a", "mode": "append", "count": 7}), 0),
        (
            json!({"file_path": "a", "count": 1, "mode": {"mode": "ADD_TO", "count": 7}}),
            json!({"file_path": "a", "count": 1, "mode": "append"}),
            0,
        ),
        (json!({"file_path": "a", "mode": {"mode": "append", "other": 1}}), json!({"file_path": "a", "mode": "append", "other": 1}), 1),
        // What says no choice stays, and is refused.
        (json!({"file_path": "a", "mode": {"count": 7}}), json!({"file_path": "a", "mode": {"count": 7}}), 0),
        (
            json!({"file_path": "a", "headers": {"mode": "x"}, "mode": "append"}),
            json!({"file_path": "a", "headers": {"mode": "x"}, "mode": "append"}),
            0,
        ),
    ] {
        let (read, warnings) = read(arguments.clone());
        assert_eq!((read, warnings.len()), (expected, warned), "{arguments}");
    }
}

#[test]
fn the_objects_of_a_list_are_spelled_as_freely() {
    for (steps, expected) in [
        (json!([{"oldText": " a "}, {"before": ""}, "x"]), json!([{"old_text": " a "}, {"old_text": ""}, "x"])),
        (json!({"before": "a", "Deep": true}), json!([{"old_text": "a", "deep": true}])),
        (json!("[{\"before\": \"a\"}]"), json!([{"old_text": "a"}])),
        (json!([{"before": 5, "deep": "TRUE"}]), json!([{"old_text": "5", "deep": true}])),
        (json!([{"before": "a", "deep": null}]), json!([{"old_text": "a"}])),
        (json!([{"before": null}]), json!([{"old_text": null}])),
        (json!(["{\"before\": \"a\", \"deep\": \"false\"}"]), json!([{"old_text": "a", "deep": false}])),
    ] {
        assert_eq!(read(json!({"path": "a", "steps": steps})), (json!({"mode": "overwrite", "file_path": "a", "steps": expected}), vec![]));
    }
    let (_, warnings) = read(json!({"path": "a", "steps": [{"old_text": "a", "before": "b", "colour": 1}]}));
    assert_eq!(warnings, ["'before' was ignored: 'old_text' is given as well", "unknown parameter 'colour' was ignored"]);
}

#[test]
fn defaults_and_enum_case_are_settled() {
    assert_eq!(read(json!({"file_path": "a"})).0["mode"], "overwrite");
    assert_eq!(read(json!({"file_path": "a", "mode": "APPEND"})).0["mode"], "append");
    assert_eq!(read(json!({"file_path": "a", "mode": "prepend"})).0["mode"], "prepend");
    for spelling in ["add_to", "add-to", "addTo"] {
        assert_eq!(read(json!({"file_path": "a", "mode": spelling})).0["mode"], "append");
    }
}

#[test]
fn unknown_parameters_are_kept_and_reported() {
    let (value, warnings) = read(json!({"file_path": "a", "colour": "red", "path": "b"}));
    assert_eq!(value["colour"], "red");
    assert_eq!(warnings, ["unknown parameter 'colour' was ignored", "'path' was ignored: 'file_path' is given as well"]);
}

#[test]
fn very_many_unknown_parameters_are_counted() {
    let many: Map<String, Value> = (0..1000).map(|n| (format!("x{n}"), json!(n))).chain([("path".to_owned(), json!("a"))]).collect();
    let (_, warnings) = read(Value::Object(many));
    assert_eq!((warnings.len(), warnings[20].as_str()), (21, "and 980 more"));
}

#[test]
fn what_says_nothing_is_missing() {
    for arguments in [json!({}), json!({"file_path": null}), json!({"file_path": ""}), json!({"file_path": "  "})] {
        let Value::Object(mut map) = arguments else { unreachable!() };
        let error = table().read(&mut map).unwrap_err();
        assert!(
            error.message().starts_with("Missing required parameter: 'file_path'. Expected: t(file_path: string, count?: integer"),
            "{error}"
        );
    }
}

#[test]
fn keys_fold_to_snake_case() {
    for (key, folded) in [
        ("filePath", "file_path"),
        ("HTTPUrl", "http_url"),
        ("URL", "url"),
        ("max-chars", "max_chars"),
        ("a1B", "a1_b"),
        ("ÄrgerMich", "ärger_mich"),
    ] {
        assert_eq!(folded_key(key), folded);
    }
}

#[test]
fn values_at_every_depth_have_their_types() {
    let point =
        json!({"type": "object", "properties": {"x": {"type": "integer"}, "labels": {"type": "array", "items": {"type": "string"}}}});
    let schema = json!({
        "type": "object",
        "properties": {
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "point": point,
            "lines": {"type": "array", "items": {"type": "array", "items": point}}
        }
    });
    let table = ParameterTable::new(&ToolDefinition::new("t", "d", schema));
    for (arguments, expected) in [
        (json!({"numbers": ["1", 2.0, 3]}), json!({"numbers": [1, 2, 3]})),
        (json!({"numbers": "[\"1\"]"}), json!({"numbers": [1]})),
        (json!({"point": {"x": "7", "labels": [1, true]}}), json!({"point": {"x": 7, "labels": ["1", "true"]}})),
        (json!({"point": "{\"X\": \"7\"}"}), json!({"point": {"x": 7}})),
        (json!({"lines": [[{"x": "1"}], [{"x": 2, "labels": " a "}]]}), json!({"lines": [[{"x": 1}], [{"x": 2, "labels": [" a "]}]]})),
        (json!({"numbers": ["one"]}), json!({"numbers": ["one"]})),
    ] {
        let Value::Object(mut map) = arguments.clone() else { panic!("not an object") };
        let reading = table.read(&mut map).unwrap();
        assert_eq!((Value::Object(map), reading.changed), (expected.clone(), arguments != expected), "{arguments}");
    }
}
