//! JSON that means the same to every reader.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A value in which no object has a key twice. `None` for other text: the arguments stage says what is wrong with it.
pub(crate) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str::<NoKeyTwice>(text).ok()?;
    serde_json::from_str(text).ok()
}

struct NoKeyTwice;

impl<'de> Deserialize<'de> for NoKeyTwice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for NoKeyTwice {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        let mut seen = HashSet::new();
        while let Some((key, Self)) = entries.next_entry::<String, Self>()? {
            if !seen.insert(key) {
                return Err(A::Error::custom("a key is given twice"));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_value_is_read_and_no_key_twice() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,1.5,"x",{"a":{}}],"b":{"a":1}}"#;
        let value = json!({"a": [null, true, -1, 18_446_744_073_709_551_615_u64, 1.5, "x", {"a": {}}], "b": {"a": 1}});
        assert_eq!(parse(text), Some(value));
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"[{"b":{"a":1,"a":2}}]"#, "{", "{} {}", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
