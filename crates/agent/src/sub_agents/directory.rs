//! The conversations that a conversation sees, for reading and for messages.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::ports::{SessionDirectory, SubAgents};
use haft_contract::{
    BoxFuture, ErrorKind, ModelChange, SessionDelivery, SessionKind, SessionPage, SessionQuery, SessionState, SessionSummary,
    SessionVisibility, SubAgentStatus, ToolError,
};
use haft_provider::Message;
use haft_store::{NewMessage, SessionFilter, SessionRecord, SessionStore, StoreError, StoredTaint};

use super::conversation::ConversationAgents;
use super::transcript::{PageBuilder, read_newest};
use crate::ledger::LedgerEntry;

/// How many conversations are listed at most.
const MAX_LISTED: usize = 200;

/// Deeper than agents may start agents; a loop in a damaged store ends here.
const MAX_LEVELS: usize = 64;

/// The conversations that one conversation sees.
#[derive(Debug)]
pub struct ConversationSessions {
    agents: Arc<ConversationAgents>,
    visibility: SessionVisibility,
}

impl ConversationSessions {
    /// For the conversation of these sub-agents.
    pub fn new(agents: Arc<ConversationAgents>, visibility: SessionVisibility) -> Self {
        Self { agents, visibility }
    }

    fn store(&self) -> &Arc<dyn SessionStore> {
        &self.agents.lanes().store
    }

    /// A sandboxed session sees no more than its tree, whatever is configured.
    fn visibility(&self) -> Result<SessionVisibility, ToolError> {
        let is_sandboxed = self.agents.session()?.caller().sandboxed;
        Ok(if is_sandboxed { self.visibility.min(SessionVisibility::Tree) } else { self.visibility })
    }

    async fn listed(&self, query: SessionQuery) -> Result<Vec<SessionSummary>, ToolError> {
        self.store().interrupt_sub_agents().await.map_err(not_read)?;
        let limit = query.limit.clamp(1, MAX_LISTED);
        let mut found = Vec::new();
        for record in self.visible_records().await? {
            let is_recent = |active: Duration| record.updated.elapsed().unwrap_or_default() <= active;
            if found.len() == limit || !query.active.is_none_or(is_recent) {
                continue;
            }
            let summary = self.summary(record).await?;
            if query.kinds.is_empty() || query.kinds.contains(&summary.kind) {
                found.push(summary);
            }
        }
        if query.messages > 0 {
            for summary in &mut found {
                let page = self.page(&summary.id, summary.messages, query.messages, false).await?;
                summary.newest = page.messages;
            }
        }
        Ok(found)
    }

    /// The one updated last first.
    async fn visible_records(&self) -> Result<Vec<SessionRecord>, ToolError> {
        let (visibility, own) = (self.visibility()?, self.agents.id()?);
        let session = self.agents.session()?;
        let mut records = match visibility {
            SessionVisibility::Own => vec![self.record(&own).await?],
            SessionVisibility::Tree => self.tree(&own).await?,
            SessionVisibility::Agent => {
                let (agent, workspace) = (Some(session.agent().to_string()), Some(session.workspace().to_owned()));
                let mut records = self
                    .store()
                    .list(SessionFilter { agent, workspace, with_sub_agents: true, ..SessionFilter::default() })
                    .await
                    .map_err(not_read)?;
                for record in self.tree(&own).await? {
                    if !records.iter().any(|known| known.id == record.id) {
                        records.push(record);
                    }
                }
                records
            }
            SessionVisibility::All => {
                self.store().list(SessionFilter { with_sub_agents: true, ..SessionFilter::default() }).await.map_err(not_read)?
            }
        };
        records.sort_by_key(|record| std::cmp::Reverse(record.updated));
        Ok(records)
    }

    async fn tree(&self, root: &str) -> Result<Vec<SessionRecord>, ToolError> {
        let (mut records, mut next) = (vec![self.record(root).await?], vec![root.to_owned()]);
        while let Some(parent) = next.pop() {
            for child in self.store().sub_agents(&parent).await.map_err(not_read)? {
                // A loop in a damaged store ends here.
                if records.iter().all(|known| known.id != child.id) {
                    records.push(self.record(&child.id).await?);
                    next.push(child.id);
                }
            }
        }
        Ok(records)
    }

    /// The conversations above one, nearest first.
    async fn above(&self, id: &str) -> Result<Vec<String>, ToolError> {
        let (mut above, mut id) = (Vec::new(), id.to_owned());
        while let Some(status) = self.sub_agent(&id).await?.filter(|_| above.len() < MAX_LEVELS) {
            above.push(status.parent.clone());
            id = status.parent;
        }
        Ok(above)
    }

    async fn record(&self, id: &str) -> Result<SessionRecord, ToolError> {
        self.store().open(id).await.map_err(not_read)
    }

    async fn sub_agent(&self, id: &str) -> Result<Option<SubAgentStatus>, ToolError> {
        match self.agents.lanes().find(id) {
            Some(live) => Ok(Some(live.status())),
            None => self.store().sub_agent(id).await.map_err(not_read),
        }
    }

