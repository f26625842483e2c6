//! The keywords that all providers take, without the crates of a whole validator.

use std::collections::BTreeMap;

use haft_contract::schema::type_name;
use regex::Regex;
use serde_json::{Map, Value};

#[cfg(any(test, not(feature = "json-schema")))]
use super::{no_choice, within, wrong, wrong_type};
#[cfg(any(test, not(feature = "json-schema")))]
use crate::stages::arguments::missing;

/// Keywords that say nothing about validity.
const NOTES: &[&str] = &["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "format", "readOnly"];

/// A compiled schema.
#[derive(Debug, Default)]
pub(crate) struct Validator {
    /// `false` takes nothing.
    never: bool,
    kind: Option<String>,
    choices: Option<Vec<Value>>,
    /// Keyword and limit of a number.
    bounds: Vec<(&'static str, f64)>,
    /// Keyword and limit of a length.
    lengths: Vec<(&'static str, u64)>,
    pattern: Option<Regex>,
    unique: bool,
    required: Vec<String>,
    properties: BTreeMap<String, Validator>,
    others: Option<Box<Validator>>,
    items: Option<Box<Validator>>,
}

const BOUNDS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const LENGTHS: &[&str] = &["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

impl Validator {
    /// Compiles a schema; the error says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let map = match schema {
            Value::Bool(takes) => return Ok(Self { never: !takes, ..Self::default() }),
            Value::Object(map) => map,
            other => return Err(format!("a schema must be an object, not {}", type_name(other))),
        };
        let mut compiled = Self::default();
        for (key, value) in map {
            compiled.add(key, value)?;
        }
        Ok(compiled)
    }

    fn add(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let wrong = || format!("the value of '{key}' does not fit the keyword: {value}");
        if let Some(name) = BOUNDS.iter().find(|name| **name == key) {
            self.bounds.push((name, value.as_f64().ok_or_else(wrong)?));
            return Ok(());
        }
        if let Some(name) = LENGTHS.iter().find(|name| **name == key) {
            self.lengths.push((name, value.as_u64().ok_or_else(wrong)?));
            return Ok(());
        }
        match key {
            "type" => self.kind = Some(value.as_str().ok_or_else(wrong)?.to_owned()),
            "enum" => self.choices = Some(value.as_array().ok_or_else(wrong)?.clone()),
            "const" => self.choices = Some(vec![value.clone()]),
            "pattern" => self.pattern = Some(Regex::new(value.as_str().ok_or_else(wrong)?).map_err(|error| error.to_string())?),
            "uniqueItems" => self.unique = value.as_bool().ok_or_else(wrong)?,
            "items" => self.items = Some(Box::new(Self::compile(value)?)),
            "additionalProperties" => self.others = Some(Box::new(Self::compile(value)?)),
            "required" => {
                let names = value.as_array().ok_or_else(wrong)?;
                self.required = names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>().ok_or_else(wrong)?;
            }
            "properties" => {
                let compile = |(name, property): (&String, &Value)| Ok((name.clone(), Self::compile(property)?));
                self.properties = value.as_object().ok_or_else(wrong)?.iter().map(compile).collect::<Result<_, String>>()?;
            }
            note if NOTES.contains(&note) || note.starts_with("x-") => {}
            other => return Err(format!("the keyword '{other}' needs the feature 'json-schema' of the crate haft")),
        }
        Ok(())
    }

    /// Whether a value is valid. Makes no words, which each call would pay for.
    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        let takes = |schema: Option<&Self>, value: &Value| schema.is_none_or(|schema| schema.is_valid(value));
        let parts = || match value {
            Value::Object(map) => {
                let schema_of = |key: &str| self.properties.get(key).or(self.others.as_deref());
                self.required.iter().all(|key| has_key(map, key)) && map.iter().all(|(key, value)| takes(schema_of(key), value))
            }
            Value::Array(items) => items.iter().all(|item| takes(self.items.as_deref(), item)),
            _ => true,
        };
        !self.never
            && self.kind.as_deref().is_none_or(|kind| has_type(value, kind))
            && self.choices.as_ref().is_none_or(|choices| choices.iter().any(|choice| is_equal(choice, value)))
            && self.measured(value).is_none()
            && parts()
    }

    /// What is wrong with a value: a sentence for each fault, with its path.
    #[cfg(any(test, not(feature = "json-schema")))]
    pub(crate) fn faults(&self, value: &Value, most: usize) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(value, "", most, &mut faults);
        faults
    }

    #[cfg(any(test, not(feature = "json-schema")))]
    fn check(&self, value: &Value, name: &str, most: usize, faults: &mut Vec<String>) {
        if faults.len() >= most {
            return;
        }
        let own = self.never.then(|| wrong(name, "nothing is allowed here"));
        let own = own.or_else(|| self.kind.as_deref().filter(|kind| !has_type(value, kind)).map(|kind| wrong_type(name, kind, value)));
        let choices = self.choices.as_ref().filter(|choices| !choices.iter().any(|choice| is_equal(choice, value)));
        faults.extend(own.or_else(|| choices.map(|choices| no_choice(name, choices, value))));
        faults.extend(self.measured(value).map(|why| wrong(name, &why)));
        match value {
            Value::Object(map) => self.check_properties(map, name, most, faults),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.items.iter().for_each(|schema| schema.check(item, &within(name, &index.to_string()), most, faults));
                }
            }
            _ => {}
        }
        faults.truncate(most);
    }

    #[cfg(any(test, not(feature = "json-schema")))]
    fn check_properties(&self, map: &serde_json::Map<String, Value>, name: &str, most: usize, faults: &mut Vec<String>) {
        faults.extend(self.required.iter().filter(|key| !map.contains_key(*key)).map(|key| missing(&within(name, key))));
        for (key, value) in map {
            let schema = self.properties.get(key).or(self.others.as_deref());
            if let Some(schema) = schema {
                schema.check(value, &within(name, key), most, faults);
            }
        }
    }

    /// The first limit that a value is beyond.
    fn measured(&self, value: &Value) -> Option<String> {
        if let Some(number) = value.as_f64()
            && let Some((keyword, limit)) = self.bounds.iter().find(|(keyword, limit)| !fits(keyword, number, *limit))
        {
            return Some(format!("{value} is beyond {keyword} {limit}"));
        }
        if let Value::String(text) = value
            && let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text))
        {
            return Some(format!("{value} does not match \"{pattern}\""));
        }
        let beyond =
            self.lengths.iter().find(|(keyword, limit)| length(keyword, value).is_some_and(|have| !fits_length(keyword, have, *limit)));
        if let Some((keyword, limit)) = beyond {
            return Some(format!("it is beyond {keyword} {limit}"));
        }
        let items = value.as_array().filter(|_| self.unique)?;
        let repeated = items.iter().enumerate().any(|(index, item)| items[..index].iter().any(|other| is_equal(item, other)));
        repeated.then(|| "it has the same item twice".to_owned())
    }
}

