//! Tools that do as they are told, for tests of whatever runs tools.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::{BoxFuture, DynTool, ErrorKind, Plan, PlanContext, Prepared, ToolContext, ToolDefinition, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::sync::lock;

type Outcome = Result<ToolOutput, ToolError>;
type Planner = Arc<dyn Fn(&Value, &PlanContext<'_>) -> Result<Plan, ToolError> + Send + Sync>;
type BodyFn = Arc<dyn Fn(Value, ToolContext) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// The arguments of every run of a tool, in the order the runs began. Clones see the same log.
#[derive(Debug, Clone, Default)]
pub struct RunLog {
    runs: Arc<Mutex<Vec<Value>>>,
}

impl RunLog {
    /// The arguments of each run.
    pub fn arguments(&self) -> Vec<Value> {
        lock(&self.runs).clone()
    }
    /// How often the tool ran.
    pub fn count(&self) -> usize {
        lock(&self.runs).len()
    }
}

/// A tool that does as it is told: by default it touches nothing, takes any object, and echoes it.
#[derive(Clone)]
pub struct ScriptedTool {
    definition: ToolDefinition,
    planner: Planner,
    body: BodyFn,
    log: RunLog,
}

haft_contract::opaque_debug!(ScriptedTool: name = definition.name);

impl ScriptedTool {
    /// A tool of this name.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let description = format!("The scripted tool '{name}'");
        let definition = ToolDefinition::new(name, description, json!({"type": "object", "properties": {}}));
        let planner: Planner = Arc::new(|_, _| Ok(Plan::nothing()));
        let echo: BodyFn = Arc::new(|arguments, _| Box::pin(async move { Ok(ToolOutput::text(arguments.to_string())) }));
        Self { definition, planner, body: echo, log: RunLog::default() }
    }
    /// Sets the schema of the parameters.
    pub fn schema(mut self, parameters: Value) -> Self {
        let fresh = ToolDefinition::new(self.definition.name.clone(), self.definition.description.clone(), parameters);
        self.definition.parameters = fresh.parameters;
        self
    }
    /// Changes anything else of the definition.
    pub fn define(mut self, change: impl FnOnce(&mut ToolDefinition)) -> Self {
        change(&mut self.definition);
        self
    }
    /// Sets how long a call may take.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.define(|definition| definition.timeout = timeout)
    }
    /// Sets what a call with some arguments plans.
    pub fn plan(mut self, planner: impl Fn(&Value, &PlanContext<'_>) -> Result<Plan, ToolError> + Send + Sync + 'static) -> Self {
        self.planner = Arc::new(planner);
        self
    }
    /// Plans to read the file named by the parameter `path`.
    pub fn plans_read(self) -> Self {
        self.plan(|arguments, cx| Ok(Plan::nothing().read(cx.locate(path_of(arguments)?)?)))
    }
    /// Plans to write the file named by the parameter `path`.
    pub fn plans_write(self) -> Self {
        self.plan(|arguments, cx| Ok(Plan::nothing().write(cx.locate(path_of(arguments)?)?)))
    }
    /// Sets what a call does.
    pub fn body<F, B>(mut self, body: B) -> Self
    where
        F: Future<Output = Outcome> + Send + 'static,
        B: Fn(Value, ToolContext) -> F + Send + Sync + 'static,
    {
        self.body = Arc::new(move |arguments, cx| Box::pin(body(arguments, cx)));
        self
    }
    /// Returns this text.
    pub fn returns(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.body(move |_, _| std::future::ready(Ok(ToolOutput::text(text.clone()))))
    }
    /// Returns this many bytes of text.
    pub fn returns_bytes(self, count: usize) -> Self {
        self.body(move |_, _| std::future::ready(Ok(ToolOutput::text("x".repeat(count)))))
    }
    /// Fails.
    pub fn fails(self, kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        self.body(move |_, _| std::future::ready(Err(ToolError::new(kind, message.clone()))))
    }
    /// Panics.
    pub fn panics(self, message: impl Into<String>) -> Self {
        let message = message.into();
        self.body(move |_, _| {
            let message = message.clone();
            async move { std::panic::panic_any(message) }
        })
    }
    /// Waits as a well-behaved tool does, then says so.
    pub fn sleeps(self, time: Duration) -> Self {
        self.body(move |_, _| async move {
            tokio::time::sleep(time).await;
            Ok(ToolOutput::text("slept"))
        })
    }
    /// Holds its thread without ever yielding, then says so. Keep it short: nothing can stop it.
    #[allow(clippy::disallowed_methods, reason = "holding the thread is what it is for")]
    pub fn blocks(self, time: Duration) -> Self {
        self.body(move |_, _| async move {
            std::thread::sleep(time);
            Ok(ToolOutput::text("blocked"))
        })
    }
    /// Waits until it is cancelled.
    pub fn waits_for_cancel(self) -> Self {
        self.body(|_, cx| async move {
            cx.cancelled().await;
            Err(ToolError::new(ErrorKind::Cancelled, "stopped when asked"))
        })
    }
    /// The log of its runs; take it before the tool is registered.
    pub fn log(&self) -> RunLog {
        self.log.clone()
    }
    /// The tool, as registries take it.
    pub fn shared(self) -> Arc<dyn DynTool> {
        Arc::new(self)
    }
}

fn path_of(arguments: &Value) -> Result<&str, ToolError> {
    arguments["path"].as_str().ok_or_else(|| ToolError::validation("Missing required parameter: 'path'"))
}

impl DynTool for ScriptedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }
    fn prepare(&self, arguments: Value, cx: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        let plan = (self.planner)(&arguments, cx)?;
        let (body, log) = (Arc::clone(&self.body), self.log.clone());
        Ok(Prepared::new(plan, move |cx| {
            lock(&log.runs).push(arguments.clone());
            body(arguments, cx)
        }))
    }
}
