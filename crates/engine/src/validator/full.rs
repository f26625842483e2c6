//! Every keyword of JSON Schema, compiled.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::{no_choice, within, wrong, wrong_type};
use crate::stages::arguments::missing;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Validator(jsonschema::Validator);

impl Validator {
    /// Compiles a schema; the error says what is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        jsonschema::validator_for(schema).map(Self).map_err(|error| error.to_string())
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// What is wrong with a value: a sentence for each fault, with its path.
    pub(crate) fn faults(&self, value: &Value, most: usize) -> Vec<String> {
        self.0.iter_errors(value).take(most).map(|error| describe(&error)).collect()
    }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let name = path.trim_start_matches('/').replace('/', ".");
    let got = error.instance();
    match error.kind() {
        ValidationErrorKind::Type { .. } => {
            let text = error.to_string();
            wrong_type(&name, text.rsplit('"').nth(1).unwrap_or("another type"), got)
        }
        ValidationErrorKind::Enum { options } => no_choice(&name, options.as_array().map(Vec::as_slice).unwrap_or_default(), got),
        ValidationErrorKind::Required { property } => missing(&within(&name, property.as_str().unwrap_or_default())),
        _ => wrong(&name, &error.to_string()),
    }
}
