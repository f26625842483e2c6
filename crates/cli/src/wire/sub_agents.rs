//! Builds the conversations of sub-agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_agent::{
    ChildConversation, ChildOffer, ConversationAgents, ConversationSessions, LaneLimits, Lanes, Provider, Runner, StoredMeter,
    StoredSession, SubAgentFactory,
};
use haft_contract::ports::Services;
use haft_contract::{
    AgentAttachment, AgentType, BoxFuture, KnownAgent, SandboxBackend, SandboxDemand, SandboxMode, StoredAttachment, ToolError, TurnLimit,
};
use haft_prompts::narrowed_tools;
use haft_store::{CallLog, SessionStore, StateStore};

use super::host::HostOwner;
use super::shell::Calls;
use super::{UserPrompts, Wire, add_planning, agent_types, attachment_files, disclose_tools, models, open_blobs};
use crate::failure::Failure;
use crate::system_prompt;

/// The sub-agents of a conversation with the user.
pub(crate) fn conversation_agents(
    wire: &Arc<Wire>,
    store: &Arc<StateStore>,
    prompts: UserPrompts,
    sandbox: SandboxDemand,
    cwd: Option<PathBuf>,
) -> Arc<ConversationAgents> {
    let settings = &wire.settings.config.subagents;
    let limits = LaneLimits {
        max_depth: settings.max_depth,
        max_children: settings.max_children,
        concurrency: settings.concurrency,
        timeout: settings.timeout,
    };
    let lanes = Arc::new(Lanes::new(store.sessions(), limits));
    let types = agent_types::load(&wire.settings);
    let factory = Factory { wire: Arc::clone(wire), store: Arc::clone(store), prompts, types };
    Arc::new(ConversationAgents::new(lanes, Arc::new(factory)).with_sandbox(sandbox).with_cwd(cwd))
}

/// What a conversation offers to its tools.
pub(crate) fn conversation_services(wire: &Wire, agents: &Arc<ConversationAgents>) -> Services {
    let mut services = wire.base_services();
    services.sessions = Some(Arc::new(ConversationSessions::new(Arc::clone(agents), wire.settings.config.visibility)));
    services.sub_agents = Some(Arc::clone(agents) as _);
    services
}

/// Builds conversations of sub-agents with the configuration of the process.
struct Factory {
    wire: Arc<Wire>,
    store: Arc<StateStore>,
    prompts: UserPrompts,
    types: Vec<AgentType>,
}

impl SubAgentFactory for Factory {
    fn types(&self) -> Vec<AgentType> {
        self.types.clone()
    }

    fn agents(&self) -> Vec<KnownAgent> {
        let configured = self.wire.settings.provenance.names_beneath(&["agents"]);
        self.wire.agents().into_iter().map(|id| KnownAgent { configured: configured.contains(&id), id }).collect()
    }

    fn check_model(&self, name: &str) -> Result<(), ToolError> {
        models::check_name(&self.wire.settings, name).map_err(|failure| refused(&failure))
    }

    fn open_model<'a>(&'a self, name: Option<&'a str>, agent: &'a str) -> BoxFuture<'a, Result<Arc<dyn Provider>, ToolError>> {
        Box::pin(async move {
            let settings = &self.wire.settings;
            if let Some(name) = name {
                models::check_listed(settings, name).await.map_err(|failure| refused(&failure))?;
            }
            let of_agent = settings.provenance.value_at(&["agents", agent, "model"]).as_text();
            models::provider(settings, name.or(of_agent)).await.map_err(|failure| refused(&failure))
        })
    }

    fn check_sandbox(&self) -> Result<(), ToolError> {
        let sandbox = &self.wire.settings.config.sandbox;
        if sandbox.mode != SandboxMode::Off && sandbox.backend != SandboxBackend::None {
            return Ok(());
        }
        Err(ToolError::validation(
            "The sub-agent is not started: sandbox=require wants its commands in the sandbox, which is off here (sandbox.mode, \
             sandbox.backend). Leave 'sandbox' out, or ask the user to switch it on.",
        ))
    }

    fn attach<'a>(&'a self, session: &'a str, files: Vec<AgentAttachment>) -> BoxFuture<'a, Result<Vec<StoredAttachment>, ToolError>> {
        Box::pin(async move {
            let blobs = open_blobs(&self.wire.settings.data_folder, Some(session)).map_err(|error| refused(&error.into()))?;
            let folder = blobs.spill_folder().to_owned();
            let stored = tokio::task::spawn_blocking(move || attachment_files::store(&folder, files)).await;
            stored.unwrap_or_else(|panic| Err(ToolError::execution(format!("The attachments are not stored: {panic}."))))
        })
    }

    fn tools(&self, child: &ChildOffer<'_>) -> Vec<String> {
        self.wire.tools_of_child(child)
    }

    fn build(&self, child: ChildConversation) -> BoxFuture<'_, Result<Runner, ToolError>> {
        Box::pin(async move { self.conversation(child).await.map_err(|failure| refused(&failure)) })
    }
}

/// A failure of the program as the error of a call.
/// A failure of the configuration, as an answer to the model.
pub(super) fn refused(failure: &Failure) -> ToolError {
    let help = failure.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    ToolError::validation(format!("{}{help}.", failure.message))
}

