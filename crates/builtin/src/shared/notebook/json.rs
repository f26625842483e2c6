//! JSON that is read only as deep as it is looked at; the rest stays as it is written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// An object, in order and with doubles.
#[derive(Debug, Default)]
pub(super) struct Entries<'a>(pub(super) Vec<(String, &'a RawValue)>);

/// A list.
#[derive(Debug, Default)]
pub(super) struct Items<'a>(pub(super) Vec<&'a RawValue>);

/// A list of strings.
#[derive(Debug, Default)]
pub(super) struct Strings(pub(super) Vec<String>);

/// Reads a value; the error is in words.
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

/// A string that may hold half a character, as Python writes them: shown with a replacement character.
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

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let lines = Vec::<Lossy>::deserialize(deserializer)?;
        Ok(Self(lines.into_iter().map(|Lossy(line)| line).collect()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Items<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Items<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(Items(all))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Entries<'de>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    all.push(entry);
                }
                Ok(Entries(all))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
