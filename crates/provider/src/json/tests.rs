use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> EventTree<'_> {
    EventTree::event(text).unwrap()
}

#[test]
fn strings_are_borrowed() {
    let tree = read(r#"{"plain": "text", "esc\"aped": "a\nb", "number": 7, "list": [1, "x"], "again": 1, "again": 2}"#);
    let json = tree.root();
    assert!(matches!(json.at("plain").value(), EventValue::Text(Cow::Borrowed("text"))));
    assert_eq!((json.text("esc\"aped"), json.text("number"), json.text("gone")), ("a\nb", "", ""));
    assert_eq!((json.at("number").as_u64(), json.at("plain").as_u64(), json.at("again").as_u64()), (Some(7), None, Some(2)));
    assert_eq!((json.at("list").list().count(), json.at("plain").list().count(), json.list().count()), (2, 0, 0));
    assert!(json.at("gone").is_null() && json.get("gone").is_none() && json.is_object());
    assert!(json.at("list").get("").is_none(), "elements have no names");
}

#[test]
fn events_are_read_without_what_nobody_needs() {
    let text = r#"{"id":"a\"","object":{"x":[1]},"choices":[{"id":"b","model":"c"}],"usage":null,"obfuscation":"xy"}"#;
    let expected = json!({"choices": [{"id": "b", "model": "c"}], "usage": null});
    assert_eq!(read(text).root().to_value(), expected);
    for (text, value) in [("[1]", json!([1])), ("\"x\"", json!("x")), ("7", json!(7)), ("-7", json!(-7)), ("1.5", json!(1.5))] {
        assert_eq!(read(text).root().to_value(), value);
    }
    for text in ["", "{", r#"{"id":}"#, r#"{"id":"a"} x"#, r#"{"id":tru}"#, r#"{"id":"\x"}"#, r#"{"id":"a\"#] {
        assert!(EventTree::event(text).is_err(), "{text}");
    }
}

#[test]
fn sums_of_counts_are_passed_over_in_the_event_alone() {
    let text =
        r#"{"usageMetadata": {"a": 1, "promptTokensDetails": [{"n": 1}], "b": 2}, "x": {"usageMetadata": {"promptTokensDetails": 3}}}"#;
    let expected = json!({"usageMetadata": {"a": 1, "b": 2}, "x": {"usageMetadata": {"promptTokensDetails": 3}}});
    assert_eq!(read(text).root().to_value(), expected);
    for text in [r#"{"usageMetadata": 7}"#, r#"{"usageMetadata": null}"#, r#"{"usageMetadata": {}}"#] {
        assert_eq!(read(text).root().to_value(), serde_json::from_str::<Value>(text).unwrap());
    }
}

#[test]
fn candidates_are_read_without_ratings_and_sources() {
    let text = r#"{"candidates": [{"content": {"parts": [{"text": "a", "role": "b"}], "role": "model"}, "index": 0, "finishReason": "STOP",
        "safetyRatings": [{"category": "C", "blocked": false, "n\"": [null, -1.5, {}]}], "groundingMetadata": {"a": {"b": []}}}],
        "usageMetadata": {"totalTokenCount": 7, "promptTokenCount": 3}, "content": {"role": 1}}"#;
    let candidate = json!({"content": {"parts": [{"text": "a", "role": "b"}]}, "finishReason": "STOP"});
    let expected = json!({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3}, "content": {"role": 1}});
    assert_eq!(read(text).root().to_value(), expected);
    for wrong in [r#"{"a" 1}"#, r#"{"a":1,}"#, "[1,]", "{1:2}", "[", r#"{"\x":1}"#, "[tru]", "[01]", "{]", "[}"] {
        let text = format!(r#"{{"candidates":[{{"index":{wrong}}}]}}"#);
        assert!(EventTree::event(&text).is_err(), "{text}");
    }
    let deep = format!(r#"{{"id":{}1{}}}"#, "[".repeat(130), "]".repeat(130));
    assert!(EventTree::event(&deep).is_err(), "no deeper than what is read");
}

#[test]
fn numbers_are_those_of_serde() {
    let texts =
        "0 7 -0 00 01 1. .5 1.5 1e3 12E-2 - + +1 1- 999999999999999999 1000000000000000000 18446744073709551615 18446744073709551616 1x";
    for text in texts.split(' ') {
        let (ours, theirs) = (EventTree::event(text), serde_json::from_str::<Value>(text));
        assert_eq!(ours.ok().map(|tree| tree.root().to_value()), theirs.ok(), "{text}");
    }
}

#[test]
fn objects_with_one_text_are_told_from_others() {
    for (text, expected) in [
        (r#"{"text": "x"}"#, Some("x")),
        (r#"{"text": "x", "thought": true}"#, None),
        (r#"{"other": "x"}"#, None),
        (r#"{"text": ["x"]}"#, None),
        (r#"{"text": 1}"#, None),
        ("{}", None),
        (r#"["x"]"#, None),
    ] {
        assert_eq!(read(text).root().only_text("text"), expected, "{text}");
    }
}

#[test]
fn objects_are_made_of_parts_of_others() {
    let (tree, number) = (read(r#"{"output":[{"type":"message","content":[{"text":"x"}]}]}"#), EventTree::of_number(7));
    let item = tree.root().at("output").list().next().unwrap();
    let made = EventTree::of_fields(&[("output_index", number.root()), ("item", item)]);
    assert_eq!(made.root().to_value(), json!({"output_index": 7, "item": {"type": "message", "content": [{"text": "x"}]}}));
    assert!(read("{\"a\": {}}").root().at("a").is_empty_object() && !made.root().is_empty_object());
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[a-zäß漢\"\\\\ \n\u{1}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from);
        prop_oneof![list, prop::collection::vec(("[a-z\"]{0,3}", inner), 0..12).prop_map(|fields| fields.into_iter().collect())]
    })
}

proptest! {
    #[test]
    fn values_equal_those_of_serde_json(value in value(), pretty: bool) {
        // In a list, where no field is passed over.
        let value = json!([value]);
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        prop_assert_eq!(read(&text).root().to_value(), serde_json::from_str::<Value>(&text).unwrap());
    }

    /// Any text is read as `serde_json` reads it, or refused where that refuses it.
    #[test]
    fn broken_texts_are_refused_as_by_serde_json(value in value(), at: prop::sample::Index, put in "[\\[\\]{}:,\"\\\\0-9.eE+a-z \u{1}-]{0,3}", cut in 0_usize..3) {
        let mut text: Vec<char> = json!([value]).to_string().chars().collect();
        let at = at.index(text.len());
        text.splice(at..(at + cut).min(text.len()), put.chars());
        let text: String = text.into_iter().collect();
        let expected = serde_json::from_str::<Value>(&text).ok();
        let is_event = text.trim_start().starts_with('{');
        prop_assert!(is_event || EventTree::event(&text).ok().map(|tree| tree.root().to_value()) == expected, "{}", text);
    }
}

#[test]
fn invalid_json_is_an_error() {
    for text in ["", "{", "[1,]", "{\"a\":}", "nul", "1 2", "\"\u{1}\"", "{,}", "{\"a\" 1}", "[1 2]", "01", "\"\\ud800\"", "\u{feff}1"] {
        assert!(EventTree::event(text).is_err(), "{text}");
    }
    for depth in [126, 127, 128, 200] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(EventTree::event(&deep).is_err(), serde_json::from_str::<Value>(&deep).is_err(), "{depth}");
    }
}
