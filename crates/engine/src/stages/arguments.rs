//! arguments: raw arguments → checked arguments: parsed, read with the tolerance that models need, validated by the compiled
//! schema.

use haft_contract::{Arguments, ToolError, schema};
use serde_json::{Map, Value};

use super::json;
use super::parameters::ReadingReport;
use crate::ToolEntry;
use crate::forms::CompiledForm;
use crate::validator::Validator;

/// Arguments that the schema has accepted, with warnings.
#[derive(Debug, PartialEq)]
pub(crate) struct CheckedArguments {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
    /// The text they came as, if the value says just the same: history keeps it without a copy.
    pub(crate) text: Option<String>,
}

/// Parses, reads and validates. Refused arguments are left where they were, for history.
pub(crate) fn check(entry: &ToolEntry, arguments: &mut Arguments, limit: usize) -> Result<CheckedArguments, ToolError> {
    check_as(entry, None, arguments, limit)
}

/// As [`check`], for a call in this form: read and validated as the model was shown it, then made canonical.
pub(crate) fn check_as(
    entry: &ToolEntry,
    form: Option<&CompiledForm>,
    arguments: &mut Arguments,
    limit: usize,
) -> Result<CheckedArguments, ToolError> {
    let parameters = form.map_or_else(|| entry.parameters(), |form| form.parameters(entry.definition()));
    let mut map = object(arguments, limit, &parameters.signature)?;
    let read = parameters.read(&mut map);
    let mut value = Value::Object(map);
    match read.and_then(|reading| validate_as(entry, form, &mut value, reading)) {
        Ok(ReadingReport { warnings, changed }) => {
            let text = match arguments {
                Arguments::Text(text) if !changed => Some(std::mem::take(text)),
                _ => None,
            };
            Ok(CheckedArguments { value, warnings, text })
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

/// Validates by the schema that the model was shown, and then by the tool's own.
fn validate_as(
    entry: &ToolEntry,
    form: Option<&CompiledForm>,
    value: &mut Value,
    reading: ReadingReport,
) -> Result<ReadingReport, ToolError> {
    let parameters = form.map_or_else(|| entry.parameters(), |form| form.parameters(entry.definition()));
    let translating = form.filter(|form| form.translates());
    let validator = translating.map_or_else(|| entry.validator(), |form| form.validator(entry.definition()));
    validate(entry, validator, value, &parameters.signature)?;
    let translated = translate(entry, translating, value)?;
    Ok(ReadingReport { changed: reading.changed || translated, ..reading })
}

/// Makes the arguments canonical and validates them by the tool's own schema. Returns whether there was anything to do.
fn translate(entry: &ToolEntry, form: Option<&CompiledForm>, value: &mut Value) -> Result<bool, ToolError> {
    let (Some(form), Value::Object(map)) = (form, &mut *value) else { return Ok(false) };
    *map = form.translate(std::mem::take(map), entry.definition());
    validate(entry, entry.validator(), value, &entry.parameters().signature)?;
    Ok(true)
}

fn give_back(arguments: &mut Arguments, value: Value) {
    if let Arguments::Json(slot) = arguments {
        *slot = value;
    }
}

fn validate(entry: &ToolEntry, validator: Result<&Validator, &str>, value: &Value, signature: &str) -> Result<(), ToolError> {
    let validator = validator.map_err(|why| {
        ToolError::execution(format!("The schema of '{}' cannot be compiled: {why}. This is a fault of the tool.", entry.name()))
    })?;
    if validator.is_valid(value) {
        return Ok(());
    }
    let first = validator.faults(value, 1).pop();
    let message = first.unwrap_or_else(|| "The arguments do not fit the schema.".to_owned());
    Err(ToolError::validation(format!("{message} {signature}")))
}

pub(crate) fn missing(name: &str) -> String {
    format!("Missing required parameter: '{name}'.")
}
