//! The sub-agents of one conversation.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::ports::SubAgents;
use haft_contract::{
    AgentType, BoxFuture, ErrorKind, KnownAgent, SandboxDemand, StartedAgent, SubAgentRequest, SubAgentState, SubAgentStatus, ToolError,
};
use haft_engine::{Session, SessionLink};
use haft_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::lanes::{Lanes, LiveAgent};
use super::notice::AnswerTrust;
use super::pace::SteeringPace;
use super::run::SubAgentFactory;
use crate::events::TurnWatcher;
use crate::meter::Meter;
use crate::provider::Provider;
use crate::runner::Runner;

/// Starts and manages the sub-agents of one conversation.
pub struct ConversationAgents {
    pub(super) lanes: Arc<Lanes>,
    pub(super) factory: Arc<dyn SubAgentFactory>,
    /// Where the commands of the conversation run, and so those of its sub-agents.
    pub(super) sandbox: SandboxDemand,
    /// The folder that they start in, and so those of its sub-agents.
    pub(super) cwd: Option<PathBuf>,
    attached: Mutex<Option<Attached>>,
    /// How often it steers its sub-agents.
    pace: SteeringPace,
    /// The model that answers from the next turn on.
    chosen: Mutex<Option<Arc<dyn Provider>>>,
}

haft_contract::opaque_debug!(ConversationAgents: lanes = lanes);

/// What its sub-agents inherit of a conversation.
#[derive(Clone)]
pub(super) struct Attached {
    id: Arc<str>,
    session: SessionLink,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) meter: Arc<dyn Meter>,
    pub(super) watcher: Arc<dyn TurnWatcher>,
    pub(super) max_rounds: Option<u32>,
    pub(super) stop: CancellationToken,
    last_tokens: Arc<AtomicU64>,
}

impl ConversationAgents {
    /// For a conversation that is attached when it is built.
    pub fn new(lanes: Arc<Lanes>, factory: Arc<dyn SubAgentFactory>) -> Self {
        let (sandbox, attached) = (SandboxDemand::Inherit, Mutex::default());
        Self { lanes, factory, sandbox, cwd: None, attached, pace: SteeringPace::default(), chosen: Mutex::default() }
    }

    /// Says where the commands of its sub-agents run.
    #[must_use]
    pub fn with_sandbox(self, sandbox: SandboxDemand) -> Self {
        Self { sandbox, ..self }
    }

    /// Names the folder that the commands of its sub-agents start in.
    #[must_use]
    pub fn with_cwd(self, cwd: Option<PathBuf>) -> Self {
        Self { cwd, ..self }
    }

