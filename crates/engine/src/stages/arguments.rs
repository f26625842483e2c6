//! arguments: what came → checked arguments: parsed, read with the forgiveness that models need, then judged by the
//! compiled schema.

use haft_contract::{Arguments, ToolError, schema};
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
    let mut map = object(arguments, limit, &parameters.signature)?;
    let read = parameters.read(&mut map);
    let mut value = Value::Object(map);
    match read.and_then(|reading| judged(entry, form, &mut value, reading)) {
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

/// The object that the arguments are; nothing at all is an empty one.
fn object(arguments: &mut Arguments, limit: usize, signature: &str) -> Result<Map<String, Value>, ToolError> {
    let value = match arguments {
        Arguments::Text(text) => json::parse(text, limit)?,
        Arguments::Json(value) => value.take(),
    };
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => {
            let error = format!("The arguments must be a JSON object, not {}. {signature}", schema::type_name(&other));
            give_back(arguments, other);
            Err(ToolError::validation(error))
        }
    }
}

/// Judged by the schema that its model was shown, and then by the tool's own.
fn judged(entry: &Entry, form: Option<&Spoken>, value: &mut Value, reading: Reading) -> Result<Reading, ToolError> {
    let parameters = form.map_or_else(|| entry.parameters(), |form| form.parameters(entry.definition()));
    let translating = form.filter(|form| form.translates());
    let validator = translating.map_or_else(|| entry.validator(), |form| form.validator(entry.definition()));
    validate(entry, validator, value, &parameters.signature)?;
    let translated = translated(entry, translating, value)?;
    Ok(Reading { changed: reading.changed || translated, ..reading })
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
            format!("Parameter '{name}' expected type '{expected}' but got {}: {}.", schema::type_name(got), excerpt(got))
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

fn excerpt(value: &Value) -> String {
    bounded(&value.to_string(), 80)
}

pub(super) fn bounded(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
