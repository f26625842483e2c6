//! Merges two schemas that must both hold.

use serde_json::{Map, Value};

/// Merges `other` into `schema`. If a keyword cannot be merged, that of `schema` stays: the result may be wider, never narrower.
pub(super) fn merge(schema: &mut Map<String, Value>, other: Map<String, Value>) {
    for (keyword, value) in other {
        match (keyword.as_str(), schema.get_mut(&keyword), value) {
            ("properties" | "patternProperties", Some(Value::Object(ours)), Value::Object(theirs)) => merge_each(ours, theirs),
            ("required", Some(Value::Array(ours)), Value::Array(theirs)) => add_missing(ours, theirs),
            (_, Some(_), _) => {}
            (_, None, value) => {
                schema.insert(keyword, value);
            }
        }
    }
}

fn merge_each(ours: &mut Map<String, Value>, theirs: Map<String, Value>) {
    for (name, their) in theirs {
        match (ours.get_mut(&name), their) {
            (Some(Value::Object(our)), Value::Object(their)) => merge(our, their),
            (Some(_), _) => {}
            (None, their) => {
                ours.insert(name, their);
            }
        }
    }
}

pub(super) fn add_missing(ours: &mut Vec<Value>, theirs: Vec<Value>) {
    for their in theirs {
        if !ours.contains(&their) {
            ours.push(their);
        }
    }
}
