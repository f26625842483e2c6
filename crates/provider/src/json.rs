//! JSON that borrows from the event it was parsed from. Most of a stream is read once and dropped, so strings are not copied and
//! objects are plain lists: several times as fast as a tree of maps.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// Initial capacity of an object: most have no more fields.
const FIELDS: usize = 6;

/// A JSON value that borrows from its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventJson<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<EventJson<'a>>),
    Object(Vec<(Cow<'a, str>, EventJson<'a>)>),
}

impl<'a> EventJson<'a> {
    /// Parses an event. Fields of the event itself that no protocol needs are passed over: they are half of most streams.
    pub(crate) fn event(text: &'a str) -> serde_json::Result<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let event = reader.deserialize_any(EventVisitor)?;
        reader.end()?;
        Ok(event)
    }
}

impl EventJson<'_> {
    /// The value of a field; `null` if absent. The last of several counts.
    pub(crate) fn at(&self, name: &str) -> &Self {
        self.get(name).unwrap_or(&Self::Null)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The string in a field; empty if absent.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.at(name).as_str().unwrap_or_default()
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    /// The elements of a list; empty for anything else.
    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// An owned copy.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone().into_owned()),
            Self::List(values) => values.iter().map(Self::to_value).collect(),
            Self::Object(fields) => fields.iter().map(|(name, value)| (name.clone().into_owned(), value.to_value())).collect(),
        }
    }
}

/// Whether the text is one complete JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl<'de> Deserialize<'de> for EventJson<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// What servers say with every event about the whole answer, or only to make its size unknown.
fn is_needless(field: &str) -> bool {
    matches!(
        field,
        "id" | "object"
            | "created"
            | "model"
            | "service_tier"
            | "system_fingerprint"
            | "obfuscation"
            | "modelVersion"
            | "responseId"
            | "logprobs"
    )
}

/// As [`JsonVisitor`], for the outermost object of an event.
struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = EventJson<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventJson<'de>, A::Error> {
        let mut fields = Vec::with_capacity(FIELDS);
        while let Some(FieldName(name)) = map.next_key()? {
            if is_needless(&name) {
                map.next_value::<IgnoredAny>()?;
            } else {
                fields.push((name, map.next_value()?));
            }
        }
        Ok(EventJson::Object(fields))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<EventJson<'de>, A::Error> {
        JsonVisitor.visit_seq(list)
    }
    fn visit_unit<E>(self) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Null)
    }
    fn visit_bool<E>(self, truth: bool) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Bool(truth))
    }
    fn visit_u64<E>(self, number: u64) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Number(number.into()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Number(number.into()))
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<EventJson<'de>, E> {
        JsonVisitor.visit_f64(number)
    }
    fn visit_str<E>(self, text: &str) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Text(Cow::Owned(text.to_owned())))
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = EventJson<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Null)
    }
    fn visit_bool<E>(self, truth: bool) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Bool(truth))
    }
    fn visit_u64<E>(self, number: u64) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Number(number.into()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Number(number.into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<EventJson<'de>, E> {
        Ok(Number::from_f64(number).map_or(EventJson::Null, EventJson::Number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<EventJson<'de>, E> {
        Ok(EventJson::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<EventJson<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(EventJson::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventJson<'de>, A::Error> {
        let mut fields = Vec::with_capacity(FIELDS);
        while let Some((FieldName(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(EventJson::Object(fields))
    }
}

/// A field name; serde would always copy a plain `Cow`.
struct FieldName<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for FieldName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(JsonVisitor)? {
            EventJson::Text(name) => Ok(Self(name)),
            _ => Ok(Self(Cow::Borrowed(""))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> EventJson<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn strings_are_borrowed() {
        let json = read(r#"{"plain": "text", "esc\"aped": "a\nb", "number": 7, "list": [1, "x"], "again": 1, "again": 2}"#);
        assert!(matches!(json.at("plain"), EventJson::Text(Cow::Borrowed("text"))));
        assert_eq!((json.text("esc\"aped"), json.text("number"), json.text("gone")), ("a\nb", "", ""));
        assert_eq!((json.at("number").as_u64(), json.at("plain").as_u64(), json.at("again").as_u64()), (Some(7), None, Some(2)));
        assert_eq!((json.at("list").list().len(), json.at("plain").list().len()), (2, 0));
        assert!(json.at("gone").is_null() && json.get("gone").is_none() && json.is_object());
    }

    #[test]
    fn events_are_read_without_what_nobody_needs() {
        let text = r#"{"id":"a\"","object":{"x":[1]},"choices":[{"id":"b","model":"c"}],"usage":null,"obfuscation":"xy"}"#;
        let expected = json!({"choices": [{"id": "b", "model": "c"}], "usage": null});
        assert_eq!(EventJson::event(text).unwrap().to_value(), expected);
        for (text, value) in [("[1]", json!([1])), ("\"x\"", json!("x")), ("7", json!(7)), ("-7", json!(-7)), ("1.5", json!(1.5))] {
            assert_eq!(EventJson::event(text).unwrap().to_value(), value);
        }
        for text in ["", "{", r#"{"id":}"#, r#"{"id":"a"} x"#, r#"{"id":tru}"#] {
            assert!(EventJson::event(text).is_err(), "{text}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "[a-zäß漢\"\\\\ \n]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from);
            prop_oneof![list, prop::collection::vec(("[a-z\"]{0,3}", inner), 0..12).prop_map(|fields| fields.into_iter().collect())]
        })
    }

    proptest! {
        #[test]
        fn values_equal_those_of_serde_json(value in value()) {
            let text = value.to_string();
            prop_assert_eq!(read(&text).to_value(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn invalid_json_is_an_error() {
        for text in ["", "{", "[1,]", "{\"a\":}", "nul", "1 2", "\"\u{1}\""] {
            assert!(serde_json::from_str::<EventJson<'_>>(text).is_err(), "{text}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(serde_json::from_str::<EventJson<'_>>(&deep).is_err(), "bounded");
        assert_eq!(json!([1]).to_string(), read("[1]").to_value().to_string());
    }
}
