use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "StructuredOutput")];

/// Give the result of the whole task to the program that asked for it; this ends the turn. Its parameters are
/// the JSON Schema that the program gave (`haft run --schema`).
#[derive(Debug, ToolMeta)]
#[tool(
    name = "structured_output",
    label = "Structured output",
    section = Planning,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    profiles = ["coding"],
    aliases = ["StructuredOutput"],
    forms = FORMS,
    read_only
)]
pub(crate) struct StructuredOutput;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    #[serde(flatten)]
    output: Map<String, Value>,
}

impl Tool for StructuredOutput {
    type Params = Params;
    type Output = String;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let sink = cx.services().output.as_ref().ok_or_else(|| {
            ToolError::execution(
                "Nobody asked for structured output here. `haft run --schema FILE PROMPT` asks for it; else answer in text.",
            )
        })?;
        sink.check(&Value::Object(params.output.clone()))?;
        Ok(Plan::nothing())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<String, ToolError> {
        cx.planning().give_output(Value::Object(params.output))?;
        Ok("The output is accepted.".into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use haft_contract::ports::{OutputSink, Services};
    use haft_contract::{Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, expect_text, run_tool};
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Wanted(Mutex<Vec<Value>>);

    impl OutputSink for Wanted {
        fn check(&self, value: &Value) -> Result<(), ToolError> {
            if value["ok"] == json!(true) { Ok(()) } else { Err(ToolError::validation("'ok' must be true.")) }
        }
        fn accept(&self, value: Value) {
            self.0.lock().unwrap().push(value);
        }
    }

    #[tokio::test]
    async fn only_what_fits_is_accepted_and_it_is_not_changed() {
        let (host, mut services, wanted) = (FakeHost::new(), Services::default(), Arc::new(Wanted::default()));
        services.output = Some(Arc::clone(&wanted) as _);
        assert!(host.services.set(services).is_ok());
        let tool = Erased::new(StructuredOutput);
        let give = |arguments: Value| run_tool(&tool, arguments, Arc::clone(&host));
        let value = json!({"ok": true, "blank": "  ", "none": null, "list": [1.0, {"b": 1, "a": 2}]});
        assert_eq!(expect_text(give(value.clone()).await), "The output is accepted.");
        assert_eq!(expect_error(give(json!({})).await), (ErrorKind::ValidationError, "'ok' must be true.".into()));
        assert_eq!(*wanted.0.lock().unwrap(), [value]);
        let (kind, message) = expect_error(run_tool(&tool, json!({}), FakeHost::new()).await);
        assert!(kind == ErrorKind::ExecutionError && message.contains("haft run --schema"), "{message}");
    }
}
