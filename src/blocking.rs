//! Tools of a toolbox for programs that expect the synchronous traits of other systems.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use haft_compat::{claw, oneclaw};
use haft_contract::{Access, Arguments, ToolDefinition, ToolResult};
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};

use crate::Toolbox;

/// A toolbox whose calls block the calling thread: the [`claw::ToolExecutor`] of other programs, and a source of [`oneclaw::Tool`]s.
/// Every call passes the whole pipeline. Clones share the toolbox.
///
/// ```
/// use haft::compat::claw::ToolExecutor;
/// # /// Greets somebody by name.
/// # #[haft::tool]
/// # async fn greet(
/// #     /// Whom to greet.
/// #     name: String,
/// # ) -> Result<String, haft::ToolError> {
/// #     Ok(format!("Hello, {name}!"))
/// # }
/// let mut executor = haft::Toolbox::builder().tool(Greet).build().unwrap().into_blocking().unwrap();
/// assert_eq!(executor.execute("greet", r#"{"name": "Ann"}"#), Ok("Hello, Ann!".to_string()));
/// ```
#[derive(Debug, Clone)]
pub struct BlockingToolbox {
    inner: Arc<BlockingParts>,
}

#[derive(Debug)]
struct BlockingParts {
    toolbox: Toolbox,
    runtime: Option<Runtime>,
}

impl Drop for BlockingParts {
    fn drop(&mut self) {
        // It may be dropped in a runtime, which must not wait for another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Toolbox {
    /// The same tools for synchronous programs. It fails if the system gives no thread.
    pub fn into_blocking(self) -> io::Result<BlockingToolbox> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("haft-blocking").enable_all().build()?;
        Ok(BlockingToolbox { inner: Arc::new(BlockingParts { toolbox: self, runtime: Some(runtime) }) })
    }
}

impl BlockingToolbox {
    /// Calls one tool, and waits for it.
    pub fn call(&self, tool: &str, arguments: impl Into<Arguments>) -> io::Result<ToolResult> {
        let (parts, arguments) = (&*self.inner, arguments.into());
        let runtime = parts.runtime.as_ref().ok_or_else(|| io::Error::other("the toolbox has ended"))?;
        // A thread of its own: the caller may be within a runtime, where nothing may block on another one.
        std::thread::scope(|scope| {
            let called = scope.spawn(|| runtime.block_on(parts.toolbox.call(tool, arguments)));
            called.join().map_err(|_| io::Error::other("the call ended without a result"))
        })
    }

    /// The toolbox.
    pub fn toolbox(&self) -> &Toolbox {
        &self.inner.toolbox
    }

    /// Definitions of the tools, as a request to Anthropic has them.
    pub fn definitions(&self) -> Vec<claw::ToolDefinition> {
        let definition = |definition: ToolDefinition| claw::ToolDefinition {
            name: definition.name.into_owned(),
            description: definition.description.into_owned(),
            input_schema: Value::clone(&definition.parameters),
        };
        self.toolbox().definitions().into_iter().map(definition).collect()
    }

    /// The permission that a tool needs, as that system calls it.
    pub fn permission(&self, tool: &str) -> Option<claw::PermissionMode> {
        let entry = self.toolbox().engine().registry().get(tool)?;
        Some(match entry.definition().access {
            Access::ReadOnly => claw::PermissionMode::ReadOnly,
            Access::WorkspaceWrite => claw::PermissionMode::WorkspaceWrite,
            Access::FullAccess => claw::PermissionMode::DangerFullAccess,
        })
    }

    /// Each tool as one of the other system, whose parameters are text.
    pub fn oneclaw_tools(&self) -> Vec<Box<dyn oneclaw::Tool>> {
        let tool = |definition| Box::new(OneClawView { tools: self.clone(), definition }) as Box<dyn oneclaw::Tool>;
        self.toolbox().definitions().into_iter().map(tool).collect()
    }
}

/// The text of a success, or the message of a failure.
fn outcome(result: io::Result<ToolResult>) -> Result<String, String> {
    match result.map_err(|error| error.to_string())?.outcome {
        Ok(output) => Ok(output.texts().collect::<Vec<_>>().join("\n")),
        Err(error) => Err(error.message().to_owned()),
    }
}

impl claw::ToolExecutor for BlockingToolbox {
    fn execute(&mut self, tool_name: &str, input: &str) -> Result<String, claw::ToolError> {
        outcome(self.call(tool_name, input)).map_err(claw::ToolError::new)
    }
}

struct OneClawView {
    tools: BlockingToolbox,
    definition: ToolDefinition,
}

impl oneclaw::Tool for OneClawView {
    fn info(&self) -> oneclaw::ToolInfo {
        let properties = self.definition.parameters["properties"].as_object().cloned().unwrap_or_default();
        let required = self.definition.parameters["required"].as_array().cloned().unwrap_or_default();
        let param = |(name, schema): (String, Value)| oneclaw::ToolParam {
            description: schema["description"].as_str().unwrap_or_default().to_owned(),
            required: required.iter().any(|known| *known == name.as_str()),
            name,
        };
        oneclaw::ToolInfo {
            name: self.definition.name.to_string(),
            description: self.definition.description.to_string(),
            params: properties.into_iter().map(param).collect(),
            category: self.definition.category.as_str().to_owned(),
        }
    }

    /// Text that should be a number, a list or an object is read as such: the arguments stage does that.
    fn execute(&self, params: &HashMap<String, String>) -> oneclaw::Result<oneclaw::ToolResult> {
        let arguments: Map<String, Value> = params.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
        let result = self.tools.call(&self.definition.name, Value::Object(arguments));
        Ok(match outcome(result) {
            Ok(text) => oneclaw::ToolResult::ok(text),
            Err(why) => oneclaw::ToolResult::err(why),
        })
    }
}