    /// Chooses the model that answers from the next turn on.
    pub(super) fn choose_model(&self, provider: Arc<dyn Provider>) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(provider);
    }

    /// The model that the conversation chose for its next turn, once.
    pub fn take_chosen_model(&self) -> Option<Arc<dyn Provider>> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives its sub-agents the rights, the model and the limits of a conversation; `stop` ends them. Again after every change of them.
    pub fn attach(&self, runner: &Runner, stop: CancellationToken) {
        let attached = Attached {
            id: Arc::clone(runner.session.id()),
            session: runner.session.link().clone(),
            provider: Arc::clone(&runner.provider),
            meter: Arc::clone(&runner.meter),
            watcher: Arc::clone(&runner.watcher),
            max_rounds: runner.max_rounds,
            stop,
            last_tokens: Arc::clone(&runner.last_tokens),
        };
        // The first one is the conversation with the user, also where that is with a sub-agent.
        self.lanes.set_root(&attached.id, runner.steering.clone());
        *self.attached.lock().unwrap_or_else(PoisonError::into_inner) = Some(attached);
    }

    /// Ends sub-agents of processes that are gone, and reports those of this conversation that ended unnoticed.
    pub async fn recover(&self) -> Result<(), StoreError> {
        self.lanes.store.interrupt_sub_agents().await?;
        let Ok(attached) = self.attached() else { return Ok(()) };
        for status in self.lanes.store.sub_agents(&attached.id).await? {
            if !status.state.is_active() && !status.reported && self.lanes.find(&status.id).is_none() {
                self.lanes.report_later(status);
            }
        }
        Ok(())
    }

    /// The lanes that its sub-agents run in.
    pub fn lanes(&self) -> &Arc<Lanes> {
        &self.lanes
    }

    pub(super) fn attached(&self) -> Result<Attached, ToolError> {
        let attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner).clone();
        attached.ok_or_else(|| ToolError::execution("The conversation is not ready yet. Try again."))
    }

    /// The id of the conversation.
    pub(super) fn id(&self) -> Result<Arc<str>, ToolError> {
        self.attached().map(|attached| attached.id)
    }

    /// The session of the conversation.
    pub(super) fn session(&self) -> Result<Session, ToolError> {
        self.attached()?.session.current().ok_or_else(|| ToolError::new(ErrorKind::Cancelled, "The conversation has ended."))
    }

    /// The model of the conversation, as provider/model.
    pub(super) fn model(&self) -> Result<String, ToolError> {
        let attached = self.attached()?;
        let model = attached.provider.model();
        Ok(format!("{}/{}", model.provider, model.name))
    }

    /// About how many tokens the conversation fills of the window of its model, and the window.
    pub(super) fn context(&self) -> Result<Option<(u64, u64)>, ToolError> {
        let attached = self.attached()?;
        let used = attached.last_tokens.load(Ordering::Relaxed);
        Ok((used > 0).then(|| (used, attached.provider.model().context_window)))
    }

    /// A sub-agent of this conversation, or one beneath it, that has not ended; else what is stored of it.
    async fn find(&self, id: &str) -> Result<Result<Arc<LiveAgent>, SubAgentStatus>, ToolError> {
        let own = self.id()?;
        if let Some(live) = self.lanes.find(id).filter(|live| self.is_beneath(live, &own)) {
            return Ok(Ok(live));
        }
        let stored = self.lanes.store.sub_agent(id).await.map_err(not_stored)?;
        match stored {
            Some(status) if self.is_stored_beneath(&status, &own).await? => Ok(Err(status)),
            _ => Err(unknown(id)),
        }
    }

    fn is_beneath(&self, live: &LiveAgent, own: &str) -> bool {
        let above = |id: &String| self.lanes.find(id).map(|agent| agent.status().parent);
        std::iter::successors(Some(live.status().parent), above).any(|id| id == own)
    }

    async fn is_stored_beneath(&self, status: &SubAgentStatus, own: &str) -> Result<bool, ToolError> {
        let mut parent = status.parent.clone();
        // Depth is bounded; a loop in a damaged store is left after it.
        for _ in 0..=status.depth {
            if parent == own {
                return Ok(true);
            }
            let Some(above) = self.lanes.store.sub_agent(&parent).await.map_err(not_stored)? else { return Ok(false) };
            parent = above.parent;
        }
        Ok(false)
    }

    /// Gives a message to a sub-agent that runs, or continues an open one of this conversation with it.
    pub(super) async fn tell(&self, found: Result<Arc<LiveAgent>, SubAgentStatus>, message: &str) -> Result<Arc<LiveAgent>, ToolError> {
        let status = match found {
            Ok(live) if live.say(message) => return Ok(live),
            Ok(live) => {
                live.ended().await;
                live.status()
            }
            Err(status) if status.state.is_active() => return Err(elsewhere(&status)),
            Err(status) => status,
        };
        if !status.is_open || *status.parent != *self.id()? {
            return Err(has_ended(&status));
        }
        self.continue_open(status, message).await
    }

    async fn end(&self, ids: &[String], why: &str) -> Result<Vec<SubAgentStatus>, ToolError> {
        let mut ended: Vec<Arc<LiveAgent>> = Vec::new();
        for id in ids {
            match self.find(id).await? {
                Ok(live) => {
                    let tree = self.lanes.tree(id);
                    live.stop(SubAgentState::Killed, why);
                    ended.extend(tree.into_iter().filter(|agent| !ended.iter().any(|known| Arc::ptr_eq(known, agent))).collect::<Vec<_>>());
                }
                Err(status) if status.state.is_active() => return Err(elsewhere(&status)),
                Err(_) => {}
            }
        }
        for agent in &ended {
            agent.ended().await;
        }
        let statuses: Vec<SubAgentStatus> = ended.iter().map(|agent| agent.status()).collect();
        // The caller knows it: a notice would say it again.
        for status in &statuses {
            self.mark_reported(status);
        }
        Ok(statuses)
    }

    /// A sub-agent whose answer is shown to its parent.
    pub(super) fn marked(&self, mut status: SubAgentStatus) -> Result<SubAgentStatus, ToolError> {
        if !status.state.is_active() {
            let trust = AnswerTrust::for_session(&self.session()?);
            status.answer = status.answer.map(|answer| trust.mark(&answer));
        }
        Ok(status)
    }

    pub(super) fn mark_reported(&self, status: &SubAgentStatus) {
        self.lanes.forget_unreported(&status.parent, &status.id);
        if !status.reported && !status.state.is_active() {
            let (lanes, status) = (Arc::clone(&self.lanes), SubAgentStatus { reported: true, ..status.clone() });
            tokio::spawn(async move {
                // One that was continued meanwhile has another state. If it is not stored, it is reported once more after a restart.
                if lanes.find(&status.id).is_none() {
                    lanes.store_reported(status).await.ok();
                }
            });
        }
    }
}

impl SubAgents for ConversationAgents {
    fn types(&self) -> Vec<AgentType> {
        self.factory.types()
    }

