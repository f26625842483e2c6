use std::path::PathBuf;

use haft::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolMeta};
use schemars::JsonSchema;
use serde::Deserialize;

/// Count the words of a text file. Not for directories.
#[derive(Debug, ToolMeta)]
#[tool(
    section = Planning,
    category = Io,
    timeout_secs = 5,
    rules = Read,
    aliases = ["word_count"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct TallyWords;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "WordCount")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The file whose words are counted.
    path: PathBuf,
}

impl Tool for TallyWords {
    type Params = Params;
    type Output = String;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        Ok(Plan::nothing().read(cx.locate(&params.path)?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<String, ToolError> {
        let content = cx.fs().open(&params.path).await?.read_at(0, 64 * 1024).await?;
        Ok(format!("{} words", String::from_utf8_lossy(&content).split_whitespace().count()))
    }
}
