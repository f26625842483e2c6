//! Construction of an [`Agent`].

use std::fmt;
use std::sync::Arc;

use haft_agent::{DeferredTools, Ledger, MessageEvents, NullLedger, Provider, Runner, Steering, StoredSession, StoredTodos, TurnWatcher};
use haft_contract::Tool;
use haft_contract::ports::Approver;
use haft_policy::Policy;
use haft_store::{CallLog, InMemoryCallLog, InMemorySessionStore, NewSession, SessionStore, StoreError};

use super::Agent;
use super::event::{AgentEventStream, AskedQuestions};
use crate::{ToolboxBuilder, ToolboxError};

/// Why an agent could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// There is no model.
    NoProvider,
    /// Its tools could not be made.
    Toolbox(ToolboxError),
    /// Its conversation could not be stored or read.
    Store(StoreError),
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProvider => f.write_str("An agent needs a model: call `AgentBuilder::provider`."),
            Self::Toolbox(error) => error.fmt(f),
            Self::Store(error) => write!(f, "{error} (the store is that of `AgentBuilder::session_store`)"),
        }
    }
}

impl std::error::Error for AgentError {}

impl From<ToolboxError> for AgentError {
    fn from(error: ToolboxError) -> Self {
        Self::Toolbox(error)
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Makes an [`Agent`]. Its tools are those of [`AgentBuilder::toolbox`].
#[must_use]
#[derive(Default)]
pub struct AgentBuilder {
    provider: Option<Arc<dyn Provider>>,
    toolbox: ToolboxBuilder,
    system: String,
    max_rounds: Option<u32>,
    watcher: Option<Arc<dyn TurnWatcher>>,
    ledger: Option<Arc<dyn Ledger>>,
    sessions: Option<Arc<dyn SessionStore>>,
    log: Option<Arc<dyn CallLog>>,
    resume: Option<String>,
}

haft_contract::opaque_debug!(AgentBuilder);

impl AgentBuilder {
    /// The model: one of [`providers`](crate::providers), or a provider of the program's own.
    pub fn provider(mut self, provider: impl Into<Arc<dyn Provider>>) -> Self {
        self.provider = Some(provider.into());
        self
    }
    /// Changes what its tools are and what they may do: everything that a [`ToolboxBuilder`] has.
    pub fn toolbox(mut self, change: impl FnOnce(ToolboxBuilder) -> ToolboxBuilder) -> Self {
        self.toolbox = change(self.toolbox);
        self
    }
    /// Adds a tool.
    pub fn tool<T: Tool>(self, tool: T) -> Self {
        self.toolbox(|toolbox| toolbox.tool(tool))
    }
    /// What decides on calls.
    pub fn policy(self, policy: Arc<dyn Policy>) -> Self {
        self.toolbox(|toolbox| toolbox.policy(policy))
    }
    /// Who approves calls that need approval.
    pub fn approver(self, approver: Arc<dyn Approver>) -> Self {
        self.toolbox(|toolbox| toolbox.approver(approver))
    }
    /// The system prompt.
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system = prompt.into();
        self
    }
    /// More rounds than this end a turn; without it the guards against loops do.
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.max_rounds = Some(rounds);
        self
    }
    /// A receiver of all events, besides the one of each turn.
    pub fn watcher(mut self, watcher: Arc<dyn TurnWatcher>) -> Self {
        self.watcher = Some(watcher);
        self
    }
    /// The durable record of the conversation, in place of the session store's.
    pub fn ledger(mut self, ledger: Arc<dyn Ledger>) -> Self {
        self.ledger = Some(ledger);
        self
    }
    /// Where the conversation is kept. With a state folder it is the database there.
    pub fn session_store(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(sessions);
        self
    }
    /// Where the history of calls is kept. With a state folder it is the database there.
    pub fn log(mut self, log: Arc<dyn CallLog>) -> Self {
        self.log = Some(Arc::clone(&log));
        self.toolbox(|toolbox| toolbox.log(log))
    }
    /// Continues the conversation with this id, or the last one (`last`).
    pub fn resume(mut self, session: impl Into<String>) -> Self {
        self.resume = Some(session.into());
        self
    }

