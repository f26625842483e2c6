//! JSON that is parsed one level at a time; deeper values stay raw.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// An object, in order and with duplicate keys.
#[derive(Debug, Default)]
pub(super) struct JsonEntries<'a>(pub(super) Vec<(String, &'a RawValue)>);

/// A list.
#[derive(Debug, Default)]
pub(super) struct JsonItems<'a>(pub(super) Vec<&'a RawValue>);

/// A list of strings.
#[derive(Debug, Default)]
pub(super) struct JsonStrings(pub(super) Vec<String>);

/// Parses a value; the error is a message.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => "it is not a JSON object".into(),
        _ => format!("it is not JSON: {error}"),
    })
}

/// A string, if the value is one.
pub(super) fn string(value: &str) -> Option<String> {
    serde_json::from_str::<Lossy>(value).ok().map(|Lossy(text)| text)
}

/// A string that may have a lone surrogate, as Python writes them: it becomes a replacement character.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Lossy;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Text)
    }
}

impl<'de> Deserialize<'de> for JsonStrings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let lines = Vec::<Lossy>::deserialize(deserializer)?;
        Ok(Self(lines.into_iter().map(|Lossy(line)| line).collect()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonItems<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = JsonItems<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonItems<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(JsonItems(all))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonEntries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = JsonEntries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<JsonEntries<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    all.push(entry);
                }
                Ok(JsonEntries(all))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
