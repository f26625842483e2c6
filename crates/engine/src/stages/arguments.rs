//! arguments: what came → checked arguments: parsed, read with the forgiveness that models need, then judged by the
//! compiled schema.

use haft_contract::{Arguments, ToolError};
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::json;
use super::parameters::Reading;
use crate::Entry;

/// Arguments that the schema has accepted, and what is worth telling about them.
#[derive(Debug, PartialEq)]
pub(crate) struct Checked {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
    /// The text they came as, if the value says just the same: history keeps it without a copy.
    pub(crate) text: Option<String>,
}

/// Parses, reads and validates. What is refused is left where it was, for history to keep.
pub(crate) fn check(entry: &Entry, arguments: &mut Arguments, limit: usize) -> Result<Checked, ToolError> {
    let value = match arguments {
        Arguments::Text(text) => json::parse(text, limit)?,
        Arguments::Json(value) => value.take(),
    };
    let mut map = match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => {
            let error = format!("The arguments must be a JSON object, not {}. {}", type_name(&other), entry.parameters().signature);
            give_back(arguments, other);
            return Err(ToolError::validation(error));
        }
    };
    let read = entry.parameters().read(&mut map);
    let value = Value::Object(map);
    match read.and_then(|reading| validate(entry, &value).map(|()| reading)) {
        Ok(Reading { warnings, changed }) => {
            let text = match arguments {
                Arguments::Text(text) if !changed => Some(std::mem::take(text)),
                _ => None,
            };
            Ok(Checked { value, warnings, text })
        }
        Err(error) => {
            give_back(arguments, value);
            Err(error)
        }
    }
}

fn give_back(arguments: &mut Arguments, value: Value) {
    if let Arguments::Json(place) = arguments {
        *place = value;
    }
}

fn validate(entry: &Entry, value: &Value) -> Result<(), ToolError> {
    let validator = entry.validator().map_err(|why| {
        ToolError::execution(format!("The schema of '{}' cannot be compiled: {why}. This is a fault of the tool.", entry.name()))
    })?;
    if validator.is_valid(value) {
        return Ok(());
    }
    // Only a wrong call pays for the words.
    let first = validator.iter_errors(value).next();
    let message = first.map_or_else(|| "The arguments do not fit the schema.".to_owned(), |error| in_words(&error));
    Err(ToolError::validation(format!("{message} {}", entry.parameters().signature)))
}

fn in_words(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let name = path.trim_start_matches('/').replace('/', ".");
    let got = error.instance();
    match error.kind() {
        ValidationErrorKind::Type { .. } => {
            let text = error.to_string();
            let expected = text.rsplit('"').nth(1).unwrap_or("another type").to_owned();
            format!("Parameter '{name}' expected type '{expected}' but got {}: {}.", type_name(got), excerpt(got))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .map(|option| option.as_str().map_or_else(|| option.to_string(), str::to_owned))
                .collect();
            format!("Parameter '{name}' must be one of: {} (got {}).", options.join(", "), excerpt(got))
        }
        ValidationErrorKind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            let full = if name.is_empty() { property.to_owned() } else { format!("{name}.{property}") };
            missing(&full)
        }
        _ => format!("Parameter '{name}' is wrong: {}.", bounded(&error.to_string(), 300)),
    }
}

pub(super) fn missing(name: &str) -> String {
    format!("Missing required parameter: '{name}'.")
}

/// The JSON name of a value's type.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn excerpt(value: &Value) -> String {
    bounded(&value.to_string(), 80)
}

pub(super) fn bounded(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
