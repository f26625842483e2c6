//! The sub-agents of one conversation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::ports::SubAgents;
use haft_contract::{AgentType, BoxFuture, ErrorKind, KnownAgent, SubAgentRequest, SubAgentState, SubAgentStatus, ToolError};
use haft_engine::{Session, SessionLink};
use haft_store::{NewSession, StoreError};
use haft_text::display;
use haft_text::suggest;
use tokio_util::sync::CancellationToken;

use super::lanes::{Lanes, LiveAgent};
use super::run::{ChildConversation, RunTask, SubAgentFactory};
use super::types::{GENERAL_PURPOSE, find_type};
use super::watcher::ChildWatcher;
use crate::events::TurnWatcher;
use crate::meter::Meter;
use crate::provider::Provider;
use crate::runner::Runner;

/// How many characters of a task become its label.
const LABEL_CHARACTERS: usize = 48;
/// The longest label that a request may name.
const MAX_LABEL: usize = 100;

/// Starts and manages the sub-agents of one conversation.
pub struct ConversationAgents {
    lanes: Arc<Lanes>,
    factory: Arc<dyn SubAgentFactory>,
    attached: Mutex<Option<Attached>>,
}

haft_contract::opaque_debug!(ConversationAgents: lanes = lanes);

/// What its sub-agents inherit of a conversation.
#[derive(Clone)]
struct Attached {
    id: Arc<str>,
    session: SessionLink,
    provider: Arc<dyn Provider>,
    meter: Arc<dyn Meter>,
    watcher: Arc<dyn TurnWatcher>,
    max_rounds: Option<u32>,
    stop: CancellationToken,
    last_tokens: Arc<AtomicU64>,
}

/// A request that was checked.
struct CheckedRequest {
    agent_type: AgentType,
    agent: String,
    is_other_agent: bool,
    label: String,
}

