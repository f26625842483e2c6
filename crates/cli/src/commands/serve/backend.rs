//! What the gateway asks of this program: each answer comes from the same code as the command of that name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use haft_contract::ports::Automation;
use haft_contract::{BoxFuture, ToolResult};
use haft_gateway::{
    AgentChange, ChangeDecision, ChangeRequest, GatewayBackend, KeyEdit, QuarantineRequest, Saving, ToolRequest, UndoRequest,
};
use haft_store::{CallLog, SessionStore};
use haft_tui::chat::{ChatBackend, ChatOptions};
use serde_json::{Value, json};

use super::{agents, changes, machine, settings, tools, undo};
use crate::arguments::{CallerArgs, Common};
use crate::commands::chat::Backend;
use crate::failure::Failure;
use crate::output::Output;
use crate::wire::{ServedParts, Wire, models};

/// Configurations that are kept, by folder and agent.
const MOST_WIRES: usize = 32;

/// By folder and agent.
type WireMap = HashMap<(Option<PathBuf>, Option<String>), Arc<Wire>>;

pub(super) struct ServeBackend {
    pub(super) common: Common,
    pub(super) output: Output,
    pub(super) served: ServedParts,
    wires: Mutex<WireMap>,
    started: SystemTime,
}

impl ServeBackend {
    pub(super) fn new(common: &Common, output: &Output, wire: Wire, served: ServedParts) -> Self {
        let wire = Arc::new(wire.serving(&served));
        let wires = Mutex::new(HashMap::from([((None, None), wire)]));
        Self { common: common.clone(), output: output.clone(), served, wires, started: SystemTime::now() }
    }

    /// The configuration for a folder and an agent, as the files are now or were when it was first needed.
    pub(super) fn wire(&self, options: &ChatOptions) -> Result<Arc<Wire>, Failure> {
        let key = (options.workspace.clone(), options.agent.clone());
        if let Some(wire) = self.wires().get(&key) {
            return Ok(Arc::clone(wire));
        }
        let common = self.common.with(&ChatOptions {
            workspace: options.workspace.clone().or_else(|| self.common.workspace.clone()),
            agent: options.agent.clone().or_else(|| self.common.agent.clone()),
            access: self.common.access,
        })?;
        let wire = Arc::new(Wire::new(&common, &self.output)?.serving(&self.served));
        let mut wires = self.wires();
        if wires.len() >= MOST_WIRES {
            wires.clear();
        }
        wires.insert(key, Arc::clone(&wire));
        Ok(wire)
    }

    /// The configuration of an agent, or of the server's own.
    pub(super) fn wire_of(&self, agent: Option<&str>) -> Result<Arc<Wire>, Failure> {
        self.wire(&ChatOptions { agent: agent.map(str::to_owned), ..ChatOptions::default() })
    }

    /// Reads every file again when it is next needed.
    pub(super) fn reload(&self) {
        self.wires().clear();
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn wires(&self) -> MutexGuard<'_, WireMap> {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn facts(&self) -> Result<Value, Failure> {
        let wire = self.wire_of(None)?;
        let chosen = models::choose(&wire.settings, None).await?;
        let model = chosen.provider.model();
        let session = wire.listing(&wire.settings.agent, &CallerArgs::default())?;
        let started = haft_tui::time::local_time(self.started, "%Y-%m-%dT%H:%M:%S%:z");
        Ok(json!({
            "workspace": wire.settings.workspace.to_string_lossy(), "agent": wire.settings.agent, "agents": wire.agents(),
            "model": format!("{}/{}", model.provider, model.name), "model_reason": chosen.reason, "access": session.access(),
            "ask": wire.settings.config.ask, "started": started,
        }))
    }
}

impl GatewayBackend for ServeBackend {
    fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(self.served.store.sessions())
    }

    fn calls(&self) -> Arc<dyn CallLog> {
        Arc::clone(&self.served.store) as _
    }

    fn chat(&self, options: &ChatOptions) -> Result<Arc<dyn ChatBackend>, Failure> {
        Ok(Arc::new(Backend::new(self.wire(options)?, &self.output)))
    }

    fn about(&self) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(self.facts())
    }

    fn tools(&self, agent: Option<&str>) -> Result<Value, Failure> {
        tools::list(self, agent)
    }

    fn tool(&self, request: &ToolRequest) -> Result<Value, Failure> {
        tools::one(self, request)
    }

    fn explain<'a>(&'a self, request: &'a ToolRequest) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(tools::explain(self, request))
    }

    fn invoke<'a>(&'a self, request: &'a ToolRequest, call_id: &'a str) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(tools::invoke(self, request, call_id))
    }

    fn undo<'a>(&'a self, request: UndoRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(undo::answer(self, request))
    }

    fn agents(&self) -> Result<Value, Failure> {
        agents::list(self)
    }

    fn agent(&self, name: &str) -> Result<Value, Failure> {
        agents::one(self, name)
    }

    fn edit_agent(&self, name: &str, change: &AgentChange, saving: Saving) -> Result<Value, Failure> {
        agents::edit(self, name, change, saving)
    }

    fn edit_settings(&self, edits: &[KeyEdit], saving: Saving) -> Result<Value, Failure> {
        settings::edit(self, edits, saving)
    }

    fn settings(&self) -> Result<Value, Failure> {
        machine::settings(self)
    }

    fn automation(&self) -> Result<Arc<dyn Automation>, Failure> {
        Ok(self.wire_of(None)?.automation())
    }

    fn doctor(&self) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(async { Ok(crate::commands::doctor::report(&self.common, &self.output).await) })
    }

    fn policy<'a>(&'a self, agent: Option<&'a str>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(tools::policy(self, agent))
    }

    fn simulate<'a>(&'a self, config: &'a str, calls: usize) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(machine::simulate(self, config, calls))
    }

    fn quarantine(&self, request: QuarantineRequest<'_>) -> Result<Value, Failure> {
        machine::quarantine(request)
    }

    fn changes<'a>(&'a self, request: ChangeRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(changes::answer(self, request))
    }

    fn decide_changes<'a>(&'a self, decision: &'a ChangeDecision, call_id: &'a str) -> BoxFuture<'a, Result<Option<ToolResult>, Failure>> {
        Box::pin(changes::decide(self, decision, call_id))
    }

    fn jobs(&self) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(machine::jobs(self))
    }

    fn kill_job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(machine::kill_job(self, id))
    }

    fn connections(&self) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(machine::connections(self))
    }

    fn budget(&self) -> Value {
        machine::budget(self)
    }
}
