//! `haft run --schema`: exactly one JSON value that fits, or a failure that says why.

use haft_testkit::Round;
use serde_json::{Value, json};

use super::harness::World;
use super::model::{Talk, done, in_every_protocol};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {"title": {"type": "string"}, "pages": {"type": "integer", "minimum": 1}, "note": {"type": ["string", "null"]}},
    "required": ["title", "pages"],
    "additionalProperties": false
}"#;

fn gives(output: Value) -> Round {
    Round::Calls(vec![("c1".into(), "structured_output".into(), output)])
}

fn talk(protocol: &'static str, schema: &str, rounds: Vec<Round>) -> Talk {
    let talk = Talk::new(protocol, rounds);
    talk.world.write("schema.json", schema);
    talk
}

#[test]
fn output_is_exactly_the_json_after_retries_and_text() {
    in_every_protocol(|protocol| {
        let output = json!({"title": "  Axe \n", "pages": 3, "note": null});
        let rounds = vec![gives(json!({"title": "Axe", "pages": 0})), Round::Text("Let me think.".into()), gives(output.clone())];
        let talk = talk(protocol, SCHEMA, rounds);
        let ran = talk.says(&["--schema", "schema.json", "describe"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, format!("{output}\n").as_str()), "{protocol}: {ran:?}");
        let asked = talk.server.asked();
        assert_eq!(asked.len(), 3, "{protocol}: the turn ends with the output");
        let sent = asked[0].body["tools"].to_string();
        assert!(sent.contains("structured_output") && sent.contains("pages"), "{protocol}: {sent}");
        let told = asked[1].body.to_string();
        assert!(told.contains("does not fit the schema") && told.contains("'pages'"), "{protocol}: {told}");
        assert_eq!(talk.faults(), Vec::<String>::new(), "{protocol}");
    });
}

#[test]
fn output_that_is_no_object_is_printed_as_it_is() {
    in_every_protocol(|protocol| {
        let schema = r##"{"type": "array", "items": {"$ref": "#/$defs/name"}, "$defs": {"name": {"type": "string"}}}"##;
        let talk = talk(protocol, schema, vec![gives(json!({"output": ["a", ""]}))]);
        let ran = talk.says(&["--schema", "schema.json", "list"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "[\"a\",\"\"]\n"), "{protocol}: {ran:?}");
        let events = talk.next(vec![gives(json!({"output": []}))]).turn(&["--schema", "schema.json", "list"]);
        assert_eq!((events.code, &events.end()["output"]), (0, &json!([])), "{protocol}");
    });
}

#[test]
fn model_that_never_gives_output_is_asked_again_and_then_fails() {
    in_every_protocol(|protocol| {
        let talk = talk(protocol, SCHEMA, vec![done(), done(), done(), done()]);
        let ran = talk.says(&["--schema", "schema.json", "describe"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{protocol}: {ran:?}");
        assert!(ran.stderr.contains("gave no structured output"), "{protocol}: {ran:?}");
        assert_eq!(talk.server.asked().len(), 3, "{protocol}: bounded");
    });
}

#[test]
fn schema_that_nothing_satisfies_ends_after_some_tries() {
    in_every_protocol(|protocol| {
        let schema = r#"{"type": "object", "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 4}}, "required": ["n"]}"#;
        let talk = talk(protocol, schema, (0..9).map(|number| gives(json!({"n": number}))).collect());
        let ran = talk.says(&["--schema", "schema.json", "count"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{protocol}: {ran:?}");
        assert!(ran.stderr.contains("5 outputs of the model did not fit the schema. Parameter 'n'"), "{protocol}: {ran:?}");
        assert_eq!(talk.server.asked().len(), 5, "{protocol}: bounded");
    });
}

#[test]
fn schema_file_that_cannot_be_used_is_refused_before_the_model_is_asked() {
    let talk = Talk::new("openai", vec![done()]);
    for (name, text, words) in [
        ("gone.json", None, "No such file"),
        ("text.json", Some("title: string"), "it is not JSON"),
        ("odd.json", Some(r#"{"type": "strin"}"#), "strin"),
        ("never.json", Some("false"), "nothing satisfies"),
        ("self.json", Some(r##"{"type": "object", "properties": {"next": {"$ref": "#"}}}"##), "refers to itself"),
    ] {
        if let Some(text) = text {
            talk.world.write(name, text);
        }
        let ran = talk.says(&["--schema", name, "describe"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{name}: {ran:?}");
        assert!(ran.stderr.contains(words), "{name}: {ran:?}");
    }
    assert_eq!(talk.server.asked().len(), 0);
    talk.world.write("schema.json", SCHEMA);
    talk.configure("[tools]\ndeny = [\"structured_output\"]\n");
    let ran = talk.says(&["--schema", "schema.json", "describe"]);
    assert!(ran.code == 2 && ran.stderr.contains("does not offer the tool structured_output"), "{ran:?}");
}

#[test]
fn tool_is_not_offered_where_nobody_wants_output() {
    let talk = Talk::new("openai", vec![Round::Calls(vec![("c1".into(), "StructuredOutput".into(), json!({"a": 1}))]), done()]);
    let ran = talk.says(&["hello"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!talk.server.asked()[0].body["tools"].to_string().contains("structured_output"));
    assert!(talk.results()[0].1.to_string().contains("Nobody asked for structured output here"), "{:?}", talk.results());
    let (code, refused) = World::new().call("structured_output", &json!({"a": 1}));
    assert_eq!((code, &refused["error_type"]), (1, &json!("execution_error")), "{refused}");
}
