//! Construction of a [`Toolbox`].

#[cfg(feature = "tools")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::ports::{Approver, Clock, FileSystem, Host, HttpClient, ProgressSink, RuleStore, Services};
use haft_contract::{Access, DynTool, Erased, Tool};
use haft_engine::{CallLimits, Engine, EventSink, Hook, LoopLimits, PermissionBroker, Registry, Session, ToolSettings};
use haft_policy::{Policy, StandardPolicy};
use haft_store::{Blobs, CallLog, InMemoryBlobs, InMemoryCallLog};

use super::{Toolbox, ToolboxError, of_program};
use crate::CustomHost;

/// Makes a [`Toolbox`]. Everything has a default: without a workspace there are no built-in tools, without a state folder nothing is
/// kept after the process, without an approver a call that needs approval is refused.
#[must_use]
pub struct ToolboxBuilder {
    #[cfg(feature = "tools")]
    workspace: Option<PathBuf>,
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    state: Option<PathBuf>,
    #[cfg(feature = "tools")]
    network: (Vec<String>, Vec<String>),
    #[cfg(feature = "exec")]
    commands: Option<bool>,
    access: Access,
    agent: Option<String>,
    model: Option<(String, String)>,
    session: Option<String>,
    tools: Vec<(Arc<dyn DynTool>, bool)>,
    settings: Vec<(String, ToolSettings)>,
    policy: Option<Arc<dyn Policy>>,
    approver: Option<Arc<dyn Approver>>,
    rule_store: Option<Arc<dyn RuleStore>>,
    permissions: PermissionBroker,
    hooks: Vec<Arc<dyn Hook>>,
    events: Option<Arc<dyn EventSink>>,
    progress: Option<Arc<dyn ProgressSink>>,
    limits: CallLimits,
    loop_limits: Option<LoopLimits>,
    services: Services,
    log: Option<Arc<dyn CallLog>>,
    blobs: Option<Arc<dyn Blobs>>,
    host: Option<Arc<dyn Host>>,
    files: Option<Arc<dyn FileSystem>>,
    http: Option<Arc<dyn HttpClient>>,
    clock: Option<Arc<dyn Clock>>,
}

haft_contract::opaque_debug!(ToolboxBuilder);

impl Default for ToolboxBuilder {
    fn default() -> Self {
        Self {
            #[cfg(feature = "tools")]
            workspace: None,
            #[cfg(all(feature = "tools", feature = "sqlite"))]
            state: None,
            #[cfg(feature = "tools")]
            network: (Vec::new(), Vec::new()),
            #[cfg(feature = "exec")]
            commands: None,
            access: Access::default(),
            agent: None,
            model: None,
            session: None,
            tools: Vec::new(),
            settings: Vec::new(),
            policy: None,
            approver: None,
            rule_store: None,
            permissions: PermissionBroker::new(),
            hooks: Vec::new(),
            events: None,
            progress: None,
            limits: CallLimits::default(),
            loop_limits: Some(LoopLimits::default()),
            services: Services::default(),
            log: None,
            blobs: None,
            host: None,
            files: None,
            http: None,
            clock: None,
        }
    }
}

/// What a toolbox is made on.
struct Ground {
    host: Arc<dyn Host>,
    log: Arc<dyn CallLog>,
    blobs: Arc<dyn Blobs>,
    #[cfg(feature = "tools")]
    has_commands: bool,
}

