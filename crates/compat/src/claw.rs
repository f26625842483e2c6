//! Tools of the `ToolSpec` and `ToolExecutor` kind: one executor for all of them, JSON text in, text out.
//!
//! ```
//! use haft_compat::claw::{PermissionMode, StaticToolExecutor, ToolSpec, adapt};
//! use serde_json::json;
//!
//! let executor = StaticToolExecutor::new().register("WebFetch", |_input| Ok("a page".to_string()));
//! let spec = ToolSpec {
//!     name: "WebFetch",
//!     description: "Fetch a URL.",
//!     input_schema: json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}),
//!     required_permission: PermissionMode::ReadOnly,
//! };
//! let tools = adapt(executor, vec![spec]);
//! assert_eq!(tools[0].definition().name, "web_fetch");
//! assert_eq!(tools[0].definition().aliases, ["WebFetch"]);
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{Access, DynTool, ErrorKind, PlanContext, Prepared, ToolContext, ToolOutput};
use serde_json::Value;

use crate::adapter::{AdaptedEffects, define, failed};
pub use crate::claw_specs::mvp_tool_specs;

/// The permission that a tool needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PermissionMode {
    /// Look, but change nothing.
    ReadOnly,
    /// Change files of the workspace.
    WorkspaceWrite,
    /// Anything.
    DangerFullAccess,
}

impl From<PermissionMode> for Access {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::ReadOnly => Self::ReadOnly,
            PermissionMode::WorkspaceWrite => Self::WorkspaceWrite,
            PermissionMode::DangerFullAccess => Self::FullAccess,
        }
    }
}

/// The description of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name, in the spelling that the executor expects.
    pub name: &'static str,
    /// The description for the model.
    pub description: &'static str,
    /// The parameters, as JSON Schema.
    pub input_schema: Value,
    /// The permission it needs.
    pub required_permission: PermissionMode,
}

/// A tool as a request to Anthropic has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The parameters, as JSON Schema.
    pub input_schema: Value,
}

impl From<&ToolSpec> for ToolDefinition {
    fn from(spec: &ToolSpec) -> Self {
        Self { name: spec.name.to_owned(), description: spec.description.to_owned(), input_schema: spec.input_schema.clone() }
    }
}

/// The error of a tool: a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    message: String,
}

impl ToolError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// Runs tools by name.
pub trait ToolExecutor {
    /// Runs one. The input is the JSON text of its arguments.
    fn execute(&mut self, tool_name: &str, input: &str) -> Result<String, ToolError>;
}

type Handler = Box<dyn FnMut(&str) -> Result<String, ToolError> + Send>;

/// An executor made of closures.
#[derive(Default)]
pub struct StaticToolExecutor {
    handlers: BTreeMap<String, Handler>,
}

impl fmt::Debug for StaticToolExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.handlers.keys()).finish()
    }
}

impl StaticToolExecutor {
    /// An executor without tools.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a tool, or replaces the one of the same name.
    pub fn register(
        mut self,
        tool_name: impl Into<String>,
        handler: impl FnMut(&str) -> Result<String, ToolError> + Send + 'static,
    ) -> Self {
        self.handlers.insert(tool_name.into(), Box::new(handler));
        self
    }
}

impl ToolExecutor for StaticToolExecutor {
    fn execute(&mut self, tool_name: &str, input: &str) -> Result<String, ToolError> {
        if let Some(handler) = self.handlers.get_mut(tool_name) {
            return handler(input);
        }
        let known: Vec<&str> = self.handlers.keys().map(String::as_str).collect();
        Err(ToolError::new(format!("unknown tool: '{tool_name}'. This executor has: {}", known.join(", "))))
    }
}

/// Adapts a tool for each spec. They share the executor, so one of them runs at a time.
///
/// Each call plans [`Effect::Unknown`](haft_contract::Effect::Unknown), whatever the spec requires: a permission mode is
/// a claim of the spec that nothing verifies. Such a call needs full access and approval.
pub fn adapt(executor: impl ToolExecutor + Send + 'static, specs: Vec<ToolSpec>) -> Vec<Arc<dyn DynTool>> {
    adapt_each(executor, specs, |_| AdaptedEffects::Unknown)
}

/// The same, when the embedding program vouches for every spec that requires [`PermissionMode::ReadOnly`].
///
/// To vouch means: calls of these tools change nothing and carry no data off this machine, whatever their arguments say.
/// They then run at every access level without approval. A tool that reads files for the model is not of that kind:
/// it would read past the workspace and past the rules on paths, so leave it out of `specs`. Specs that require more are
/// treated as by [`adapt`].
pub fn adapt_trusted(executor: impl ToolExecutor + Send + 'static, specs: Vec<ToolSpec>) -> Vec<Arc<dyn DynTool>> {
    adapt_each(executor, specs, |spec| match Access::from(spec.required_permission) {
        Access::ReadOnly => AdaptedEffects::None,
        Access::WorkspaceWrite | Access::FullAccess => AdaptedEffects::Unknown,
    })
}

fn adapt_each(
    executor: impl ToolExecutor + Send + 'static,
    specs: Vec<ToolSpec>,
    effects: impl Fn(&ToolSpec) -> AdaptedEffects,
) -> Vec<Arc<dyn DynTool>> {
    let executor: SharedExecutor = Arc::new(Mutex::new(executor));
    specs
        .into_iter()
        .map(|spec| {
            let effects = effects(&spec);
            let definition = define(spec.name, spec.description, spec.input_schema, effects);
            Arc::new(ClawTool { original: spec.name, definition, effects, executor: Arc::clone(&executor) }) as Arc<dyn DynTool>
        })
        .collect()
}

type SharedExecutor = Arc<Mutex<dyn ToolExecutor + Send>>;

struct ClawTool {
    original: &'static str,
    definition: haft_contract::ToolDefinition,
    effects: AdaptedEffects,
    executor: SharedExecutor,
}

impl DynTool for ClawTool {
    fn definition(&self) -> &haft_contract::ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, _cx: &PlanContext<'_>) -> Result<Prepared, haft_contract::ToolError> {
        let (original, executor) = (self.original, Arc::clone(&self.executor));
        let input = arguments.to_string();
        let plan = self.effects.plan("claw", original);
        Ok(Prepared::new(plan, move |cx| Box::pin(async move { run(&executor, original, &input, &cx) })))
    }
}

fn run(executor: &SharedExecutor, original: &str, input: &str, cx: &ToolContext) -> Result<ToolOutput, haft_contract::ToolError> {
    // A panic of one tool must not poison the executor for the others.
    let mut executor = executor.lock().unwrap_or_else(PoisonError::into_inner);
    if cx.is_cancelled() {
        // The call was answered while it waited, so its result would be lost.
        let message = format!("'{original}' was stopped while it waited for another tool of its executor; it did nothing.");
        return Err(haft_contract::ToolError::new(ErrorKind::Cancelled, message));
    }
    executor.execute(original, input).map(ToolOutput::text).map_err(|error| failed(original, &error.message).with_source(error))
}