impl Factory {
    async fn conversation(&self, child: ChildConversation) -> Result<Runner, Failure> {
        self.wire.check_label(&child.agent)?;
        let provider = self.provider(&child).await?;
        let sessions: Arc<dyn SessionStore> = self.store.sessions();
        let log: Arc<dyn CallLog> = Arc::clone(&self.store) as _;
        let (stored, resumed) = StoredSession::open(Arc::clone(&sessions), &*log, child.record.clone()).await?;
        let (engine, session) = self.session(&child, &provider, log)?;
        // Its budget is that of its parent.
        let meter = StoredMeter::new(sessions, child.record.id.as_str(), 0, models::prices(&self.wire.settings), Arc::new(super::today));
        let mut runner = Runner::new(engine, session, provider, Arc::new(stored));
        runner.watcher = Arc::clone(&child.watcher);
        runner.meter = self.wire.within_quotas(Arc::new(meter))?;
        system_prompt::give(&self.wire, &mut runner, Some(&child.agent_type.prompt)).await?;
        runner.compact_percent = u64::from(self.wire.settings.config.context.compact_percent);
        runner.messages = resumed.messages;
        runner.disclosed = disclose_tools(&runner);
        runner.disclosed.set_budget(self.wire.tool_budget_percent());
        runner.restore(resumed.carried, |folder| self.wire.prompts.has_skill_in(folder));
        Ok(runner)
    }

    /// The model that the request or the type names, or that of the agent it runs as, or that of its parent.
    async fn provider(&self, child: &ChildConversation) -> Result<Arc<dyn Provider>, Failure> {
        let of_agent = || self.wire.settings.provenance.value_at(&["agents", &child.agent, "model"]).as_text();
        let is_other = *child.agent != **child.parent.agent();
        let named = child.model.as_deref().or_else(|| of_agent().filter(|_| is_other));
        let own = child.provider.model();
        match (named, child.thinking) {
            (None, None) => Ok(Arc::clone(&child.provider)),
            (Some(name), None) => models::provider(&self.wire.settings, Some(name)).await,
            (named, Some(thinking)) => {
                let own = || format!("{}/{}", own.provider, own.name);
                models::thinking_provider(&self.wire.settings, &named.map_or_else(own, str::to_owned), thinking).await
            }
        }
    }

    /// The session, started by its parent: it has at most the rights of its parent and of its type.
    fn session(
        &self,
        child: &ChildConversation,
        provider: &Arc<dyn Provider>,
        log: Arc<dyn CallLog>,
    ) -> Result<(haft_engine::Engine, haft_engine::Session), Failure> {
        let (wire, agent, folder) = (&self.wire, child.agent.as_str(), Path::new(child.parent.workspace()));
        let blobs = open_blobs(&wire.settings.data_folder, Some(&child.record.id))?;
        let parents = std::iter::successors(Some(child.parent.caller()), |caller| caller.parent.as_deref());
        let agents = std::iter::once(agent).chain(parents.map(|caller| &*caller.agent)).collect();
        let owner = HostOwner { agents, sandbox: child.sandbox, cwd: child.cwd.clone() };
        let host = wire.open_host(owner, folder, Some(blobs.spill_folder()), wire.recorded_jobs(&self.store), Calls::OfModel)?;
        let mut services = conversation_services(wire, &child.agents);
        add_planning(&mut services, self.store.sessions(), &child.watcher, &child.steering);
        services.small_model.clone_from(&child.parent.host().services().small_model);
        services.vision.clone_from(&child.parent.host().services().vision);
        let host = Arc::new(host.with_services(services));
        let engine = wire.engine(log, blobs, folder)?;
        let model = provider.model();
        let dialect = wire.settings.dialect(agent, Some(&format!("{}/{}", model.provider, model.name)));
        let session = wire.labelled_session(host, agent, self.prompts, Some(&child.watcher), Some(&child.label));
        let session = session.model(model.provider.as_str(), Some(model.name.clone())).dialect(dialect).id(child.record.id.as_str());
        let session = child.limits.iter().cloned().fold(session, haft_engine::SessionBuilder::limited);
        Ok((engine, wire.restricted(session, &child.agent_type, &child.parent).build()))
    }
}

impl Wire {
    /// A session that a parent starts: with the tools and the access of a type at most.
    pub(super) fn restricted(
        &self,
        session: haft_engine::SessionBuilder,
        agent_type: &AgentType,
        parent: &haft_engine::Session,
    ) -> haft_engine::SessionBuilder {
        let session = match agent_type.tool_names() {
            Some(names) => session.tools(names),
            None => session,
        };
        let entries = agent_type.tools.as_deref().unwrap_or_default();
        let session = match narrowed_tools(entries, &|name| self.prompts.canonical(name)) {
            Some(tools) => session.limited(TurnLimit::new(tools, format!("the agent type '{}'", agent_type.name)).of_type()),
            None => session,
        };
        let session = match agent_type.access {
            Some(access) => session.access_at_most(access),
            None => session,
        };
        session.started_by(parent)
    }
}