    fn agents(&self) -> Vec<KnownAgent> {
        let own = self.session().map(|session| session.agent().to_string()).unwrap_or_default();
        let mut agents = self.factory.agents();
        agents.sort_by_key(|agent| (!agent.id.eq_ignore_ascii_case(&own), agent.id.clone()));
        agents
    }

    fn check(&self, request: &SubAgentRequest) -> Result<Vec<String>, ToolError> {
        self.names(request)
    }

    fn spawn(&self, request: SubAgentRequest, call: CancellationToken) -> BoxFuture<'_, Result<StartedAgent, ToolError>> {
        Box::pin(self.start(request, call))
    }

    fn wait<'a>(&'a self, id: &'a str, seen: Option<&'a SubAgentStatus>) -> BoxFuture<'a, Result<SubAgentStatus, ToolError>> {
        Box::pin(async move {
            let live = match self.find(id).await? {
                Ok(live) => live,
                Err(status) => {
                    self.mark_reported(&status);
                    return self.marked(status);
                }
            };
            let mut watch = live.watch();
            let is_new = |status: &SubAgentStatus| !status.state.is_active() || seen.is_some_and(|seen| seen != status);
            let status = watch.wait_for(is_new).await.map_err(|_| unknown(id))?.clone();
            self.mark_reported(&status);
            self.marked(status)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SubAgentStatus>, ToolError>> {
        Box::pin(async move {
            let own = self.id()?;
            self.lanes.store.interrupt_sub_agents().await.map_err(not_stored)?;
            let mut all = self.lanes.store.sub_agents(&own).await.map_err(not_stored)?;
            for live in self.lanes.children(&own) {
                let status = live.status();
                match all.iter_mut().find(|known| known.id == status.id) {
                    Some(known) => *known = status,
                    None => all.push(status),
                }
            }
            Ok(all)
        })
    }

    fn steer<'a>(&'a self, id: &'a str, message: &'a str) -> BoxFuture<'a, Result<SubAgentStatus, ToolError>> {
        Box::pin(async move {
            let found = self.find(id).await?;
            self.pace.begin(id)?;
            // A message that was refused is none.
            Ok(self.tell(found, message).await.inspect_err(|_| self.pace.forget(id))?.status())
        })
    }

    fn kill<'a>(&'a self, ids: &'a [String], why: &'a str) -> BoxFuture<'a, Result<Vec<SubAgentStatus>, ToolError>> {
        Box::pin(self.end(ids, why))
    }

    fn end_notices(&self) -> Vec<SubAgentStatus> {
        let Ok(own) = self.id() else { return Vec::new() };
        let unreported = self.lanes.take_unreported(&own);
        for status in &unreported {
            self.mark_reported(status);
        }
        unreported
    }

    fn next_end(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let Ok(own) = self.id() else { return false };
            let mut ends = self.lanes.ends();
            loop {
                ends.borrow_and_update();
                if self.lanes.has_unreported(&own) {
                    return true;
                }
                let runs = self.lanes.children(&own).iter().any(|agent| agent.status().background);
                if !runs || ends.changed().await.is_err() {
                    return false;
                }
            }
        })
    }

    fn unreported_end(&self) -> BoxFuture<'_, SubAgentStatus> {
        Box::pin(async move {
            let mut ends = self.lanes.ends();
            loop {
                ends.borrow_and_update();
                if let Some(status) = self.id().ok().and_then(|own| self.lanes.first_unreported(&own)) {
                    return status;
                }
                if ends.changed().await.is_err() {
                    // Without lanes nothing ends any more.
                    return std::future::pending().await;
                }
            }
        })
    }
}

/// What one conversation does when it ends its turn early.
impl ConversationAgents {
    /// Ends all sub-agents of the conversation.
    pub async fn end_all(&self, why: &str) {
        let Ok(own) = self.id() else { return };
        let ids: Vec<String> = self.lanes.children(&own).iter().map(|agent| agent.status().id).collect();
        // Those that ended meanwhile need no end.
        self.end(&ids, why).await.ok();
    }
}

pub(super) fn not_stored(error: StoreError) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("The store of sub-agents cannot be used: {error}.")).with_source(error)
}

fn unknown(id: &str) -> ToolError {
    ToolError::validation(format!("There is no sub-agent '{id}' of this conversation. subagents with action=list shows them."))
}

fn has_ended(status: &SubAgentStatus) -> ToolError {
    let SubAgentStatus { label, state, id, .. } = status;
    ToolError::validation(format!(
        "The sub-agent '{label}' has ended ({state}), so nobody reads the message. subagents with action=result and target={id} returns \
         its answer; start another one for more work."
    ))
}

fn elsewhere(status: &SubAgentStatus) -> ToolError {
    ToolError::validation(format!("The sub-agent '{}' runs in another process. It can be reached from there alone.", status.label))
}