    async fn summary(&self, record: SessionRecord) -> Result<SessionSummary, ToolError> {
        let usage = self.store().session_usage(&record.id).await.map_err(not_read)?;
        let sub_agent = self.sub_agent(&record.id).await?;
        let is_tainted = self.store().taint(&record.id).await.map_err(not_read)?.untrusted;
        Ok(SessionSummary {
            kind: if sub_agent.is_some() { SessionKind::SubAgent } else { SessionKind::Main },
            title: record.title,
            agent: record.agent,
            model: record.model,
            workspace: record.workspace,
            parent: sub_agent.as_ref().map(|status| status.parent.clone()),
            state: sub_agent.map(|status| status.state),
            created: record.created,
            updated: record.updated,
            messages: record.messages,
            input: usage.input,
            output: usage.output,
            cost_micros: usage.cost_micros,
            newest: Vec::new(),
            is_tainted,
            id: record.id,
        })
    }

    /// The conversation that a model names: `current`, `main`, an id or a part of one, or the label of a sub-agent.
    async fn resolve(&self, name: &str) -> Result<SessionRecord, ToolError> {
        let own = self.agents.id()?;
        // Keys of another system: agent:main:subagent:ID.
        let name = name.rsplit(':').next().unwrap_or_default().trim();
        if name.is_empty() || name.eq_ignore_ascii_case("current") {
            return self.record(&own).await;
        }
        let record = match self.by_label(name).await? {
            Some(record) => record,
            None if name.eq_ignore_ascii_case("main") => self.record(&self.root(&own).await?).await?,
            None if name.eq_ignore_ascii_case("last") => return Err(unknown(name)),
            None => self.store().open(name).await.map_err(|error| match error {
                StoreError::Missing { .. } => unknown(name),
                error => not_read(error),
            })?,
        };
        if self.is_visible(&record, &own).await? { Ok(record) } else { Err(self.invisible(&record.id)) }
    }

    async fn by_label(&self, name: &str) -> Result<Option<SessionRecord>, ToolError> {
        let children = self.agents.list().await?;
        let named: Vec<&SubAgentStatus> = children.iter().filter(|status| status.label == name).collect();
        match named.as_slice() {
            [] => Ok(None),
            [status] => self.record(&status.id).await.map(Some),
            several => {
                let ids: Vec<String> = several.iter().map(|status| format!("{} ({})", status.id, status.state)).collect();
                Err(ToolError::validation(format!(
                    "{} sub-agents are labelled '{name}': {}. Name one by its id.",
                    several.len(),
                    ids.join(", ")
                )))
            }
        }
    }

    /// The conversation with the user above this one.
    async fn root(&self, own: &str) -> Result<String, ToolError> {
        Ok(self.above(own).await?.pop().unwrap_or_else(|| own.to_owned()))
    }

    async fn is_visible(&self, record: &SessionRecord, own: &str) -> Result<bool, ToolError> {
        let session = self.agents.session()?;
        let is_same_agent = record.agent == **session.agent() && record.workspace == session.workspace();
        match self.visibility()? {
            _ if record.id == own => Ok(true),
            SessionVisibility::All => Ok(true),
            SessionVisibility::Agent if is_same_agent => Ok(true),
            SessionVisibility::Own => Ok(false),
            _ => Ok(self.above(&record.id).await?.iter().any(|above| above == own)),
        }
    }

    fn invisible(&self, id: &str) -> ToolError {
        let visibility = self.visibility().unwrap_or(SessionVisibility::Own);
        ToolError::denied(format!(
            "Session '{id}' is not visible to this conversation: sessions.visibility is '{visibility}'. sessions_list shows what is; ask the \
             user if you need this one."
        ))
    }

    async fn page(&self, id: &str, end: u64, limit: usize, with_tools: bool) -> Result<SessionPage, ToolError> {
        let builder = PageBuilder::new(id, limit, with_tools);
        let page = read_newest(&**self.store(), id, end, builder).await.map_err(not_read)?;
        let is_tainted = self.store().taint(id).await.map_err(not_read)?.untrusted;
        Ok(SessionPage { is_tainted, ..page })
    }

    /// Gives a conversation another model from its next turn on.
    async fn change_model(&self, session: Option<&str>, model: &str) -> Result<ModelChange, ToolError> {
        let (own, record) = (self.agents.id()?, self.resolve(session.unwrap_or_default()).await?);
        let (is_own, lanes) = (*record.id == *own, self.agents.lanes());
        let sub_agent = self.sub_agent(&record.id).await?;
        // The conversation with the user may be one with a sub-agent.
        let is_root = lanes.root_steering(&record.id).is_some();
        if !is_root && sub_agent.as_ref().is_some_and(|status| status.state.is_active()) {
            let who = if is_own { "The agent that started this sub-agent chose its model" } else { "The sub-agent has not ended" };
            return Err(ToolError::validation(format!("{who}. Name another model when one is started (sessions_spawn).")));
        }
        let wanted = Some(model.trim()).filter(|model| !model.eq_ignore_ascii_case("default"));
        let provider = self.agents.factory.open_model(wanted, &record.agent).await?;
        let name = format!("{}/{}", provider.model().provider, provider.model().name);
        self.store().set_model(&record.id, wanted.map(|_| name.as_str())).await.map_err(not_read)?;
        if let Some(status) = sub_agent.filter(|_| !is_root) {
            self.store().put_sub_agent(SubAgentStatus { model: name.clone(), ..status }).await.map_err(not_read)?;
        }
        if is_own {
            self.agents.choose_model(provider);
        }
        let when = if is_own { "from the next message of the user on" } else { "when it is continued" };
        Ok(ModelChange { id: record.id, model: name, when })
    }

