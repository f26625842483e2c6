//! Taking a tool through planning and running, without an engine.

use std::sync::Arc;

use haft_contract::{
    CallInfo, DynTool, Effect, ErrorKind, Plan, PlanContext, ToolContext, ToolError, ToolOutput,
    ports::{Gate, ProgressSink},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::FakeHost;

/// A gate that is open.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Gate for AllowAll {
    fn allows(&self, _call: &CallInfo, _effect: &Effect) -> Result<(), ToolError> {
        Ok(())
    }
    fn after_call(&self) -> Arc<dyn Gate> {
        Arc::new(*self)
    }
}

/// A gate that is shut.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

impl Gate for DenyAll {
    fn allows(&self, _call: &CallInfo, effect: &Effect) -> Result<(), ToolError> {
        Err(ToolError::denied(format!("denied: {}", effect.target())))
    }
    fn after_call(&self) -> Arc<dyn Gate> {
        Arc::new(*self)
    }
}

/// Everything around one call; change what a test is about.
#[derive(Clone)]
pub struct Trial {
    /// The machine.
    pub host: Arc<FakeHost>,
    /// Who checks what could not be planned; open by default.
    pub gate: Arc<dyn Gate>,
    /// Stops the call.
    pub cancel: CancellationToken,
    /// Receives progress.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

haft_contract::opaque_debug!(Trial: host = host);

impl Trial {
    /// A call on this machine with nothing in its way.
    pub fn new(host: Arc<FakeHost>) -> Self {
        Self { host, gate: Arc::new(AllowAll), cancel: CancellationToken::new(), progress: None }
    }
    /// What a tool of this name gets to run with.
    pub fn context(&self, tool: &str, plan: Plan) -> ToolContext {
        let call = CallInfo { id: "call-1".into(), tool: tool.into(), session: "session-1".into(), agent: "main".into() };
        ToolContext::new(
            call,
            plan,
            Arc::clone(&self.host) as _,
            self.cancel.clone(),
            Arc::clone(&self.gate),
            Arc::clone(&self.host.journal) as _,
            self.progress.clone(),
        )
    }
    /// Plans and runs. There is no policy here, and no schema check: the arguments go to the tool as they are.
    pub async fn run(&self, tool: &dyn DynTool, arguments: Value) -> Result<ToolOutput, ToolError> {
        let prepared = tool.prepare(arguments, &PlanContext::new(&*self.host).in_session("session-1"))?;
        let (plan, run) = prepared.into_parts();
        run(self.context(&tool.definition().name, plan)).await
    }
}

/// A context for a plan that a test made itself.
pub fn context_for(plan: Plan, host: Arc<FakeHost>) -> ToolContext {
    Trial::new(host).context("test", plan)
}

/// Plans a call and runs it on a fake host.
pub async fn run_tool(tool: &dyn DynTool, arguments: Value, host: Arc<FakeHost>) -> Result<ToolOutput, ToolError> {
    Trial::new(host).run(tool, arguments).await
}

/// The text of an outcome that should be a success.
///
/// # Panics
/// If it is a failure.
pub fn expect_text(outcome: Result<ToolOutput, ToolError>) -> String {
    match outcome {
        Ok(output) => output.texts().collect(),
        Err(error) => panic!("expected a success, got {}: {}", error.kind(), error.message()),
    }
}

/// The kind and message of an outcome that should be a failure.
///
/// # Panics
/// If it is a success.
pub fn expect_error<T>(outcome: Result<T, ToolError>) -> (ErrorKind, String) {
    match outcome {
        Ok(_) => panic!("expected a failure, got a success"),
        Err(error) => (error.kind(), error.message().to_owned()),
    }
}
