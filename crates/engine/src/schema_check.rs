//! Validation by a schema that a caller gave, as arguments are validated by those of tools.

use jsonschema::Validator;
use serde_json::Value;

use crate::registry::compiled;
use crate::stages::arguments::describe;

/// How many faults one message names.
const MAX_FAULTS: usize = 5;

/// A compiled JSON Schema.
pub struct SchemaCheck(Validator);

haft_contract::opaque_debug!(SchemaCheck);

impl SchemaCheck {
    /// Compiles a schema; says what is wrong with it.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        compiled(schema).map(Self)
    }

    /// Whether a value fits; the error is a sentence for each fault, with its path.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let faults: Vec<String> = self.0.iter_errors(value).take(MAX_FAULTS).map(|error| describe(&error)).collect();
        Err(faults.join(" "))
    }
}
