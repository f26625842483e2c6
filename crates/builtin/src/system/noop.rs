use haft_contract::{Tool, ToolContext, ToolError};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Does nothing (test tool). Returns the number of its parameters; use it only to check that calls arrive.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "noop",
    label = "No operation",
    section = System,
    category = System,
    access = ReadOnly,
    timeout_secs = 5,
    read_only,
    idempotent
)]
pub(crate) struct Noop;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    #[serde(flatten)]
    any: Map<String, Value>,
}

impl Tool for Noop {
    type Params = Params;
    type Output = String;

    async fn execute(&self, params: Params, _cx: &ToolContext) -> Result<String, ToolError> {
        Ok(format!("noop executed with {} params", params.any.len()))
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::Erased;
    use haft_testkit::{FakeHost, expect_text, run_tool};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn any_parameters_are_counted_and_ignored() {
        let many: Value = (0..10_000).map(|number| (number.to_string(), json!([number]))).collect::<Map<_, _>>().into();
        for (arguments, count) in [(json!({}), 0), (json!({"a": 1, "b": {"c": null}}), 2), (many, 10_000)] {
            let outcome = run_tool(&Erased::new(Noop), arguments, FakeHost::new()).await;
            assert_eq!(expect_text(outcome), format!("noop executed with {count} params"));
        }
    }
}
