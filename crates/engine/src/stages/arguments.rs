//! arguments: what came → checked arguments: parsed, read with the forgiveness that models need, then judged by the
//! compiled schema.

use haft_contract::{Arguments, ToolError};
use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use super::json;
use super::parameters::Reading;
use crate::Entry;
use crate::forms::Spoken;

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
    check_as(entry, None, arguments, limit)
}

/// As [`check`], for a call in this form: read and judged as its model was shown, then made canonical.
pub(crate) fn check_as(entry: &Entry, form: Option<&Spoken>, arguments: &mut Arguments, limit: usize) -> Result<Checked, ToolError> {
    let parameters = form.map_or_else(|| entry.parameters(), |form| form.parameters(entry.definition()));
    let value = match arguments {
        Arguments::Text(text) => json::parse(text, limit)?,
        Arguments::Json(value) => value.take(),
    };
    let mut map = match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => {
            let error = format!("The arguments must be a JSON object, not {}. {}", type_name(&other), parameters.signature);
            give_back(arguments, other);
            return Err(ToolError::validation(error));
        }
    };
    let translating = form.filter(|form| form.translates());
    let read = parameters.read(&mut map);
    let mut value = Value::Object(map);
    let judged = read.and_then(|reading| {
        let validator = translating.map_or_else(|| entry.validator(), |form| form.validator(entry.definition()));
        validate(entry, validator, &value, &parameters.signature)?;
        Ok(reading)
    });
    match judged.and_then(|reading| translated(entry, translating, &mut value).map(|changed| (reading, changed))) {
        Ok((Reading { warnings, changed }, translated)) => {
            let changed = changed || translated;
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

/// Makes the arguments canonical and judges them once more: whatever a form makes of them, it is the tool's schema that
/// holds. Says whether there was anything to do.
fn translated(entry: &Entry, form: Option<&Spoken>, value: &mut Value) -> Result<bool, ToolError> {
    let (Some(form), Value::Object(map)) = (form, &mut *value) else { return Ok(false) };
    *map = form.translate(std::mem::take(map), entry.definition());
    validate(entry, entry.validator(), value, &entry.parameters().signature)?;
    Ok(true)
}

fn give_back(arguments: &mut Arguments, value: Value) {
    if let Arguments::Json(place) = arguments {
        *place = value;
    }
}

fn validate(entry: &Entry, validator: Result<&Validator, &str>, value: &Value, signature: &str) -> Result<(), ToolError> {
    let validator = validator.map_err(|why| {
        ToolError::execution(format!("The schema of '{}' cannot be compiled: {why}. This is a fault of the tool.", entry.name()))
    })?;
    if validator.is_valid(value) {
        return Ok(());
    }
    // Only a wrong call pays for the words.
    let first = validator.iter_errors(value).next();
    let message = first.map_or_else(|| "The arguments do not fit the schema.".to_owned(), |error| in_words(&error));
    Err(ToolError::validation(format!("{message} {signature}")))
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
