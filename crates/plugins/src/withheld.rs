//! A tool of a plugin that does not run.

use haft_contract::{DynTool, ErrorKind, PlanContext, Prepared, ToolDefinition, ToolError};
use serde_json::{Value, json};

/// Answers every call with the reason why its plugin does not run.
pub(crate) struct WithheldTool {
    definition: ToolDefinition,
    why: String,
}

haft_contract::opaque_debug!(WithheldTool: why = why);

impl WithheldTool {
    pub(crate) fn new(name: &str, why: &str) -> Self {
        let description = "Not available: its plugin has changed since the user looked at it.";
        let mut definition = ToolDefinition::new(name.to_owned(), description, json!({ "type": "object", "properties": {} }));
        definition.deferred = true;
        Self { definition, why: why.to_owned() }
    }
}

impl DynTool for WithheldTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, _: Value, _: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        Err(ToolError::new(ErrorKind::ToolNotAvailable, self.why.clone()))
    }
}