impl ToolboxBuilder {
    /// The folder that the built-in tools work in. Without it there are no built-in tools.
    #[cfg(feature = "tools")]
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }
    /// The folder for history, pre-images and spills; it must lie outside the workspace. Without it they are kept in memory.
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state = Some(folder.into());
        self
    }
    /// Hosts that tools may reach although they are on this machine or in a private network (`127.0.0.1:8080`, `*.example.org`).
    #[cfg(feature = "tools")]
    pub fn allow_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.network.0.extend(hosts.into_iter().map(Into::into));
        self
    }
    /// Hosts that no tool reaches.
    #[cfg(feature = "tools")]
    pub fn deny_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.network.1.extend(hosts.into_iter().map(Into::into));
        self
    }
    /// Whether commands run, in the sandbox: by default if [`start`](crate::start) was called and there is a state folder.
    #[cfg(feature = "exec")]
    pub fn commands(mut self, run: bool) -> Self {
        self.commands = Some(run);
        self
    }
    /// What the session may do; change files of the workspace unless it is set.
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }
    /// The name of the agent that calls, for rules and history.
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }
    /// The provider and model that call, for rules on them.
    pub fn model(mut self, provider: impl Into<String>, model: impl Into<String>) -> Self {
        self.model = Some((provider.into(), model.into()));
        self
    }
    /// The id of the session, for history.
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }
    /// Adds a tool; its name must be free.
    pub fn tool<T: Tool>(self, tool: T) -> Self {
        self.tool_dyn(Arc::new(Erased::new(tool)))
    }
    /// Adds a tool that is known only at run time; its name must be free.
    pub fn tool_dyn(mut self, tool: Arc<dyn DynTool>) -> Self {
        self.tools.push((tool, false));
        self
    }
    /// Adds a tool in place of those that have one of its names.
    pub fn replace<T: Tool>(self, tool: T) -> Self {
        self.replace_dyn(Arc::new(Erased::new(tool)))
    }
    /// As [`ToolboxBuilder::replace`], for a tool that is known only at run time.
    pub fn replace_dyn(mut self, tool: Arc<dyn DynTool>) -> Self {
        self.tools.push((tool, true));
        self
    }
    /// Sets how one tool is run: its timeout, the limit of its output, the access that it needs.
    pub fn tool_settings(mut self, name: impl Into<String>, settings: ToolSettings) -> Self {
        self.settings.push((name.into(), settings));
        self
    }
    /// What decides on calls; a policy without lists and rules unless it is set.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = Some(policy);
        self
    }
    /// Who approves calls that need approval.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }
    /// Where rules are saved that the user always allows; without it they hold for the session.
    pub fn rule_store(mut self, store: Arc<dyn RuleStore>) -> Self {
        self.rule_store = Some(store);
        self
    }
    /// The broker of permissions of the platform, shared with the program that binds the platform to it.
    pub fn permissions(mut self, broker: PermissionBroker) -> Self {
        self.permissions = broker;
        self
    }
    /// Adds a hook.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }
    /// The receiver of events of calls.
    pub fn events(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.events = Some(sink);
        self
    }
    /// The receiver of progress of running calls.
    pub fn progress(mut self, sink: Arc<dyn ProgressSink>) -> Self {
        self.progress = Some(sink);
        self
    }
    /// The limits of every call.
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }
    /// When repeated calls are noted, blocked and stopped; `None` switches that off.
    pub fn loop_limits(mut self, limits: Option<LoopLimits>) -> Self {
        self.loop_limits = limits;
        self
    }
    /// What tools reach beyond the machine. A built-in tool is there if its service is.
    pub fn services(mut self, services: Services) -> Self {
        self.services = services;
        self
    }
    /// Where history is kept.
    pub fn log(mut self, log: Arc<dyn CallLog>) -> Self {
        self.log = Some(log);
        self
    }
    /// Where pre-images and spills are kept.
    pub fn blobs(mut self, blobs: Arc<dyn Blobs>) -> Self {
        self.blobs = Some(blobs);
        self
    }
    /// The whole machine, in place of this one.
    pub fn host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }
    /// The file system.
    pub fn files(mut self, files: Arc<dyn FileSystem>) -> Self {
        self.files = Some(files);
        self
    }
    /// The HTTP client of tools.
    pub fn http(mut self, client: Arc<dyn HttpClient>) -> Self {
        self.http = Some(client);
        self
    }
    /// The clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    #[cfg(feature = "agent")]
    pub(crate) fn with_services(mut self, change: impl FnOnce(&mut Services)) -> Self {
        change(&mut self.services);
        self
    }
    #[cfg(feature = "agent")]
    pub(crate) fn has_progress(&self) -> bool {
        self.progress.is_some()
    }
    #[cfg(all(feature = "agent", feature = "tools", feature = "sqlite"))]
    pub(crate) fn state_folder(&self) -> Option<&Path> {
        self.state.as_deref()
    }
    #[cfg(feature = "agent")]
    pub(crate) fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// Makes the toolbox.
    pub fn build(mut self) -> Result<Toolbox, ToolboxError> {
        let ground = self.ground()?;
        let registry = Registry::new();
        #[cfg(feature = "tools")]
        self.add_built_in(&registry, ground.has_commands)?;
        for (tool, replaces) in std::mem::take(&mut self.tools) {
            if replaces { drop(registry.replace(tool, of_program())?) } else { registry.register(tool, of_program())? }
        }
        for (name, settings) in &self.settings {
            registry.set_settings(name, settings.clone());
        }
        let policy = self.policy.take().unwrap_or_else(|| Arc::new(StandardPolicy::default()));
        let engine = Engine::builder(Arc::new(registry), ground.log, ground.blobs).policy(policy).limits(self.limits.clone());
        let engine = self.hooks.drain(..).fold(engine, haft_engine::EngineBuilder::hook);
        let engine = match self.events.take() {
            Some(events) => engine.events(events),
            None => engine,
        };
        Ok(Toolbox::from_parts(engine.build(), self.session(ground.host)))
    }

    fn session(self, host: Arc<dyn Host>) -> Session {
        let mut session = Session::builder(host).owner().access(self.access).permissions(self.permissions);
        #[cfg(feature = "tools")]
        if let Some(workspace) = self.workspace {
            session = session.workspace(workspace);
        }
        if let Some(agent) = self.agent {
            session = session.agent(agent);
        }
        if let Some(id) = self.session {
            session = session.id(id);
        }
        if let Some((provider, model)) = self.model {
            session = session.model(provider, Some(model));
        }
        if let Some(approver) = self.approver {
            session = session.approver(approver);
        }
        if let Some(store) = self.rule_store {
            session = session.rule_store(store);
        }
        if let Some(progress) = self.progress {
            session = session.progress(progress);
        }
        session.loop_limits(self.loop_limits).build()
    }

    /// The machine of the program, with the parts that were replaced.
    fn overridden(&mut self, base: CustomHost) -> Arc<dyn Host> {
        let mut host = base.services(self.services.clone());
        if let Some(files) = self.files.take() {
            host = host.files(files);
        }
        if let Some(http) = self.http.take() {
            host = host.http(http);
        }
        if let Some(clock) = self.clock.take() {
            host = host.clock(clock);
        }
        Arc::new(host)
    }

    /// A machine of what the program gave alone.
    fn bare_ground(&mut self) -> Ground {
        let base = self.host.take().map_or_else(CustomHost::new, CustomHost::over);
        Ground {
            host: self.overridden(base),
            log: self.log.take().unwrap_or_else(|| Arc::new(InMemoryCallLog::default())),
            blobs: self.blobs.take().unwrap_or_else(|| Arc::new(InMemoryBlobs::default())),
            #[cfg(feature = "tools")]
            has_commands: false,
        }
    }

    #[cfg(not(feature = "tools"))]
    #[allow(clippy::unnecessary_wraps, reason = "with the built-in tools it can fail")]
    fn ground(&mut self) -> Result<Ground, ToolboxError> {
        Ok(self.bare_ground())
    }

    #[cfg(feature = "tools")]
    fn ground(&mut self) -> Result<Ground, ToolboxError> {
        let Some(workspace) = self.workspace.clone() else { return Ok(self.bare_ground()) };
        let state = self.kept()?;
        let blobs = self.blobs.take().map_or_else(|| default_blobs(state.as_deref()), Ok)?;
        let (base, has_commands) = match self.host.take() {
            Some(host) => (host, false),
            None => self.local_host(&workspace, state.as_deref(), &*blobs)?,
        };
        let log = self.log.take().unwrap_or_else(|| Arc::new(InMemoryCallLog::default()));
        Ok(Ground { host: self.overridden(CustomHost::over(base)), log, blobs, has_commands })
    }

    /// Opens the state folder, if there is one.
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    fn kept(&mut self) -> Result<Option<PathBuf>, ToolboxError> {
        let Some(state) = self.state.take() else { return Ok(None) };
        if self.log.is_none() {
            self.log = Some(Arc::new(haft_store::SqliteCallLog::open(&state)?.log));
        }
        Ok(Some(state))
    }
    #[cfg(all(feature = "tools", not(feature = "sqlite")))]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "with a database it can fail")]
    fn kept(&mut self) -> Result<Option<PathBuf>, ToolboxError> {
        Ok(None)
    }

    #[cfg(feature = "tools")]
    fn add_built_in(&self, registry: &Registry, has_commands: bool) -> Result<(), ToolboxError> {
        if self.workspace.is_none() {
            return Ok(());
        }
        let provided = super::provided::Provided { services: &self.services, commands: has_commands };
        for tool in haft_builtin::all().into_iter().filter(|tool| provided.has(tool.definition())) {
            registry.register(tool, haft_contract::ToolSource::BuiltIn)?;
        }
        for tool in haft_builtin::for_services(&self.services) {
            registry.replace(tool, haft_contract::ToolSource::BuiltIn)?;
        }
        Ok(())
    }

    /// This machine, and whether commands run on it.
    #[cfg(feature = "tools")]
    fn local_host(&self, workspace: &Path, state: Option<&Path>, blobs: &dyn Blobs) -> Result<(Arc<dyn Host>, bool), ToolboxError> {
        use haft_contract::WebSettings;
        use haft_host::{GuardedClient, LocalFiles, LocalHost, NetworkRules, WorkspaceOptions};
        let files = LocalFiles::open(WorkspaceOptions {
            root: workspace.to_owned(),
            read_only_roots: Some(blobs.spill_folder()).filter(|_| state.is_some()).into_iter().map(Path::to_owned).collect(),
            protected: state.into_iter().map(Path::to_owned).collect(),
            ..WorkspaceOptions::default()
        });
        let files = Arc::new(files.map_err(ToolboxError::Workspace)?);
        let rules = NetworkRules::parse(&self.network.0, &self.network.1);
        let rules = rules.map_err(|error| {
            ToolboxError::Setting(format!("{error}. Write another host in `ToolboxBuilder::allow_hosts` or `ToolboxBuilder::deny_hosts`."))
        })?;
        let http = Arc::new(GuardedClient::new(rules));
        let (processes, has_commands) = self.processes(state, &files, &http)?;
        let alerts = state.map_or_else(|| std::env::temp_dir().join("haft-alerts.log"), |state| state.join("alerts.log"));
        let host = LocalHost::new(files, http, processes, alerts);
        let host = match state {
            Some(state) => host.with_web(WebSettings::default(), state.join("cache").join("web")),
            None => host,
        };
        Ok((Arc::new(host), has_commands))
    }

    #[cfg(all(feature = "tools", not(feature = "exec")))]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "with commands it can fail")]
    fn processes(
        &self,
        _state: Option<&Path>,
        _files: &Arc<haft_host::LocalFiles>,
        _http: &Arc<haft_host::GuardedClient>,
    ) -> Result<(Arc<dyn haft_contract::ports::ProcessRunner>, bool), ToolboxError> {
        Ok((Arc::new(crate::custom_host::NoMachine), false))
    }

    #[cfg(feature = "exec")]
    fn processes(
        &self,
        state: Option<&Path>,
        files: &Arc<haft_host::LocalFiles>,
        http: &Arc<haft_host::GuardedClient>,
    ) -> Result<(Arc<dyn haft_contract::ports::ProcessRunner>, bool), ToolboxError> {
        use haft_jobs::{LocalProcesses, ShellOptions};
        let wanted = self.commands.unwrap_or_else(|| crate::commands::is_started() && state.is_some());
        let Some(state) = state.filter(|_| wanted) else {
            if wanted {
                let why = "Commands need a folder for what they leave: call `ToolboxBuilder::state`, or `ToolboxBuilder::commands(false)`.";
                return Err(ToolboxError::Setting(why.into()));
            }
            return Ok((Arc::new(LocalProcesses::default()), false));
        };
        if !crate::commands::is_started() {
            let why = "Commands run in a sandbox that this program starts itself: make `haft::start();` the first line of `main`, \
                       before any runtime, or call `ToolboxBuilder::commands(false)`.";
            return Err(ToolboxError::Setting(why.into()));
        }
        let launcher = haft_sandbox::Launcher::current().map_err(|error| ToolboxError::Setting(error.to_string()))?;
        let options = ShellOptions::new(launcher, state);
        let hidden = vec![state.to_owned()];
        let processes = LocalProcesses::default().with_helpers(&options, hidden);
        Ok((Arc::new(processes.with_shell(options, Arc::clone(files), Arc::clone(http))), true))
    }
}

#[cfg(feature = "tools")]
fn default_blobs(state: Option<&Path>) -> Result<Arc<dyn Blobs>, ToolboxError> {
    match state {
        Some(state) => Ok(Arc::new(haft_store::FileBlobs::open(state)?)),
        None => Ok(Arc::new(InMemoryBlobs::default())),
    }
}
