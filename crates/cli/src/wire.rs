//! The only place that builds concrete types: configuration → host → store → registry → engine → session.
//!
//! Each command builds what it needs; parts that most calls do not use (HTTP, commands, jobs) are built on first use.

#[cfg(test)]
mod advice_tests;
mod agent_types;
mod attachment_files;
mod automation;
mod blobs;
mod call_setup;
mod channels;
mod cleaning;
mod command_rules;
mod config_lint;
mod cut_off_turn;
mod explainer;
mod hooks;
mod host;
mod jobs;
mod lineage;
mod lint;
mod mcp;
mod mcp_prompts;
mod mcp_questions;
mod mcp_sampling;
mod mcp_servers;
mod media;
mod memory;
pub(crate) mod models;
mod nodes;
mod plugins;
mod policy;
mod prompts;
mod quotas;
mod repair;
mod retention;
mod rule_file;
mod server_control;
mod services;
mod session;
mod settings;
mod settings_access;
mod shell;
mod state;
mod sub_agents;
mod tool_settings;
mod transcription;
mod trust;
mod user_program;
mod web;
mod work_limits;
#[cfg(feature = "postgres")]
mod workers;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::SystemTime;

use haft_agent::{DeferredTools, DenySpending, DisclosedTools, Runner, SpendingApprover};
use haft_channels::ChannelService;
use haft_config::Loaded;
use haft_contract::ports::{BrowserScreens, CanvasPages};
use haft_contract::{Plan, ToolSource};
use haft_engine::{Registry, Session};
use haft_gateway::PageApprovals;
use haft_mcp::client::McpServers;
use haft_memory::MemoryService;
use haft_nodes::NodeHub;
use haft_policy::{AllowList, Decision, ListEntry, Policy, RuleLists, StandardPolicy, Verdict};
use haft_store::StateStore;
use haft_tui::time::local_time;

pub(crate) use self::automation::{SchedulerLock, folder_key, signal_file};
pub(crate) use self::blobs::open_blobs;
pub(crate) use self::call_setup::{CallSetup, ConversationParts, SessionStart};
pub(crate) use self::channels::{ChannelCaller, ServedChannels};
pub(crate) use self::cleaning::finish as finish_cleaning;
pub(crate) use self::config_lint::warn_of_settings;
pub(crate) use self::cut_off_turn::{TurnProgress, turn_progress};
pub(crate) use self::explainer::Explainer;
pub(crate) use self::jobs::JobSettings;
pub(crate) use self::lineage::Lineage;
pub(crate) use self::lint::warn_of_idle_rules;
pub(crate) use self::mcp::McpBackend;
pub(crate) use self::mcp_servers::{close_servers, learn_server};
pub(crate) use self::media::media_state;
pub(crate) use self::memory::MemoryFollower;
pub(crate) use self::nodes::{LocalRunner, node_name};
pub(crate) use self::plugins::{ProjectPlugin, plugin_store, project_plugins, register_plugin, registry_in};
pub(crate) use self::prompts::{Prompts, prompt_folders};
pub(crate) use self::quotas::Quotas;
pub(crate) use self::retention::{PruneMode, PrunedKind, QUARANTINE, RECORDINGS, prune};
pub(crate) use self::server_control::{RestartRequest, ServerControl, changed_keys};
pub(crate) use self::services::{add_planning, small_model, terminal_questions};
pub(crate) use self::settings::{
    Settings, TRIED_LIMITS, TrustMode, check, check_limits, check_text, config_file, data_folder, read, refused, report_width, user_file,
    workspace,
};
use self::shell::Calls;
#[cfg(feature = "postgres")]
pub(crate) use self::state::tenant_address_with;
pub(crate) use self::state::{make_tenant_address, open_store, remove_store, store, store_address, tenant_address};
pub(crate) use self::sub_agents::{conversation_agents, conversation_services};
pub(crate) use self::tool_settings::max_rounds;
pub(crate) use self::trust::{TrustedFolder, TrustedFolders};
pub(crate) use self::work_limits::WorkLimits;
#[cfg(feature = "postgres")]
pub(crate) use self::workers::{
    CallWork, FleetLink, SessionScope, TenantWork, TurnWork, WorkBody, end_tenant_work, failure as fleet_failure, remove_tenant_role,
    renew_limits, renew_limits_in, serve_metrics, store_said, unheard_texts,
};
/// What a server with workers gives turns to.
#[cfg(feature = "postgres")]
pub(crate) type ServerFleet = FleetLink;
/// Without a server for state there are none.
#[cfg(not(feature = "postgres"))]
pub(crate) type ServerFleet = std::convert::Infallible;
use crate::arguments::{CallerArgs, Common};
use crate::failure::Failure;
use crate::output::{Output, configure_display};
use crate::terminal::{SpendingPrompt, Terminal};

