//! Construction of a [`Toolbox`].

#[cfg(feature = "tools")]
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::ports::{Approver, Clock, FileSystem, Host, HttpClient, ProgressSink, RuleStore, Services};
use haft_contract::{Access, DynTool, Erased, Tool};
use haft_engine::{CallLimits, Engine, EventSink, Hook, LoopLimits, PermissionBroker, Registry, Session, ToolSettings};
use haft_policy::catalog::Vocabulary;
use haft_policy::{Policy, PolicySpec, StandardPolicy};
use haft_store::{Blobs, CallLog};

use super::{Toolbox, ToolboxError, of_program};

/// Makes a [`Toolbox`]. Everything has a default: without a workspace there are no built-in tools, without a state folder nothing is
/// kept after the process, without an approver a call that needs approval is refused.
#[must_use]
pub struct ToolboxBuilder {
    #[cfg(feature = "tools")]
    pub(super) workspace: Option<PathBuf>,
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    pub(super) state: Option<PathBuf>,
    #[cfg(feature = "tools")]
    pub(super) network: (Vec<String>, Vec<String>),
    #[cfg(feature = "exec")]
    pub(super) commands: Option<bool>,
    pub(super) access: Access,
    pub(super) agent: Option<String>,
    pub(super) model: Option<(String, String)>,
    pub(super) session: Option<String>,
    pub(super) tools: Vec<(Arc<dyn DynTool>, bool)>,
    pub(super) settings: Vec<(String, ToolSettings)>,
    pub(super) policy: Option<Arc<dyn Policy>>,
    pub(super) policy_spec: Option<PolicySpec>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) rule_store: Option<Arc<dyn RuleStore>>,
    pub(super) permissions: PermissionBroker,
    pub(super) hooks: Vec<Arc<dyn Hook>>,
    pub(super) events: Option<Arc<dyn EventSink>>,
    pub(super) progress: Option<Arc<dyn ProgressSink>>,
    pub(super) limits: CallLimits,
    pub(super) loop_limits: Option<LoopLimits>,
    pub(super) services: Services,
    pub(super) log: Option<Arc<dyn CallLog>>,
    pub(super) blobs: Option<Arc<dyn Blobs>>,
    pub(super) host: Option<Arc<dyn Host>>,
    pub(super) files: Option<Arc<dyn FileSystem>>,
    pub(super) http: Option<Arc<dyn HttpClient>>,
    pub(super) clock: Option<Arc<dyn Clock>>,
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
            policy_spec: None,
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
    /// What decides on calls, as lists and rules. They may name the tools of this builder, those of the program as well.
    ///
    /// ```
    /// # async fn example() -> Result<(), haft::ToolboxError> {
    /// # /// Greets somebody by name.
    /// # #[haft::tool]
    /// # async fn greet(
    /// #     /// Whom to greet.
    /// #     name: String,
    /// # ) -> Result<String, haft::ToolError> {
    /// #     Ok(format!("Hello, {name}!"))
    /// # }
    /// let mut spec = haft::PolicySpec::default();
    /// spec.rules.deny = vec!["greet".into()];
    /// let toolbox = haft::Toolbox::builder().tool(Greet).policy_spec(spec).build()?;
    /// assert!(!toolbox.call("greet", r#"{"name": "Ann"}"#).await.is_success());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn policy_spec(mut self, spec: PolicySpec) -> Self {
        self.policy_spec = Some(spec);
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
    pub(crate) fn state_folder(&self) -> Option<&std::path::Path> {
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
        let policy = self.decider(&registry)?;
        let engine = Engine::builder(Arc::new(registry), ground.log, ground.blobs).policy(policy).limits(self.limits.clone());
        let engine = self.hooks.drain(..).fold(engine, haft_engine::EngineBuilder::hook);
        let engine = match self.events.take() {
            Some(events) => engine.events(events),
            None => engine,
        };
        Ok(Toolbox::from_parts(engine.build(), self.session(ground.host)))
    }

    /// The policy of the program, or one of its lists and rules.
    fn decider(&mut self, registry: &Registry) -> Result<Arc<dyn Policy>, ToolboxError> {
        if let Some(policy) = self.policy.take() {
            return Ok(policy);
        }
        let Some(spec) = self.policy_spec.take() else { return Ok(Arc::new(StandardPolicy::default())) };
        let entries = registry.entries();
        let vocabulary = vocabulary().with(entries.iter().map(|entry| (entry.definition(), entry.source())));
        let compiled = StandardPolicy::compile(&spec, vocabulary).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(|fault| format!("{} ({})", fault, fault.rule)).collect();
            ToolboxError::Setting(format!("{}. Correct the rules of `ToolboxBuilder::policy_spec`.", faults.join("; ")))
        });
        Ok(Arc::new(compiled?))
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
}

/// The names that rules may use besides those of registered tools.
fn vocabulary() -> Vocabulary {
    #[cfg(feature = "tools")]
    return Vocabulary::of_core(haft_builtin::metas());
    #[cfg(not(feature = "tools"))]
    Vocabulary::default()
}