    /// Makes the agent.
    pub async fn build(mut self) -> Result<Agent, AgentError> {
        let provider = self.provider.take().ok_or(AgentError::NoProvider)?;
        self.open_state()?;
        let is_kept = self.sessions.is_some() && self.ledger.is_none();
        let sessions = self.sessions.take().unwrap_or_else(|| Arc::new(InMemorySessionStore::default()));
        let log = self.log.take().unwrap_or_else(|| Arc::new(InMemoryCallLog::default()));
        let record = match &self.resume {
            Some(id) => sessions.open(id).await?,
            None => sessions.create(NewSession::new("main", std::path::Path::new(""))).await?,
        };
        let id = record.id.clone();
        let (stored, resumed) = StoredSession::open(Arc::clone(&sessions), &*log, record).await?;
        let ledger: Arc<dyn Ledger> = match self.ledger.take() {
            Some(ledger) => ledger,
            None if is_kept => Arc::new(stored),
            None => Arc::new(NullLedger),
        };
        let events = Arc::new(AgentEventStream::new(self.watcher.take()));
        let (steering, deferred) = (Steering::default(), DeferredTools::default());
        let toolbox = self.equipped(&sessions, &events, &steering, &deferred, &*provider).log(log).session_id(id).build()?;
        let (engine, session) = (toolbox.engine().clone(), toolbox.session().clone());
        let mut runner = Runner::new(engine, session, provider, ledger);
        (runner.system, runner.max_rounds, runner.messages) = (self.system, self.max_rounds, resumed.messages);
        (runner.watcher, runner.steering) = (Arc::clone(&events) as _, steering);
        runner.disclosed = deferred.disclose(&runner.engine, &runner.session, &runner.messages);
        runner.session.restore_taint(resumed.carried.taint);
        Ok(Agent::new(runner, events))
    }

    /// The toolbox with the services of a conversation.
    fn equipped(
        &mut self,
        sessions: &Arc<dyn SessionStore>,
        events: &Arc<AgentEventStream>,
        steering: &Steering,
        deferred: &DeferredTools,
        provider: &dyn Provider,
    ) -> ToolboxBuilder {
        let model = provider.model();
        let watcher = Arc::clone(events) as Arc<dyn TurnWatcher>;
        let mut toolbox = std::mem::take(&mut self.toolbox).model(&model.provider, &model.name).with_services(|services| {
            services.tools.get_or_insert_with(|| Arc::new(deferred.clone()));
            services.todos.get_or_insert_with(|| Arc::new(StoredTodos::new(Arc::clone(sessions), Arc::clone(&watcher))));
            services.messages.get_or_insert_with(|| Arc::new(MessageEvents(watcher)));
            services.wakes.get_or_insert_with(|| Arc::new(steering.clone()));
        });
        if !toolbox.has_progress() {
            toolbox = toolbox.progress(Arc::clone(events) as _);
        }
        if !toolbox.has_events() {
            toolbox = toolbox.events(Arc::new(AskedQuestions(Arc::clone(events))));
        }
        toolbox
    }

    /// With a state folder, the conversation and its calls are kept in its database.
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    fn open_state(&mut self) -> Result<(), AgentError> {
        let Some(state) = self.toolbox.state_folder().filter(|_| self.log.is_none()) else { return Ok(()) };
        let log = haft_store::SqliteCallLog::open(state)?.log;
        self.sessions.get_or_insert_with(|| Arc::new(log.sessions()));
        self.log = Some(Arc::new(log));
        Ok(())
    }
    #[cfg(not(all(feature = "tools", feature = "sqlite")))]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "with a database it can fail")]
    fn open_state(&mut self) -> Result<(), AgentError> {
        Ok(())
    }
}
