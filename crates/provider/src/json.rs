//! JSON as it lies in an event. Most of what a stream holds is looked at once and dropped, so texts stay where they are and
//! objects are plain lists: that is several times as fast as a tree of maps.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// Room that an object begins with: most have no more fields.
const FIELDS: usize = 12;

/// A value that borrows from the text that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl Json<'_> {
    /// The value of a field; `null` where there is none. Of several the last counts.
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

    /// The text of a field; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.at(name).as_str().unwrap_or_default()
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    /// The elements of a list; none of anything else.
    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(values) = self { values } else { &[] }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The same, to be kept.
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

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, truth: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(truth))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut fields = Vec::with_capacity(FIELDS);
        while let Some((Name(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(Json::Object(fields))
    }
}

/// The name of a field: serde copies a `Cow` where it need not.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(Reader)? {
            Json::Text(name) => Ok(Self(name)),
            _ => Ok(Self(Cow::Borrowed(""))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Json<'_> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn texts_are_left_where_they_are() {
        let json = read(r#"{"plain": "text", "esc\"aped": "a\nb", "number": 7, "list": [1, "x"], "again": 1, "again": 2}"#);
        assert!(matches!(json.at("plain"), Json::Text(Cow::Borrowed("text"))));
        assert_eq!((json.text("esc\"aped"), json.text("number"), json.text("gone")), ("a\nb", "", ""));
        assert_eq!((json.at("number").as_u64(), json.at("plain").as_u64(), json.at("again").as_u64()), (Some(7), None, Some(2)));
        assert_eq!((json.at("list").list().len(), json.at("plain").list().len()), (2, 0));
        assert!(json.at("gone").is_null() && json.get("gone").is_none() && json.is_object());
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
        fn any_value_is_read_as_serde_reads_it(value in value()) {
            let text = value.to_string();
            prop_assert_eq!(read(&text).to_value(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for text in ["", "{", "[1,]", "{\"a\":}", "nul", "1 2", "\"\u{1}\""] {
            assert!(serde_json::from_str::<Json<'_>>(text).is_err(), "{text}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(serde_json::from_str::<Json<'_>>(&deep).is_err(), "bounded");
        assert_eq!(json!([1]).to_string(), read("[1]").to_value().to_string());
    }
}
