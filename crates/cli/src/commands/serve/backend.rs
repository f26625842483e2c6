//! What the gateway asks of this program: each answer comes from the same code as the command of that name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use haft_agent::Prices;
use haft_contract::ports::{AuthorityChange, Automation};
use haft_contract::{Access, BoxFuture, ToolResult};
use haft_gateway::{
    AgentChange, BackendVersions, ChangeDecision, ChangeRequest, GatewayBackend, HookDelivery, KeyEdit, MemoryRequest, QuarantineRequest,
    Saving, ServerRequest, ToolRequest, TrustRequest, UndoRequest,
};
use haft_store::{CallLog, CallRecord, SessionStore};
use haft_tui::chat::{ChatBackend, ChatOptions};
use serde_json::{Value, json};

use super::config_files::ConfigFiles;
use super::saved_edits::{self, SavedEdits};
use super::{agents, changes, machine, memory, providers, servers, settings, spills, tools, trust, undo};
use crate::arguments::{CallerArgs, Common};
use crate::commands::browser::recordings;
use crate::commands::chat::Backend;
use crate::failure::Failure;
use crate::output::{Output, note};
use crate::wire::{ServedParts, Wire, changed_keys, models};

/// Configurations that are kept, by folder, agent and access level.
const MOST_WIRES: usize = 32;
/// For how long the choice of the model is remembered: a model server may start meanwhile.
const CHOICE_TIME: Duration = Duration::from_secs(5);

/// By folder, agent and access level.
type WireMap = HashMap<(Option<PathBuf>, Option<String>, Option<Access>), Arc<Wire>>;

pub(super) struct ServeBackend {
    pub(super) common: Common,
    pub(super) output: Output,
    pub(super) served: ServedParts,
    /// Saves of the user's file that can be taken back.
    pub(super) saves: SavedEdits,
    config: Mutex<ConfigState>,
    facts: Mutex<Option<(u64, Instant, Value)>>,
    started: SystemTime,
    #[cfg(feature = "postgres")]
    turns: std::sync::OnceLock<Arc<dyn haft_gateway::RemoteTurns>>,
    #[cfg(feature = "postgres")]
    calls: std::sync::OnceLock<Arc<dyn super::workers::GivenCalls>>,
}

/// The configurations, and the files that they were read from.
struct ConfigState {
    wires: WireMap,
    /// That of the server itself, as it was last read.
    own: Arc<Wire>,
    files: ConfigFiles,
    /// Grows with each change of the files.
    version: u64,
}

impl ServeBackend {
    pub(super) fn new(common: &Common, output: &Output, wire: Wire, served: ServedParts) -> Self {
        let wire = Arc::new(wire.serving(&served));
        let (files, wires) = (ConfigFiles::read(&wire), HashMap::from([((None, None, None), Arc::clone(&wire))]));
        let config = Mutex::new(ConfigState { wires, own: wire, files, version: 0 });
        Self {
            common: common.clone(),
            output: output.clone(),
            served,
            saves: SavedEdits::default(),
            config,
            facts: Mutex::default(),
            started: SystemTime::now(),
            #[cfg(feature = "postgres")]
            turns: std::sync::OnceLock::new(),
            #[cfg(feature = "postgres")]
            calls: std::sync::OnceLock::new(),
        }
    }

    /// Gives turns to the workers of a queue from now on, if there is one.
    #[cfg(feature = "postgres")]
    pub(super) async fn use_workers(self: &Arc<Self>) -> Result<Option<crate::wire::FleetLink>, Failure> {
        let link = crate::wire::FleetLink::open(&self.served.store).await?;
        if let Some(link) = link.clone() {
            let turns = Arc::new(super::workers::FleetTurns::new(link, Arc::downgrade(self)));
            self.make_calls_with(Arc::clone(&turns) as _);
            self.run_turns_with(turns);
        }
        Ok(link)
    }

    /// Gives turns away from now on.
    #[cfg(feature = "postgres")]
    pub(super) fn run_turns_with(&self, turns: Arc<dyn haft_gateway::RemoteTurns>) {
        self.turns.set(turns).ok();
    }

    /// The same for calls of the user, where there are workers for them.
    #[cfg(feature = "postgres")]
    pub(super) fn make_calls_with(&self, calls: Arc<dyn super::workers::GivenCalls>) {
        self.calls.set(calls).ok();
    }

    /// The configuration for a folder, an agent and an access level, as the files are now.
    pub(super) fn wire(&self, options: &ChatOptions) -> Result<Arc<Wire>, Failure> {
        self.refresh();
        let key = (options.workspace.clone(), options.agent.clone(), options.access);
        if let Some(wire) = self.config().wires.get(&key) {
            return Ok(Arc::clone(wire));
        }
        let wire = self.load(options)?;
        let mut config = self.config();
        if config.wires.len() >= MOST_WIRES {
            config.wires.clear();
        }
        config.wires.insert(key, Arc::clone(&wire));
        Ok(wire)
    }

    fn load(&self, options: &ChatOptions) -> Result<Arc<Wire>, Failure> {
        if let (Some(ceiling), Some(level)) = (self.common.access, options.access)
            && level > ceiling
        {
            let message = format!("access level {level} is not available: this server was started with --access {ceiling}");
            return Err(Failure::usage(message).help("start it without that flag"));
        }
        let common = self.common.with(&ChatOptions {
            workspace: options.workspace.clone().or_else(|| self.common.workspace.clone()),
            agent: options.agent.clone().or_else(|| self.common.agent.clone()),
            access: options.access.or(self.common.access),
        })?;
        Ok(Arc::new(Wire::new(&common, &self.output)?.serving(&self.served)))
    }

