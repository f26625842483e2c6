//! Starts sub-agents, and continues open ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    AgentAttachment, AgentType, SandboxDemand, StartedAgent, StoredAttachment, SubAgentRequest, SubAgentState, SubAgentStatus, ToolError,
    TurnLimit, Zone,
};
use haft_engine::Session;
use haft_store::{NewSession, SessionRecord};
use haft_text::{display, suggest};
use tokio_util::sync::CancellationToken;

use super::conversation::{ConversationAgents, not_stored};
use super::lanes::LiveAgent;
use super::run::{ChildConversation, ChildOffer, RunTask};
use super::types::{GENERAL_PURPOSE, find_type};
use super::watcher::ChildWatcher;

/// How many characters of a task become its label.
const LABEL_CHARACTERS: usize = 48;
/// The longest label that a request may name.
const MAX_LABEL: usize = 100;

/// A request that was checked.
struct CheckedRequest {
    agent_type: AgentType,
    agent: String,
    is_other_agent: bool,
    label: String,
    /// The folder that its commands start in, without links.
    cwd: Option<PathBuf>,
}

/// What a run of a sub-agent begins with.
struct RunOrder {
    agent_type: AgentType,
    /// The name of its model, if it is not that of its parent.
    model: Option<String>,
    /// Its first message.
    input: String,
    /// What skills left to the turn that starts it.
    limits: Vec<TurnLimit>,
    timeout: Option<Duration>,
    /// Stops it, if it is not in the background.
    call: Option<CancellationToken>,
    forget: bool,
}