    async fn deliver(&self, to: &str, message: &str, wait: Duration) -> Result<SessionDelivery, ToolError> {
        let (own, record) = (self.agents.id()?, self.resolve(to).await?);
        if *record.id == *own {
            return Err(ToolError::validation(
                "That is this conversation itself: nobody else would read the message. Name another session.",
            ));
        }
        let agent = self.agents.session()?.agent().to_string();
        let message = format!("[Message from the session {own} of agent '{agent}', not from the user]\n{message}");
        let lanes = self.agents.lanes();
        if let Some(steering) = lanes.root_steering(&record.id) {
            steering.say(message);
            return Ok(SessionDelivery::Delivered { id: record.id, when: "with its next results", is_late: false });
        }
        let found = match lanes.find(&record.id) {
            Some(live) => Some(Ok(live)),
            None => self.sub_agent(&record.id).await?.map(Err),
        };
        if let Some(found) = found {
            let mut watch = self.agents.tell(found, &message).await?.watch();
            let ended = tokio::time::timeout(wait, watch.wait_for(|status| !status.state.is_active())).await;
            let ended = ended.ok().and_then(Result::ok).map(|status| status.clone());
            let Some(ended) = ended.filter(|status| status.answer.is_some()) else {
                return Ok(SessionDelivery::Delivered { id: record.id, when: "with its next results", is_late: true });
            };
            // The caller has the answer: a notice would say it again.
            self.agents.mark_reported(&ended);
            let reply = self.agents.marked(ended)?.answer.unwrap_or_default();
            return Ok(SessionDelivery::Answered { id: record.id, reply });
        }
        let entry = LedgerEntry::User { message: Message::user(message) };
        let body = serde_json::to_string(&entry).unwrap_or_default();
        if self.agents.session()?.has_seen_untrusted() {
            // Who resumes it reads what this conversation may have been told to write.
            let taint = StoredTaint { private: false, untrusted: true };
            self.store().add_taint(&record.id, taint).await.map_err(not_read)?;
        }
        match self.store().append(&record.id, None, vec![NewMessage::new(entry.kind(), body)]).await {
            Ok(_) => Ok(SessionDelivery::Delivered { id: record.id, when: "when the user resumes it", is_late: false }),
            Err(StoreError::Busy { .. }) => Err(ToolError::validation(format!(
                "Session '{}' is open in another process, which does not read messages of this one. Ask the user to pass it on.",
                record.id
            ))),
            Err(error) => Err(not_read(error)),
        }
    }
}

impl SessionDirectory for ConversationSessions {
    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, ToolError>> {
        Box::pin(self.listed(query))
    }

    fn history<'a>(&'a self, session: &'a str, limit: usize, with_tools: bool) -> BoxFuture<'a, Result<SessionPage, ToolError>> {
        Box::pin(async move {
            let record = self.resolve(session).await?;
            self.page(&record.id, record.messages, limit, with_tools).await
        })
    }

    fn status<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<SessionState, ToolError>> {
        Box::pin(async move {
            let own = self.agents.id()?;
            let record = self.resolve(session.unwrap_or_default()).await?;
            let is_current = *record.id == *own;
            let running = self.agents.lanes().children(&record.id).len();
            let mut summary = self.summary(record).await?;
            if is_current {
                summary.model = Some(self.agents.model()?);
            }
            let access = if is_current { Some(self.agents.session()?.access()) } else { None };
            let context = if is_current { self.agents.context()? } else { None };
            Ok(SessionState { summary, is_current, access, context, running })
        })
    }

    fn set_model<'a>(&'a self, session: Option<&'a str>, model: &'a str) -> BoxFuture<'a, Result<ModelChange, ToolError>> {
        Box::pin(self.change_model(session, model))
    }

    fn send<'a>(&'a self, to: &'a str, message: &'a str, wait: Duration) -> BoxFuture<'a, Result<SessionDelivery, ToolError>> {
        Box::pin(self.deliver(to, message, wait))
    }
}

fn not_read(error: StoreError) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("The stored conversations cannot be used: {error}.")).with_source(error)
}

fn unknown(name: &str) -> ToolError {
    ToolError::validation(format!("There is no session '{name}' that this conversation sees. sessions_list shows them."))
}