    /// Takes files that another program has changed. Ones that do not load change nothing: the settings name their problems.
    fn refresh(&self) {
        let mut config = self.config();
        if !config.files.have_changed() {
            return;
        }
        config.files = config.files.now();
        config.version += 1;
        drop(config);
        self.read_files(false);
    }

    /// Reads the files anew. Whatever allows more than before is announced: nobody had to start the server again for it. A page does not
    /// repeat to its user what they just saved.
    fn read_files(&self, saved: bool) {
        let Ok(wire) = self.load(&ChatOptions::default()) else { return };
        let mut config = self.config();
        let before = std::mem::replace(&mut config.own, Arc::clone(&wire));
        config.wires = HashMap::from([((None, None, None), Arc::clone(&wire))]);
        drop(config);
        let changes = changed_keys(&before.settings.provenance, &wire.settings.provenance);
        let wider: Vec<String> =
            changes.into_iter().filter(|change| change.authority == AuthorityChange::Wider).map(|change| change.key).collect();
        if !wider.is_empty() {
            note(&format!("the configuration has changed; settings that allow more now, or may: {}", wider.join(", ")));
            self.served.control.tell_wider(&wider, saved);
        }
    }

    /// The configuration of an agent, or of the server's own.
    pub(super) fn wire_of(&self, agent: Option<&str>) -> Result<Arc<Wire>, Failure> {
        self.wire(&ChatOptions { agent: agent.map(str::to_owned), ..ChatOptions::default() })
    }

    /// Reads every file again, after a save.
    pub(super) fn reload(&self) {
        let mut config = self.config();
        config.wires.clear();
        config.files = config.files.now();
        config.version += 1;
        drop(config);
        self.read_files(true);
    }

    // Entries come and go whole, so the state is consistent after a panic elsewhere.
    fn config(&self) -> MutexGuard<'_, ConfigState> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn facts(&self) -> Result<Value, Failure> {
        let version = self.versions().config;
        let known = self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, _, facts)) = known.filter(|(of, at, _)| *of == version && at.elapsed() < CHOICE_TIME) {
            return Ok(facts);
        }
        let facts = self.facts_anew().await?;
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, Instant::now(), facts.clone()));
        Ok(facts)
    }

    async fn facts_anew(&self) -> Result<Value, Failure> {
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
        self.served.store.sessions()
    }

    fn calls(&self) -> Arc<dyn CallLog> {
        Arc::clone(&self.served.store) as _
    }

    fn chat(&self, options: &ChatOptions) -> Result<Arc<dyn ChatBackend>, Failure> {
        Ok(Arc::new(Backend::new(self.wire(options)?, &self.output)))
    }

    fn workspace(&self) -> PathBuf {
        self.wire_of(None).map_or_else(|_| PathBuf::from("."), |wire| wire.settings.workspace.clone())
    }

    fn versions(&self) -> BackendVersions {
        self.refresh();
        let config = self.config();
        BackendVersions::new(config.version, config.wires.values().map(|wire| wire.registry.version()).sum())
    }

    fn about(&self) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(self.facts())
    }

    fn prices(&self) -> Prices {
        self.wire_of(None).map_or_else(|_| Prices::shipped(), |wire| models::prices(&wire.settings))
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
        Box::pin(async move {
            #[cfg(feature = "postgres")]
            if let Some(calls) = self.calls.get()
                && let Some(result) = calls.call(request, call_id).await?
            {
                return Ok(result);
            }
            tools::invoke(self, request, call_id).await
        })
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

    fn undo_save(&self, id: &str) -> Result<Value, Failure> {
        saved_edits::undo(self, id)
    }

    fn settings(&self) -> Result<Value, Failure> {
        machine::settings(self)
    }

    fn trust<'a>(&'a self, request: TrustRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(trust::answer(self, request))
    }

    fn test_provider<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(providers::test(self, name))
    }

    fn filter_covered(&self, rules: &[String], calls: Vec<CallRecord>) -> Result<Vec<CallRecord>, Failure> {
        let wire = self.wire_of(None)?;
        let is_covered = |call: &CallRecord| haft_engine::covers_past_call(&*wire.policy, &wire.registry, rules, call);
        Ok(calls.into_iter().filter(is_covered).collect())
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

    fn memory<'a>(&'a self, request: MemoryRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(memory::answer(self, request))
    }

    fn spill<'a>(&'a self, path: &'a str, offset: u64) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move { spills::page(self, path, offset) })
    }

    fn server<'a>(&'a self, name: &'a str, request: ServerRequest<'a>) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(servers::answer(self, name, request))
    }

    fn connections(&self) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(machine::connections(self))
    }

    #[cfg(feature = "postgres")]
    fn remote(&self) -> Option<Arc<dyn haft_gateway::RemoteTurns>> {
        self.turns.get().cloned()
    }

    fn budget(&self) -> Value {
        machine::budget(self)
    }

    fn quotas(&self) -> BoxFuture<'_, Value> {
        Box::pin(async {
            match self.wire_of(None).and_then(|wire| wire.quotas()) {
                Ok(Some(quotas)) => json!(quotas.report().await),
                _ => json!([]),
            }
        })
    }

    fn recording(&self, session: &str) -> Result<Value, Failure> {
        let recordings = recordings(&self.wire_of(None)?.settings.data_folder);
        Ok(json!({ "steps": recordings.steps(session) }))
    }

    fn recorded_picture(&self, session: &str, number: u64) -> Option<Vec<u8>> {
        recordings(&self.wire_of(None).ok()?.settings.data_folder).picture(session, number)
    }

    fn hook<'a>(&'a self, channel: &'a str, request: HookDelivery) -> BoxFuture<'a, (u16, String)> {
        Box::pin(self.served.channels.hook(channel, request))
    }
}