/// Format of a day.
const DAY: &str = "%Y-%m-%d";

/// The current time, and the date in the time zone of the user.
pub(crate) fn today() -> (SystemTime, String) {
    let now = SystemTime::now();
    (now, local_time(now, DAY))
}

/// The agent that the user talks to; it needs no configuration.
pub(crate) const MAIN: &str = "main";

/// Where `tool_search` finds the tools of each conversation of this process.
static DEFERRED: LazyLock<DeferredTools> = LazyLock::new(DeferredTools::default);

/// Opens the tools of a conversation to `tool_search`.
pub(crate) fn disclose_tools(runner: &Runner) -> DisclosedTools {
    DEFERRED.disclose(&runner.engine, &runner.session, &runner.messages)
}

/// Every tool of Haft.
pub(crate) fn registry() -> Result<Arc<Registry>, Failure> {
    let registry = Registry::new();
    for tool in haft_builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    }
    Ok(Arc::new(registry))
}

/// Whether the user at the terminal may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserPrompts {
    Allowed,
    Never,
}

/// The loaded configuration, from which the rest is built.
pub(crate) struct Wire {
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<StandardPolicy>,
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) mcp: Arc<McpServers>,
    memory: OnceLock<Arc<MemoryService>>,
    channels: OnceLock<Arc<ChannelService>>,
    /// What conversations of `haft serve` share.
    served: Option<ServedParts>,
    /// Where it works for a server: what that allows.
    limits: Option<Arc<WorkLimits>>,
    /// The id of the session of a call, where servers know it.
    call_session: Option<String>,
}

/// What conversations of one server share: the questions that its pages answer, and the database.
#[derive(Clone)]
pub(crate) struct ServedParts {
    pub(crate) approvals: PageApprovals,
    pub(crate) store: Arc<StateStore>,
    pub(crate) nodes: Option<NodeHub>,
    pub(crate) channels: ServedChannels,
    /// What agents show on its page.
    pub(crate) canvas: Arc<dyn CanvasPages>,
    /// What its page shows browsers with.
    pub(crate) browsers: Arc<dyn BrowserScreens>,
    /// The labels of this worker.
    pub(crate) labels: Arc<[String]>,
    /// What tools can ask of the server.
    pub(crate) control: Arc<ServerControl>,
}

impl Wire {
    /// Loads the configuration; an error in it ends the command.
    pub(crate) fn new(common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::with_registry(registry_in(common.workspace.as_deref())?, common, output)
    }

    /// As [`Wire::new`], with these tools.
    pub(crate) fn with_registry(registry: Arc<Registry>, common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::with_settings(settings::load(common, &registry, output)?, registry)
    }

    /// As [`Wire::with_registry`], with a configuration that has no errors.
    pub(crate) fn with_config(registry: Arc<Registry>, common: &Common, workspace: &Path, loaded: &Loaded) -> Result<Self, Failure> {
        Self::with_settings(settings::build(common, workspace.to_owned(), loaded.clone())?, registry)
    }

    fn with_settings(settings: Settings, registry: Arc<Registry>) -> Result<Self, Failure> {
        tool_settings::apply(&settings.provenance, &registry);
        let policy = policy::policy(&settings.config, &settings.provenance, &registry, RuleLists::default())?;
        let prompts = Arc::new(Prompts::new(&settings, &policy, &registry));
        let mut wire = Self {
            settings,
            registry,
            policy,
            prompts,
            mcp: Arc::default(),
            memory: OnceLock::new(),
            channels: OnceLock::new(),
            served: None,
            limits: None,
            call_session: None,
        };
        wire.register_channels()?;
        wire.register_media()?;
        wire.mcp = wire.configured_servers()?;
        let display = wire.settings.config.display;
        configure_display(display.todos, display.usage);
        wire.known_agent(&wire.settings.agent)?;
        Ok(wire)
    }

