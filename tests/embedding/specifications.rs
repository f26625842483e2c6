//! The example code of the specifications of seeds 001 and 003, unchanged but for `use`.

use haft::compat::{claw, oneclaw};
use haft::{Access, CallbackApprover, Toolbox, ports::ApprovalAnswer};
use serde_json::json;

/// Seed 001, "Tool Registration Pattern".
#[allow(unused_variables, clippy::let_and_return, reason = "the code of the specification")]
#[rustfmt::skip]
mod seed_001 {
    use haft::compat::claw::StaticToolExecutor;

    pub(super) fn executor() -> StaticToolExecutor {
let executor = StaticToolExecutor::new()
    .register("bash", |input| {
        // Parse input, run command
        Ok("output".to_string())
    })
    .register("read_file", |input| {
        Ok("file contents".to_string())
    });
        executor
    }
}

/// Seed 003, "Example: NoopTool".
#[allow(unreachable_pub, reason = "the code of the specification")]
#[rustfmt::skip]
mod seed_003 {
    use std::collections::HashMap;
    use haft::compat::oneclaw::{Result, Tool, ToolInfo, ToolResult};

pub struct NoopTool;

impl Tool for NoopTool {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "noop".into(),
            description: "Does nothing (test tool)".into(),
            params: vec![],
            category: "system".into(),
        }
    }

    fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult> {
        Ok(ToolResult::ok(
            format!("noop executed with {} params", params.len())
        ))
    }
}
}

fn text(result: haft::ToolResult) -> String {
    result.outcome.unwrap().texts().collect()
}

#[tokio::test]
async fn executor_of_the_specification_replaces_tools_whose_names_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let approver = CallbackApprover::new(|_| async { ApprovalAnswer::Once });
    let builder = Toolbox::builder().workspace(folder.path()).access(Access::FullAccess).approver(std::sync::Arc::new(approver));
    let toolbox = builder.build().unwrap();
    let specs = claw::mvp_tool_specs().into_iter().filter(|spec| ["bash", "read_file"].contains(&spec.name)).collect();
    let tools = claw::adapt(seed_001::executor(), specs);
    let refused = toolbox.add_dyn(std::sync::Arc::clone(&tools[1])).unwrap_err().to_string();
    assert!(refused.contains("is already registered") && refused.contains("`Toolbox::replace`"), "{refused}");
    let gone: Vec<Vec<String>> = tools.into_iter().map(|tool| toolbox.replace_dyn(tool).unwrap()).collect();
    assert_eq!(gone, [vec![], vec!["read_file".to_owned()]]);
    assert_eq!(text(toolbox.call("bash", json!({"command": "ls"})).await), "output");
    assert_eq!(text(toolbox.call("read_file", json!({"path": "a"})).await), "file contents");
}

#[tokio::test]
async fn noop_tool_of_the_specification_replaces_ours_and_runs_in_its_registry() {
    let folder = tempfile::tempdir().unwrap();
    let toolbox = Toolbox::builder().workspace(folder.path()).build().unwrap();
    assert_eq!(toolbox.replace_dyn(oneclaw::adapt_trusted(seed_003::NoopTool)).unwrap(), ["noop"]);
    assert_eq!(text(toolbox.call("noop", json!({})).await), "noop executed with 0 params");
    let mut registry = oneclaw::ToolRegistry::new();
    registry.register(Box::new(seed_003::NoopTool));
    let params = [("a".to_owned(), "b".to_owned())].into();
    assert_eq!(registry.execute("noop", &params), Ok(oneclaw::ToolResult::ok("noop executed with 1 params")));
    assert_eq!(registry.list_tools()[0].name, "noop");
}

/// Greets somebody some times.
#[haft::tool]
async fn greet(
    /// Whom to greet.
    name: String,
    /// How often.
    #[tool(default = 1)]
    times: u32,
) -> Result<String, haft::ToolError> {
    Ok(vec![format!("Hello, {name}!"); times as usize].join(" "))
}

#[tokio::test]
async fn tools_of_ours_serve_programs_that_expect_the_other_traits() {
    use haft::compat::claw::ToolExecutor;
    let mut tools = Toolbox::builder().tool(Greet).build().unwrap().into_blocking().unwrap();
    // Also within a runtime: each call waits on a thread of its own.
    assert_eq!(tools.execute("greet", r#"{"name": "Ann"}"#), Ok("Hello, Ann!".to_owned()));
    let error = tools.execute("greet", "{}").unwrap_err().to_string();
    assert!(error.starts_with("Missing required parameter: 'name'."), "{error}");
    assert!(tools.execute("nope", "{}").is_err());
    assert_eq!(tools.permission("greet"), Some(claw::PermissionMode::ReadOnly));
    assert_eq!(tools.definitions()[0].input_schema["required"], json!(["name"]));
    let views = tools.oneclaw_tools();
    let info = views[0].info();
    let params: Vec<_> = info.params.iter().map(|param| (param.name.as_str(), param.required)).collect();
    assert_eq!((info.name.as_str(), params), ("greet", vec![("name", true), ("times", false)]));
    let given = [("name".to_owned(), "Bo".to_owned()), ("times".to_owned(), "2".to_owned())].into();
    assert_eq!(views[0].execute(&given), Ok(oneclaw::ToolResult::ok("Hello, Bo! Hello, Bo!")));
}