impl ConversationAgents {
    /// For a conversation that is attached when it is built.
    pub fn new(lanes: Arc<Lanes>, factory: Arc<dyn SubAgentFactory>) -> Self {
        Self { lanes, factory, attached: Mutex::default() }
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
        if runner.session.caller().depth == 0 {
            self.lanes.set_root(&attached.id, runner.steering.clone());
        }
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

    fn attached(&self) -> Result<Attached, ToolError> {
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

    fn checked(&self, request: &SubAgentRequest) -> Result<CheckedRequest, ToolError> {
        if request.task.trim().is_empty() {
            return Err(ToolError::validation("The task is empty. Say what the sub-agent is to do: it knows nothing else."));
        }
        let types = self.factory.types();
        let agent_type = find_type(&types, request.agent_type.as_deref().unwrap_or(GENERAL_PURPOSE))?.clone();
        let session = self.session()?;
        let (agent, is_other_agent) = self.agent(request.agent.as_deref(), &session)?;
        if let Some(model) = &request.model {
            self.factory.check_model(model)?;
        }
        self.refuse_depth(session.caller().depth)?;
        self.lanes.refuse_children(self.lanes.children(session.id()).len())?;
        Ok(CheckedRequest { agent_type, agent, is_other_agent, label: label(request)? })
    }

    fn agent(&self, wanted: Option<&str>, session: &Session) -> Result<(String, bool), ToolError> {
        let own = session.agent().to_string();
        let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.eq_ignore_ascii_case(&own)) else { return Ok((own, false)) };
        let known = self.factory.agents();
        if let Some(agent) = known.iter().find(|agent| agent.id.eq_ignore_ascii_case(wanted)) {
            return Ok((agent.id.clone(), true));
        }
        let names: Vec<&str> = known.iter().map(|agent| agent.id.as_str()).collect();
        let meant = suggest::nearest(wanted, names.iter().copied()).first().map(|near| format!(" Did you mean '{near}'?"));
        let (meant, names) = (meant.unwrap_or_default(), names.join(", "));
        Err(ToolError::validation(format!("There is no agent '{wanted}' in the configuration.{meant} Agents are: {names}.")))
    }

    fn refuse_depth(&self, depth: u32) -> Result<(), ToolError> {
        let most = self.lanes.limits.max_depth;
        if depth < most {
            return Ok(());
        }
        let why = if most == 0 { "no agent may start others here" } else { "an agent this deep may not start others" };
        Err(ToolError::denied(format!(
            "The sub-agent is not started: {why} (subagents.max_depth = {most}). Do the work yourself, or end with what is left to do."
        )))
    }

    async fn start(&self, request: SubAgentRequest, call: CancellationToken) -> Result<SubAgentStatus, ToolError> {
        let CheckedRequest { agent_type, agent, label, .. } = self.checked(&request)?;
        let (attached, parent) = (self.attached()?, self.session()?);
        let mut new = NewSession::new(agent.as_str(), parent.workspace());
        new.title = Some(label.clone());
        let model = request.model.clone().or_else(|| agent_type.model.clone());
        let shown = match &model {
            Some(model) => model.clone(),
            None => self.model()?,
        };
        new.model = Some(shown.clone());
        let status = new_status(&request, &new, &parent, &agent_type, shown);
        let live = self.lanes.add(status.clone(), attached.stop.child_token())?;
        let record =
            self.create(new, &live).await.inspect_err(|_| self.lanes.remove(SubAgentStatus { background: false, ..status.clone() }))?;
        let child = ChildConversation {
            parent,
            provider: attached.provider,
            model,
            record,
            label,
            agent,
            agent_type,
            watcher: Arc::new(ChildWatcher { live: Arc::clone(&live), parent: attached.watcher }),
            agents: Arc::new(Self::new(Arc::clone(&self.lanes), Arc::clone(&self.factory))),
        };
        let task = RunTask {
            lanes: Arc::clone(&self.lanes),
            factory: Arc::clone(&self.factory),
            live,
            child,
            meter: attached.meter,
            max_rounds: attached.max_rounds,
            timeout: [request.timeout, self.lanes.limits.timeout].into_iter().flatten().min(),
            call: (!request.background).then_some(call),
            forget: request.forget,
        };
        task.start();
        Ok(status)
    }

    /// The session is there before anything runs in it.
    async fn create(&self, new: NewSession, live: &LiveAgent) -> Result<haft_store::SessionRecord, ToolError> {
        let record = self.lanes.store.create(new).await.map_err(not_stored)?;
        self.lanes.store.put_sub_agent(live.status()).await.map_err(not_stored)?;
        Ok(record)
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

    fn mark_reported(&self, status: &SubAgentStatus) {
        self.lanes.forget_unreported(&status.parent, &status.id);
        if !status.reported && !status.state.is_active() {
            let (store, status) = (Arc::clone(&self.lanes.store), SubAgentStatus { reported: true, ..status.clone() });
            // If it is not stored, it is reported once more after a restart.
            tokio::spawn(async move { store.put_sub_agent(status).await.ok() });
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
        let CheckedRequest { agent_type, agent, is_other_agent, .. } = self.checked(request)?;
        Ok(std::iter::once(agent_type.name).chain(is_other_agent.then_some(agent)).collect())
    }

    fn spawn(&self, request: SubAgentRequest, call: CancellationToken) -> BoxFuture<'_, Result<SubAgentStatus, ToolError>> {
        Box::pin(self.start(request, call))
    }

    fn wait<'a>(&'a self, id: &'a str, seen: Option<&'a SubAgentStatus>) -> BoxFuture<'a, Result<SubAgentStatus, ToolError>> {
        Box::pin(async move {
            let live = match self.find(id).await? {
                Ok(live) => live,
                Err(status) => {
                    self.mark_reported(&status);
                    return Ok(status);
                }
            };
            let mut watch = live.watch();
            let is_new = |status: &SubAgentStatus| !status.state.is_active() || seen.is_some_and(|seen| seen != status);
            let status = watch.wait_for(is_new).await.map_err(|_| unknown(id))?.clone();
            self.mark_reported(&status);
            Ok(status)
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
            match self.find(id).await? {
                Ok(live) if live.say(message) => Ok(live.status()),
                Ok(live) => Err(has_ended(&live.status())),
                Err(status) if status.state.is_active() => Err(elsewhere(&status)),
                Err(status) => Err(has_ended(&status)),
            }
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

fn new_status(request: &SubAgentRequest, new: &NewSession, parent: &Session, agent_type: &AgentType, model: String) -> SubAgentStatus {
    SubAgentStatus {
        id: new.id.clone(),
        parent: parent.id().to_string(),
        depth: parent.caller().depth + 1,
        label: new.title.clone().unwrap_or_default(),
        agent: new.agent.clone(),
        agent_type: agent_type.name.clone(),
        task: request.task.clone(),
        model,
        state: SubAgentState::Pending,
        background: request.background,
        created: new.created,
        started: None,
        ended: None,
        rounds: 0,
        calls: 0,
        input: 0,
        output: 0,
        cost_micros: None,
        answer: None,
        error: None,
        reported: false,
    }
}

fn label(request: &SubAgentRequest) -> Result<String, ToolError> {
    let wanted = request.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
    let text = wanted.unwrap_or_else(|| request.task.trim());
    let length = text.chars().count();
    if wanted.is_some() && length > MAX_LABEL {
        return Err(ToolError::validation(format!(
            "The label has {length} characters, and {MAX_LABEL} are the most. Say more in the task."
        )));
    }
    let line = text.lines().next().unwrap_or_default();
    Ok(if wanted.is_some() { line.to_owned() } else { display::shorten(line, LABEL_CHARACTERS).into_owned() })
}

fn not_stored(error: StoreError) -> ToolError {
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