    /// The same, with a list of rules more of which one must match.
    fn with_only(&self, rules: Vec<String>) -> Result<Self, Failure> {
        let settings = self.settings.clone();
        let mut more = self.limits.as_ref().map(|limits| limits.rules()).unwrap_or_default();
        if !rules.is_empty() {
            more.only.push(AllowList { entries: rules.into_iter().map(ListEntry::new).collect(), ..AllowList::default() });
        }
        let policy = policy::policy(&settings.config, &settings.provenance, &self.registry, more)?;
        let prompts = Arc::new(Prompts::new(&settings, &policy, &self.registry));
        let (registry, mcp, served) = (Arc::clone(&self.registry), Arc::clone(&self.mcp), self.served.clone());
        let (memory, channels, limits) = (OnceLock::new(), OnceLock::new(), self.limits.clone());
        Ok(Self { settings, registry, policy, prompts, mcp, memory, channels, served, limits, call_session: None })
    }

    /// The same, for the conversations of a server, or of one that gave the work away.
    pub(crate) fn serving(mut self, parts: &ServedParts) -> Self {
        self.served = Some(parts.clone());
        // Made before for the tools: now they share the store of the server.
        self.channels = OnceLock::new();
        self.offer_canvas();
        self
    }

    /// The same, for a call in a session with this id.
    #[cfg(feature = "postgres")]
    pub(crate) fn in_session(mut self, id: Option<String>) -> Self {
        self.call_session = id;
        self
    }

    /// The database of conversations: the server's, or one of their own.
    pub(crate) fn conversation_store(&self) -> Result<Arc<StateStore>, Failure> {
        match &self.served {
            Some(served) => Ok(Arc::clone(&served.store)),
            None => store(&self.settings.data_folder),
        }
    }

    /// The part of the model's window that descriptions of tools may take, in percent.
    pub(crate) fn tool_budget_percent(&self) -> u64 {
        self.settings.provenance.value("tools.budget_percent").as_count().unwrap_or(10)
    }

    /// Names of all agents.
    pub(crate) fn agents(&self) -> Vec<String> {
        self.settings.agents()
    }

    /// Refuses an agent that is not configured: nothing would restrict it.
    pub(crate) fn known_agent(&self, name: &str) -> Result<(), Failure> {
        self.settings.known_agent(name)
    }

    /// A session that decides and runs nothing.
    pub(crate) fn listing(&self, agent: &str, who: &CallerArgs) -> Result<Session, Failure> {
        let host = self.host(agent, &self.settings.workspace, None, JobSettings::default, Calls::OfUser)?;
        let dialect = self.settings.dialect(agent, who.provider.as_deref());
        self.session_as_if(|| Ok(self.session(Arc::clone(&host), agent, UserPrompts::Never, None).dialect(dialect)), who)
    }

    /// The user's configuration file, or the one named in its place; never the project's.
    pub(crate) fn own_file(&self) -> Result<PathBuf, Failure> {
        self.settings.own_file().map_err(Failure::config)
    }

    /// Why the rules of the agent refuse to read a path, if they do. A question is no refusal: the user named the file.
    pub(crate) fn denies_reading(&self, path: &Path, session: &Session) -> Option<String> {
        let location = session.host().files().locate(path).ok()?;
        let entry = self.registry.get("read_file")?;
        let decision = self.policy.permit(Decision::allow(), &entry.candidate(), &Plan::nothing().read(location), session.caller());
        (decision.verdict == Verdict::Deny).then(|| decision.denials.first().map_or_else(String::new, |denial| denial.message.clone()))
    }

    /// Asks the user for more money, or refuses.
    pub(crate) fn spending_approver(&self, prompts: UserPrompts) -> Arc<dyn SpendingApprover> {
        match prompts {
            UserPrompts::Allowed if Terminal::is_there() => {
                Arc::new(SpendingPrompt::new(Terminal::standard(), self.settings.config.approvals.timeout))
            }
            _ => Arc::new(DenySpending),
        }
    }

    /// The agent's own instructions.
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.settings.provenance.value_at(&["agents", &self.settings.agent, "prompt"]).as_text()
    }

    /// Where processes of this user find each other.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.settings.data_folder.join(jobs::RUN)
    }

    /// Makes the list of background jobs of this workspace, which is recorded in the store.
    pub(crate) fn recorded_jobs(&self, store: &Arc<StateStore>) -> impl FnOnce() -> JobSettings + Send + use<> {
        let (store, workspace, data_folder) = (Arc::clone(store), self.settings.workspace.clone(), self.settings.data_folder.clone());
        move || JobSettings::with_registry(store.jobs(), &workspace, &data_folder)
    }
}
