//! OpenAI's strict schemas, which the provider enforces within limits.

use serde_json::{Map, Value, json};

use super::widen::types;

const MAX_PROPERTIES: usize = 5_000;
const MAX_LEVELS: usize = 10;
const MAX_NAMED_CHARACTERS: usize = 120_000;
const MAX_LITERALS: usize = 1_000;
/// Enums longer than this have at most [`MAX_LONG_LIST_CHARACTERS`] in total.
const LONG_LIST: usize = 250;
const MAX_LONG_LIST_CHARACTERS: usize = 15_000;
/// Keywords whose value is copied.
#[rustfmt::skip]
const COPIED: [&str; 12] = [
    "type", "title", "description", "required", "additionalProperties", "minItems", "maxItems",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
];
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The schema in strict form; none if it does not qualify. Strictness drops no constraint, and makes no optional property nullable,
/// because the tool would refuse null.
pub(super) fn tighten(root: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut counts = StrictCounts::default();
    // At the root, no properties means no parameters; below, it means any object.
    let tight = counts.schema(root, 1)?;
    counts.is_within_limits().then_some(tight)
}

#[derive(Default)]
struct StrictCounts {
    properties: usize,
    named_characters: usize,
    literals: usize,
}

impl StrictCounts {
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
            _ => COPIED.contains(&keyword).then(|| value.clone()),
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

/// Closes an object whose properties are all required and that is not declared open.
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

/// Whether the provider supports the pattern: no look-around, flags or back-references.
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
