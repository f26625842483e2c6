//! OpenAI's strict schemas: the provider holds the model to them, and refuses any that goes beyond what it can hold.

use serde_json::{Map, Value, json};

use super::widen::types;

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_NAMED_CHARACTERS: usize = 120_000;
const MAX_LITERALS: usize = 1_000;
/// A list longer than this may have [`MAX_LONG_LIST_CHARACTERS`] together.
const LONG_LIST: usize = 250;
const MAX_LONG_LIST_CHARACTERS: usize = 15_000;
/// Keywords that need no look at their value.
#[rustfmt::skip]
const AS_THEY_ARE: [&str; 12] = [
    "type", "title", "description", "required", "additionalProperties", "minItems", "maxItems",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
];
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The same schema as a strict one; none if it does not qualify. Nothing that it asks is given up for strictness, and no
/// optional property is made a nullable one: a tool that never heard of null would refuse it.
pub(super) fn tighten(root: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut tally = Tally::default();
    // At the root, no properties means a tool without parameters; further down it means that anything goes.
    let tight = tally.schema(root, 1)?;
    tally.is_within_limits().then_some(tight)
}

#[derive(Default)]
struct Tally {
    properties: usize,
    named_characters: usize,
    literals: usize,
}

impl Tally {
    fn is_within_limits(&self) -> bool {
        self.properties <= MAX_PROPERTIES && self.named_characters <= MAX_NAMED_CHARACTERS && self.literals <= MAX_LITERALS
    }

    fn schema(&mut self, original: &Map<String, Value>, level: usize) -> Option<Map<String, Value>> {
        let has_one_shape = original.contains_key("type") != original.contains_key("anyOf");
        if level > MAX_LEVELS || !has_one_shape {
            return None;
        }
        let mut tight = Map::new();
        for (keyword, value) in original {
            if !matches!(keyword.as_str(), "default" | "examples") {
                tight.insert(keyword.clone(), self.keyword(keyword, value, level)?);
            }
        }
        if types(original).contains(&"object") {
            close(&mut tight, level == 1)?;
        }
        Some(tight)
    }

    fn keyword(&mut self, keyword: &str, value: &Value, level: usize) -> Option<Value> {
        match (keyword, value) {
            ("properties", Value::Object(members)) => self.members(members, level),
            ("items", _) => self.below(value, level),
            ("anyOf", Value::Array(variants)) => variants.iter().map(|variant| self.below(variant, level)).collect(),
            ("enum", Value::Array(literals)) => self.count_literals(literals).then(|| value.clone()),
            ("const", _) => self.count_literals(std::slice::from_ref(value)).then(|| value.clone()),
            ("format", _) => value.as_str().is_some_and(|name| FORMATS.contains(&name)).then(|| value.clone()),
            ("pattern", _) => value.as_str().is_some_and(is_simple_pattern).then(|| value.clone()),
            _ => AS_THEY_ARE.contains(&keyword).then(|| value.clone()),
        }
    }

    fn members(&mut self, members: &Map<String, Value>, level: usize) -> Option<Value> {
        self.properties += members.len();
        self.named_characters += members.keys().map(|name| name.chars().count()).sum::<usize>();
        members.iter().map(|(name, member)| Some((name.clone(), self.below(member, level)?))).collect()
    }

    fn below(&mut self, value: &Value, level: usize) -> Option<Value> {
        self.schema(value.as_object()?, level + 1).map(Value::Object)
    }

    fn count_literals(&mut self, literals: &[Value]) -> bool {
        let characters: usize = literals.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum();
        self.named_characters += characters;
        self.literals += literals.len();
        literals.len() <= LONG_LIST || characters <= MAX_LONG_LIST_CHARACTERS
    }
}

/// Closes an object whose properties are all required and that does not say itself that it is open.
fn close(tight: &mut Map<String, Value>, is_root: bool) -> Option<()> {
    let names: Vec<Value> = tight.get("properties").and_then(Value::as_object)?.keys().map(|name| json!(name)).collect();
    let required = tight.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_closed = tight.get("additionalProperties") == Some(&Value::Bool(false));
    let may_close = is_closed || (!tight.contains_key("additionalProperties") && (is_root || !names.is_empty()));
    if !may_close || !names.iter().all(|name| required.contains(name)) {
        return None;
    }
    tight.insert("required".into(), Value::Array(names));
    tight.insert("additionalProperties".into(), Value::Bool(false));
    Some(())
}

/// Groups with a question mark (look-around, flags) and back-references are more than the provider's patterns can.
fn is_simple_pattern(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    let mut before = ' ';
    while let Some(c) = characters.next() {
        let escaped = if c == '\\' { characters.next() } else { None };
        if escaped.is_some_and(|c| c.is_ascii_digit() || c == 'k') || (before == '(' && c == '?') {
            return false;
        }
        before = if escaped.is_some() { ' ' } else { c };
    }
    true
}