impl ConversationAgents {
    /// The names that rules know a requested sub-agent by.
    pub(super) fn names(&self, request: &SubAgentRequest) -> Result<Vec<String>, ToolError> {
        let CheckedRequest { agent_type, agent, is_other_agent, .. } = self.checked(request)?;
        Ok(std::iter::once(agent_type.name).chain(is_other_agent.then_some(agent)).collect())
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
        if request.sandbox == SandboxDemand::Require {
            self.factory.check_sandbox()?;
        }
        self.refuse_depth(session.caller().depth)?;
        self.lanes.refuse_children(self.lanes.children(session.id()).len())?;
        let cwd = request.cwd.as_deref().map(|folder| start_folder(folder, &session)).transpose()?.or_else(|| self.cwd.clone());
        Ok(CheckedRequest { agent_type, agent, is_other_agent, label: label(request)?, cwd })
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

    pub(super) async fn start(&self, mut request: SubAgentRequest, call: CancellationToken) -> Result<StartedAgent, ToolError> {
        let CheckedRequest { agent_type, agent, label, cwd, .. } = self.checked(&request)?;
        request.cwd = cwd;
        let (attached, parent) = (self.attached()?, self.session()?);
        let mut new = NewSession::new(agent.as_str(), parent.workspace());
        new.title = Some(label);
        let model = request.model.clone().or_else(|| agent_type.model.clone());
        let shown = match &model {
            Some(model) => model.clone(),
            None => self.model()?,
        };
        new.model = Some(shown.clone());
        let status =
            SubAgentStatus { sandbox: request.sandbox.max(self.sandbox), ..new_status(&request, &new, &parent, &agent_type, shown) };
        let live = self.lanes.add(status.clone(), attached.stop.child_token())?;
        let limits = parent.caller().turn_tools.current();
        let offer = ChildOffer { parent: &parent, agent: &status.agent, agent_type: &agent_type, model: &status.model, limits: &limits };
        let tools = self.factory.tools(&offer);
        let created = self.create(new, &live, request.attachments).await;
        let (record, attachments) = created.inspect_err(|_| self.lanes.remove(SubAgentStatus { background: false, ..status.clone() }))?;
        let order = RunOrder {
            agent_type,
            model,
            input: with_attachments(
                with_folder(request.task, status.cwd.as_deref(), &parent),
                &attachments,
                request.attached_as.as_deref(),
            ),
            limits,
            timeout: request.timeout,
            call: (!request.background).then_some(call),
            forget: request.forget,
        };
        self.run(live, record, parent, order)?;
        Ok(StartedAgent { status, attachments, tools })
    }

    /// Continues an open sub-agent that has ended with a message.
    pub(super) async fn continue_open(&self, status: SubAgentStatus, message: &str) -> Result<Arc<LiveAgent>, ToolError> {
        let (attached, parent) = (self.attached()?, self.session()?);
        let types = self.factory.types();
        let agent_type = find_type(&types, &status.agent_type)?.clone();
        let record = self.lanes.store.open(&status.id).await.map_err(not_stored)?;
        let model = (status.model != self.model()?).then(|| status.model.clone());
        let status =
            SubAgentStatus { state: SubAgentState::Pending, background: true, ended: None, error: None, reported: false, ..status };
        let live = self.lanes.add(status.clone(), attached.stop.child_token())?;
        if let Err(error) = self.lanes.store.put_sub_agent(status.clone()).await {
            self.lanes.remove(SubAgentStatus { background: false, ..status });
            return Err(not_stored(error));
        }
        let limits = parent.caller().turn_tools.current();
        let order = RunOrder { agent_type, model, input: message.to_owned(), limits, timeout: None, call: None, forget: false };
        self.run(Arc::clone(&live), record, parent, order)?;
        Ok(live)
    }

    fn run(&self, live: Arc<LiveAgent>, record: SessionRecord, parent: Session, order: RunOrder) -> Result<(), ToolError> {
        let (attached, status) = (self.attached()?, live.status());
        let RunOrder { agent_type, model, input, limits, timeout, call, forget } = order;
        let agents =
            Self::new(Arc::clone(&self.lanes), Arc::clone(&self.factory)).with_sandbox(status.sandbox).with_cwd(status.cwd.clone());
        let child = ChildConversation {
            parent,
            provider: attached.provider,
            model,
            record,
            label: status.label,
            agent: status.agent,
            agent_type,
            sandbox: status.sandbox,
            cwd: status.cwd,
            thinking: status.thinking,
            limits,
            steering: live.steering.clone(),
            watcher: Arc::new(ChildWatcher { live: Arc::clone(&live), parent: attached.watcher }),
            agents: Arc::new(agents),
        };
        let task = RunTask {
            lanes: Arc::clone(&self.lanes),
            factory: Arc::clone(&self.factory),
            live,
            child,
            input,
            meter: attached.meter,
            max_rounds: attached.max_rounds,
            timeout: [timeout, self.lanes.limits.timeout].into_iter().flatten().min(),
            call,
            forget,
        };
        task.start();
        Ok(())
    }

    /// The session is there before anything runs in it, with the files of its task.
    async fn create(
        &self,
        new: NewSession,
        live: &LiveAgent,
        files: Vec<AgentAttachment>,
    ) -> Result<(SessionRecord, Vec<StoredAttachment>), ToolError> {
        let store = &self.lanes.store;
        let record = store.create(new).await.map_err(not_stored)?;
        store.put_sub_agent(live.status()).await.map_err(not_stored)?;
        if files.is_empty() {
            return Ok((record, Vec::new()));
        }
        match self.factory.attach(&record.id, files).await {
            Ok(attachments) => Ok((record, attachments)),
            Err(error) => {
                // Nothing ran in it. If it stays, it is empty.
                store.delete(&record.id).await.ok();
                Err(error)
            }
        }
    }
}

/// A folder of the workspace that commands can start in.
fn start_folder(folder: &Path, session: &Session) -> Result<PathBuf, ToolError> {
    let shown = display::escape_line(&folder.to_string_lossy()).into_owned();
    let location = session.host().files().locate(folder)?;
    if location.zone() != Zone::Workspace {
        return Err(ToolError::validation(format!(
            "The sub-agent is not started: its folder '{shown}' (cwd) is not in the workspace. Name one that is, or leave 'cwd' out."
        )));
    }
    if !location.path().is_dir() {
        return Err(ToolError::validation(format!(
            "The sub-agent is not started: there is no folder '{shown}' (cwd). Create it first, or leave 'cwd' out."
        )));
    }
    Ok(location.path().to_owned())
}

/// The task, and where its commands start.
fn with_folder(task: String, cwd: Option<&Path>, parent: &Session) -> String {
    let Some(cwd) = cwd else { return task };
    let folder = cwd.strip_prefix(parent.workspace()).unwrap_or(cwd).display();
    format!("{task}\n\n[Your commands start in the folder {folder}; paths of files are relative to the workspace.]")
}

/// The task, and where its files are; `called` is the folder that the task names as theirs.
fn with_attachments(task: String, attachments: &[StoredAttachment], called: Option<&str>) -> String {
    if attachments.is_empty() {
        return task;
    }
    let line = |file: &StoredAttachment| {
        let kind = file.mime_type.as_ref().map(|kind| format!(", {kind}")).unwrap_or_default();
        format!("- {} ({} bytes{kind}): {}", file.name, file.bytes, file.path.display())
    };
    let lines: Vec<String> = attachments.iter().map(line).collect();
    let called = called.map(|folder| format!(", which the task may call {folder}/NAME")).unwrap_or_default();
    format!("{task}\n\n[Files that come with this task{called}; you can read them:\n{}]", lines.join("\n"))
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
        is_open: request.is_open,
        sandbox: request.sandbox,
        cwd: request.cwd.clone(),
        thinking: request.thinking,
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
