//! Validation by a schema that a caller gave, as arguments are validated by those of tools.

use serde_json::Value;

use crate::validator::Validator;

/// How many faults one message names.
const MAX_FAULTS: usize = 5;

/// A compiled JSON Schema.
pub struct SchemaCheck(Validator);

haft_contract::opaque_debug!(SchemaCheck);

impl SchemaCheck {
    /// Compiles a schema; says what is wrong with it.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        Validator::compile(schema).map(Self)
    }

    /// Whether a value fits; the error is a sentence for each fault, with its path.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        let faults: Vec<String> = self.0.faults(value, MAX_FAULTS);
        Err(faults.join(" "))
    }
}
