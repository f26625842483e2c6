//! `#[tool]` with a plan.

use haft::{DynTool, Erased, ErrorKind, Plan, PlanContext, ToolContext, ToolError, ToolOutput};
use haft_testkit::{FakeHost, run_tool};
use serde_json::{Value, json};

/// Says how large a file is.
#[haft::tool(section = Files, plan = plans::reading)]
pub(crate) async fn file_size(cx: &ToolContext, path: String) -> Result<String, ToolError> {
    Ok(cx.fs().info(&path).await?.size.to_string())
}

mod plans {
    use super::{FileSizeParams, Plan, PlanContext, ToolError};

    pub(super) fn reading(params: &FileSizeParams, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        if params.path.is_empty() {
            return Err(ToolError::validation("Missing required parameter: 'path'"));
        }
        Ok(Plan::nothing().read(cx.locate(&params.path)?))
    }
}

/// Reaches for a file that it did not plan.
#[haft::tool]
async fn careless(path: String, cx: &ToolContext) -> Result<String, ToolError> {
    Ok(cx.fs().info(&path).await?.size.to_string())
}

fn effects(tool: &dyn DynTool, arguments: Value) -> Result<Value, ToolError> {
    let host = FakeHost::new();
    let prepared = tool.prepare(arguments, &PlanContext::new(&*host))?;
    Ok(serde_json::to_value(prepared.plan().effects()).unwrap())
}

#[test]
fn the_plan_is_the_one_that_was_named() {
    let tool = Erased::new(FileSize);
    assert_eq!(effects(&tool, json!({"path": "a.txt"})).unwrap(), json!([{"effect": "read", "path": "/workspace/a.txt"}]));
    assert_eq!(effects(&tool, json!({"path": ""})).unwrap_err().kind(), ErrorKind::ValidationError);
    assert_eq!(effects(&Erased::new(Careless), json!({"path": "a.txt"})).unwrap(), json!([]));
}

#[tokio::test]
async fn a_tool_reaches_what_it_planned_and_nothing_else() {
    let host = FakeHost::new();
    host.files.put("a.txt", "four");
    let arguments = json!({"path": "a.txt"});
    assert_eq!(run_tool(&Erased::new(FileSize), arguments.clone(), host.clone()).await.unwrap(), ToolOutput::text("4"));
    assert_eq!(run_tool(&Erased::new(Careless), arguments, host).await.unwrap_err().kind(), ErrorKind::PermissionDenied);
}