/// Up to here comparing keys is faster than hashing one.
const FEW_KEYS: usize = 8;

fn has_key(map: &Map<String, Value>, wanted: &str) -> bool {
    if map.len() <= FEW_KEYS { map.keys().any(|key| key == wanted) } else { map.contains_key(wanted) }
}

fn has_type(value: &Value, kind: &str) -> bool {
    match (kind, type_name(value)) {
        ("number", "integer") => true,
        ("integer", "number") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        (kind, found) => kind == found,
    }
}

/// 1 and 1.0 are one number, at every depth.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_equal(value, other)))
        }
        _ => one == other,
    }
}

fn fits(keyword: &str, number: f64, limit: f64) -> bool {
    match keyword {
        "minimum" => number >= limit,
        "maximum" => number <= limit,
        "exclusiveMinimum" => number > limit,
        "exclusiveMaximum" => number < limit,
        _ => limit <= 0.0 || (number / limit).fract() == 0.0,
    }
}

fn length(keyword: &str, value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) if keyword.ends_with("Length") => text.chars().count(),
        Value::Array(items) if keyword.ends_with("Items") => items.len(),
        Value::Object(map) if keyword.ends_with("Properties") => map.len(),
        _ => return None,
    };
    Some(length as u64)
}

fn fits_length(keyword: &str, length: u64, limit: u64) -> bool {
    if keyword.starts_with("min") { length >= limit } else { length <= limit }
}

#[cfg(test)]
mod tests;
