//! Tools of the `Tool` and `ToolInfo` kind: string parameters in, text and metadata out.
//!
//! ```
//! use std::collections::HashMap;
//! use haft_compat::oneclaw::{Result, Tool, ToolInfo, ToolResult, adapt};
//!
//! struct NoopTool;
//!
//! impl Tool for NoopTool {
//!     fn info(&self) -> ToolInfo {
//!         ToolInfo { name: "noop".into(), description: "Does nothing".into(), params: vec![], category: "system".into() }
//!     }
//!     fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult> {
//!         Ok(ToolResult::ok(format!("noop executed with {} params", params.len())))
//!     }
//! }
//!
//! assert_eq!(adapt(NoopTool).definition().name, "noop");
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use haft_contract::{Category, DynTool, PlanContext, Prepared, ToolDefinition, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use crate::adapter::{AdaptedEffects, define, failed};

/// The error of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OneClawError {
    /// The tool failed, for this reason.
    Tool(String),
}

impl fmt::Display for OneClawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for OneClawError {}

/// The result of a call.
pub type Result<T> = std::result::Result<T, OneClawError>;

/// The description of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// Its parameters.
    pub params: Vec<ToolParam>,
    /// `io`, `network`, `system` or `notify`.
    pub category: String,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolParam {
    /// Its name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// Whether a call must have it.
    pub required: bool,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// Whether it succeeded.
    pub success: bool,
    /// The output, or the reason of the failure.
    pub output: String,
    /// Details for programs.
    pub metadata: HashMap<String, String>,
}

impl ToolResult {
    /// A success.
    pub fn ok(output: impl Into<String>) -> Self {
        Self { success: true, output: output.into(), metadata: HashMap::new() }
    }
    /// A failure.
    pub fn err(message: impl Into<String>) -> Self {
        Self { success: false, output: message.into(), metadata: HashMap::new() }
    }
    /// Adds metadata.
    pub fn with_meta(mut self, key: impl Into<String>, val: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), val.into());
        self
    }
}

/// A tool.
pub trait Tool: Send + Sync {
    /// Its description.
    fn info(&self) -> ToolInfo;
    /// Runs it. Required parameters are present; the tool checks their values.
    fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult>;
}

impl Tool for Box<dyn Tool> {
    fn info(&self) -> ToolInfo {
        (**self).info()
    }
    fn execute(&self, params: &HashMap<String, String>) -> Result<ToolResult> {
        (**self).execute(params)
    }
}

/// Tools by name. It checks that required parameters are there before it runs a tool.
#[derive(Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Box<dyn Tool>>,
}

haft_contract::opaque_debug!(ToolRegistry);

impl ToolRegistry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds a tool, or replaces the one of the same name.
    pub fn register(&mut self, tool: Box<dyn Tool>) {
        self.tools.insert(tool.info().name, tool);
    }
    /// The descriptions of all tools, by name.
    pub fn list_tools(&self) -> Vec<ToolInfo> {
        self.tools.values().map(Tool::info).collect()
    }
    /// Runs a tool.
    pub fn execute(&self, name: &str, params: &HashMap<String, String>) -> Result<ToolResult> {
        let tool = self.tools.get(name).ok_or_else(|| OneClawError::Tool(format!("There is no tool '{name}'.")))?;
        let missing = tool.info().params.into_iter().find(|param| param.required && !params.contains_key(&param.name));
        match missing {
            Some(param) => Err(OneClawError::Tool(format!("Missing required parameter: '{}'.", param.name))),
            None => tool.execute(params),
        }
    }
    /// Its tools, adapted one by one.
    pub fn adapt(self) -> Vec<Arc<dyn DynTool>> {
        self.tools.into_values().map(adapt).collect()
    }
}

/// Adapts a tool. Its info is read once, here.
///
/// Each call plans [`Effect::Unknown`](haft_contract::Effect::Unknown), because the trait cannot declare the
/// effects of a call. Such a call needs full access and approval.
pub fn adapt(tool: impl Tool + 'static) -> Arc<dyn DynTool> {
    adapted(tool, AdaptedEffects::Unknown)
}

/// The same, when the embedding program vouches that the tool touches nothing.
///
/// To vouch means: its calls read no files, change nothing and carry no data off this machine, whatever their arguments
/// say. They then run at every access level without approval.
pub fn adapt_trusted(tool: impl Tool + 'static) -> Arc<dyn DynTool> {
    adapted(tool, AdaptedEffects::None)
}

fn adapted(tool: impl Tool + 'static, effects: AdaptedEffects) -> Arc<dyn DynTool> {
    let info = tool.info();
    let mut definition = define(&info.name, &info.description, schema(&info.params), effects);
    definition.category = category(&info.category);
    Arc::new(OneClawTool { original: info.name, definition, effects, tool: Arc::new(tool) })
}

fn schema(params: &[ToolParam]) -> Value {
    let properties: Map<String, Value> =
        params.iter().map(|param| (param.name.clone(), json!({"type": "string", "description": param.description}))).collect();
    let required: Vec<&str> = params.iter().filter(|param| param.required).map(|param| param.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// An unknown category becomes `System`.
fn category(name: &str) -> Category {
    Category::ALL.iter().copied().find(|category| category.as_str() == name).unwrap_or(Category::System)
}

struct OneClawTool<T> {
    original: String,
    definition: ToolDefinition,
    effects: AdaptedEffects,
    tool: Arc<T>,
}

impl<T: Tool + 'static> DynTool for OneClawTool<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, _cx: &PlanContext<'_>) -> std::result::Result<Prepared, ToolError> {
        let params = strings(arguments)?;
        let (tool, original) = (Arc::clone(&self.tool), self.original.clone());
        let plan = self.effects.plan("oneclaw", &original);
        Ok(Prepared::new(plan, move |_cx| Box::pin(async move { outcome(tool.execute(&params), &original) })))
    }
}

/// Arguments as text: numbers and booleans as they are written, lists and objects as JSON text; null is absent.
fn strings(arguments: Value) -> std::result::Result<HashMap<String, String>, ToolError> {
    let Value::Object(arguments) = arguments else {
        return Err(ToolError::validation(format!("The arguments must be a JSON object, not {arguments}")));
    };
    let text = |value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    Ok(arguments.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect())
}

fn outcome(result: Result<ToolResult>, original: &str) -> std::result::Result<ToolOutput, ToolError> {
    let ToolResult { success, output, metadata } = result.map_err(|error| failed(original, &error.to_string()).with_source(error))?;
    let details = details(metadata);
    if success {
        Ok(with(ToolOutput::text(output), details, ToolOutput::with_details))
    } else {
        Err(with(failed(original, &output), details, ToolError::with_details))
    }
}

fn with<T>(outcome: T, details: Option<Value>, add: impl FnOnce(T, Value) -> T) -> T {
    match details {
        Some(details) => add(outcome, details),
        None => outcome,
    }
}

/// In the order of the keys, so that output is deterministic.
fn details(metadata: HashMap<String, String>) -> Option<Value> {
    let sorted: BTreeMap<String, String> = metadata.into_iter().collect();
    (!sorted.is_empty()).then(|| sorted.into_iter().map(|(key, value)| (key, Value::String(value))).collect())
}
