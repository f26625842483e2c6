//! Validation by JSON Schema: every keyword with the feature `json-schema`, and without it those that all providers take.

mod flat;
#[cfg(feature = "json-schema")]
mod full;

use haft_contract::schema::type_name;
use haft_text::truncate::ellipsize;
use serde_json::Value;

#[cfg(not(feature = "json-schema"))]
pub(crate) use self::flat::Validator;
#[cfg(feature = "json-schema")]
pub(crate) use self::full::Validator;

/// A value of the wrong type, in words.
fn wrong_type(name: &str, expected: &str, got: &Value) -> String {
    format!("Parameter '{name}' expected type '{expected}' but got {}: {}.", type_name(got), excerpt(got))
}

/// A value that is not among the choices, in words.
fn no_choice(name: &str, choices: &[Value], got: &Value) -> String {
    let choices: Vec<String> = choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)).collect();
    format!("Parameter '{name}' must be one of: {} (got {}).", choices.join(", "), excerpt(got))
}

/// Any other fault, in words.
fn wrong(name: &str, why: &str) -> String {
    format!("Parameter '{name}' is wrong: {}.", ellipsize(why, 300))
}

/// The name of a parameter within another one.
fn within(name: &str, child: &str) -> String {
    if name.is_empty() { child.to_owned() } else { format!("{name}.{child}") }
}

fn excerpt(value: &Value) -> String {
    ellipsize(&value.to_string(), 80).into_owned()
}
