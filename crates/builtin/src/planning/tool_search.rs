use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

const DEFAULT_RESULTS: usize = 5;
const FORMS: &[Form] = &[Form::new(Dialect::Claw, "ToolSearch")];

/// Find tools by words or by name, also those that are not shown to you, and all parameters of a tool: most tools take more than you are
/// shown. Found tools can be called from the next answer on.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "tool_search",
    label = "Find tools",
    section = Planning,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    profiles = ["coding"],
    aliases = ["ToolSearch"],
    forms = FORMS,
    read_only,
    idempotent
)]
pub(crate) struct ToolSearch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// Words, '+word' for one that must occur, or 'select:name,other_name'.
    #[schemars(length(min = 1))]
    query: String,
    /// How many tools to show at most.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 20), extend("x-rare" = true))]
    max_results: usize,
}

fn default_results() -> usize {
    DEFAULT_RESULTS
}

impl Tool for ToolSearch {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let tools = cx.services().tools.as_ref().ok_or_else(|| {
            ToolError::execution("tool_search works only where a program lists its tools to a model. `haft tools` lists all tools.")
        })?;
        tools.check(&params.query)?;
        Ok(Plan::nothing())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let report = cx.planning().search_tools(&params.query, params.max_results)?;
        Ok(ToolOutput::text(report.to_string()).with_details(report))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::ports::{Services, ToolIndex};
    use haft_contract::{Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, run_tool};
    use serde_json::{Value, json};

    use super::*;

    struct Echo;

    impl ToolIndex for Echo {
        fn search(&self, session: &str, query: &str, most: usize) -> Result<Value, ToolError> {
            Ok(json!({"session": session, "query": query, "most": most}))
        }
        fn check(&self, query: &str) -> Result<(), ToolError> {
            if query == "nothing" { Err(ToolError::validation("names nothing")) } else { Ok(()) }
        }
    }

    #[tokio::test]
    async fn the_index_of_the_host_answers() {
        let absent = expect_error(run_tool(&Erased::new(ToolSearch), json!({"query": "x"}), FakeHost::new()).await);
        let message = "tool_search works only where a program lists its tools to a model. `haft tools` lists all tools.";
        assert_eq!(absent, (ErrorKind::ExecutionError, message.into()));
        let (host, mut services) = (FakeHost::new(), Services::default());
        services.tools = Some(Arc::new(Echo));
        assert!(host.services.set(services).is_ok());
        let output = run_tool(&Erased::new(ToolSearch), json!({"query": "files"}), Arc::clone(&host)).await.unwrap();
        let details = output.details.clone().unwrap();
        assert_eq!((&details["query"], &details["most"]), (&json!("files"), &json!(5)));
        assert_eq!(output.texts().collect::<Vec<_>>(), [details.to_string()]);
        let refused = expect_error(run_tool(&Erased::new(ToolSearch), json!({"query": "nothing"}), host).await);
        assert_eq!(refused, (ErrorKind::ValidationError, "names nothing".into()));
    }
}
