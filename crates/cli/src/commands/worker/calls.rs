//! Calls of tools for the user of a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::{NullMeter, TurnEvent, TurnEventRecord};
use haft_contract::{ErrorKind, ToolCall, ToolError, ToolResult};
use serde_json::json;

use super::TurnRunner;
use crate::arguments::CallerArgs;
use crate::failure::Failure;
use crate::wire::{self, CallWork, JobSettings, UserPrompts};

impl TurnRunner {
    /// Makes it in this folder, or in that of this worker.
    pub(super) async fn call(&self, work: CallWork, folder: Option<PathBuf>) -> String {
        let result = match self.run_call(&work, folder).await {
            Ok(result) => result,
            Err(failure) => return refused(work, &failure.message),
        };
        outcome(&result)
    }

    async fn run_call(&self, work: &CallWork, folder: Option<PathBuf>) -> Result<ToolResult, Failure> {
        let wire = Arc::new(self.wire(&work.agent, folder, work.limits.clone())?.in_session(work.session.clone()));
        let store = Arc::clone(&self.served.store);
        let jobs = wire.recorded_jobs(&store);
        let jobs = move || JobSettings { wait_for_exit: true, ..jobs() };
        let mut services = wire.call_services(store.sessions(), &self.output);
        services.small_model = wire::small_model(&wire, Arc::new(NullMeter));
        let setup = wire.calling(&wire.settings.workspace, store, jobs, UserPrompts::Allowed, &CallerArgs::default(), services)?;
        let call = ToolCall::new(work.call_id.as_str(), work.tool.as_str(), work.arguments.clone());
        let result = setup.engine.run(call, &setup.session).await;
        setup.log.flush().await?;
        Ok(result)
    }
}

/// The outcome of a call that was not made.
pub(super) fn refused(work: CallWork, why: &str) -> String {
    let error = ToolError::new(ErrorKind::ExecutionError, why.to_owned());
    outcome(&ToolResult { call_id: work.call_id, tool: work.tool.into(), outcome: Err(error), elapsed: Duration::ZERO, stored: None })
}

/// As the server reads it.
fn outcome(result: &ToolResult) -> String {
    json!({ "result": TurnEventRecord::from_event(&TurnEvent::ToolEnd(result)) }).to_string()
}
