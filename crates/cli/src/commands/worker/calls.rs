//! Calls of tools for the user of a server.

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
    pub(super) async fn call(&self, work: CallWork) -> String {
        let result = match self.run_call(&work).await {
            Ok(result) => result,
            Err(failure) => {
                let error = ToolError::new(ErrorKind::ExecutionError, failure.message.clone());
                ToolResult { call_id: work.call_id, tool: work.tool.into(), outcome: Err(error), elapsed: Duration::ZERO, stored: None }
            }
        };
        json!({ "result": TurnEventRecord::from_event(&TurnEvent::ToolEnd(&result)) }).to_string()
    }

    async fn run_call(&self, work: &CallWork) -> Result<ToolResult, Failure> {
        let wire = self.wire(&work.agent, None, work.limits.clone())?;
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
