//! Names of parameters as every provider of models takes them.
//!
//! One name that a provider refuses, such as `$filter`, would take all tools of the request away.

use std::collections::HashSet;

use haft_text::hex;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

/// The longest name that every provider takes.
const MAX_NAME: usize = 64;
/// Digits that tell two names apart.
const SUFFIX: usize = 8;

/// A parameter that models know by another name than its server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RenamedParameter {
    /// What models are shown.
    pub(super) shown: String,
    /// What the server is sent.
    pub(super) own: String,
}

/// Whether every provider takes a name.
pub(super) fn is_taken(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

fn is_plain(ch: char) -> bool {
    ch.is_ascii_alphanumeric() || matches!(ch, '_' | '.' | '-')
}

/// Renames the parameters of an object schema that not every provider takes.
pub(super) fn rename(schema: &mut Map<String, Value>) -> Vec<RenamedParameter> {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return Vec::new() };
    if properties.keys().all(|name| is_taken(name)) {
        return Vec::new();
    }
    let mut used: HashSet<String> = properties.keys().filter(|name| is_taken(name)).cloned().collect();
    let (mut renamed, mut shown) = (Vec::new(), Map::new());
    for (own, property) in std::mem::take(properties) {
        let name = if is_taken(&own) { own.clone() } else { other_name(&own, &used) };
        if name != own {
            used.insert(name.clone());
            renamed.push(RenamedParameter { shown: name.clone(), own });
        }
        shown.insert(name, property);
    }
    *properties = shown;
    for name in schema.get_mut("required").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(other) = renamed.iter().find(|renamed| *name == renamed.own.as_str()) {
            *name = other.shown.as_str().into();
        }
    }
    renamed
}

/// The name in characters that every provider takes, and with digits of its own if another has it.
fn other_name(own: &str, used: &HashSet<String>) -> String {
    let plain: String = own.chars().map(|ch| if is_plain(ch) { ch } else { '_' }).collect();
    let plain = plain.trim_matches('_');
    if is_taken(plain) && !used.contains(plain) {
        return plain.to_owned();
    }
    let digits = hex::encode(digest(&SHA256, own.as_bytes()));
    format!("{}_{}", &plain[..plain.len().min(MAX_NAME - SUFFIX - 1)], &digits[..SUFFIX])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_a_provider_refuses_have_others_of_their_own() {
        let long = "x".repeat(100);
        let mut schema = json!({
            "properties": {"a.b-c_1": {}, "$filter": {"type": "string"}, "filter ": {}, "": {}, "日本": {}, (long.clone()): {}},
            "required": ["$filter", "a.b-c_1", ""],
        });
        let schema = schema.as_object_mut().unwrap();
        let renamed = rename(schema);
        assert_eq!(renamed[0], RenamedParameter { shown: "filter".into(), own: "$filter".into() });
        let names: HashSet<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert!(names.len() == 6 && names.iter().all(|name| is_taken(name)), "{names:?}");
        assert_eq!(renamed.iter().map(|renamed| renamed.own.as_str()).collect::<Vec<_>>(), ["$filter", "filter ", "", "日本", &long]);
        assert_eq!(schema["required"], json!(["filter", "a.b-c_1", renamed[2].shown]));
        assert_eq!(schema["properties"]["filter"], json!({"type": "string"}));
        let plain = json!({"properties": {"a": {}}});
        assert_eq!(rename(&mut plain.as_object().unwrap().clone()), []);
    }
}
