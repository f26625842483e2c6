//! What a tool may do with sub-agents and other conversations: what its plan names.

use std::sync::Arc;
use std::time::Duration;

use crate::capability::{alive, unplanned};
use crate::ports::{SessionDirectory, SubAgents};
use crate::{
    AgentType, ErrorKind, KnownAgent, ModelChange, SessionDelivery, SessionPage, SessionQuery, SessionState, SessionSummary, StartedAgent,
    SubAgentRequest, SubAgentStatus, ToolContext, ToolError,
};

/// The error where no conversation provides sub-agents.
pub(crate) fn no_sub_agents() -> ToolError {
    ToolError::new(
        ErrorKind::ExecutionError,
        "Sub-agents need a conversation with a model, and this call has none. Use the tool in `haft run` or `haft chat`.",
    )
}

fn no_sessions() -> ToolError {
    ToolError::new(
        ErrorKind::ExecutionError,
        "Other conversations can only be reached from a conversation, and this call has none. Use the tool in `haft run` or `haft chat`, \
         or the command `haft sessions`.",
    )
}

/// Sub-agents, as planned.
#[derive(Debug, Clone, Copy)]
pub struct SubAgentUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> SubAgentUse<'a> {
    fn port(self) -> Result<&'a Arc<dyn SubAgents>, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().sub_agents.as_ref().ok_or_else(no_sub_agents)
    }
    fn readable(self) -> Result<&'a Arc<dyn SubAgents>, ToolError> {
        if !self.cx.plan().permits_session_reads() {
            return Err(unplanned("look at", "sub-agents"));
        }
        self.port()
    }
    fn addressed(self, to: &str) -> Result<&'a Arc<dyn SubAgents>, ToolError> {
        if !self.cx.plan().permits_send(SessionUse::CHANNEL, to) {
            return Err(unplanned("send to", to));
        }
        self.port()
    }

    /// The types that can be started.
    pub fn types(&self) -> Result<Vec<AgentType>, ToolError> {
        self.port().map(|port| port.types())
    }
    /// The agents that a sub-agent can run as.
    pub fn agents(&self) -> Result<Vec<KnownAgent>, ToolError> {
        self.readable().map(|port| port.agents())
    }
    /// Starts a planned sub-agent. One that is not in the background ends with the call.
    pub async fn spawn(&self, request: SubAgentRequest) -> Result<StartedAgent, ToolError> {
        let port = self.port()?;
        if let Some(name) = port.check(&request)?.iter().find(|name| !self.cx.plan().permits_spawn(name)) {
            return Err(unplanned("start", name));
        }
        port.spawn(request, self.cx.cancellation().clone()).await
    }
    /// Waits until a sub-agent of this conversation has ended, or is not any more as it was `seen`.
    pub async fn wait(&self, id: &str, seen: Option<&SubAgentStatus>) -> Result<SubAgentStatus, ToolError> {
        self.port()?.wait(id, seen).await
    }
    /// The sub-agents of this conversation, oldest first.
    pub async fn list(&self) -> Result<Vec<SubAgentStatus>, ToolError> {
        self.readable()?.list().await
    }
    /// Sends a message to a sub-agent, which the plan names as `to`.
    pub async fn steer(&self, to: &str, id: &str, message: &str) -> Result<SubAgentStatus, ToolError> {
        self.addressed(to)?.steer(id, message).await
    }
    /// Ends sub-agents, which the plan names as `to`, with all that they started.
    pub async fn kill(&self, to: &str, ids: &[String], why: &str) -> Result<Vec<SubAgentStatus>, ToolError> {
        self.addressed(to)?.kill(ids, why).await
    }
}

/// Other conversations, as planned.
#[derive(Debug, Clone, Copy)]
pub struct SessionUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> SessionUse<'a> {
    /// The channel a plan names for messages to other conversations.
    pub const CHANNEL: &'static str = "session";
    /// The key a plan names for a change of the model of a conversation.
    pub const MODEL: &'static str = "model";

    fn port(self) -> Result<&'a Arc<dyn SessionDirectory>, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().sessions.as_ref().ok_or_else(no_sessions)
    }
    fn readable(self) -> Result<&'a Arc<dyn SessionDirectory>, ToolError> {
        if !self.cx.plan().permits_session_reads() {
            return Err(unplanned("read", "other conversations"));
        }
        self.port()
    }

    /// Lists conversations, the one updated last first.
    pub async fn list(&self, query: SessionQuery) -> Result<Vec<SessionSummary>, ToolError> {
        let listed = self.readable()?.list(query).await?;
        if listed.iter().any(|session| session.is_tainted && !session.newest.is_empty()) {
            self.cx.mark_untrusted();
        }
        Ok(listed)
    }
    /// The newest messages of a conversation. Untrusted content that it has seen is brought into this one.
    pub async fn history(&self, session: &str, limit: usize, with_tools: bool) -> Result<SessionPage, ToolError> {
        let page = self.readable()?.history(session, limit, with_tools).await?;
        if page.is_tainted {
            self.cx.mark_untrusted();
        }
        Ok(page)
    }
    /// The state of a conversation; of the current one, if none is named.
    pub async fn status(&self, session: Option<&str>) -> Result<SessionState, ToolError> {
        self.readable()?.status(session).await
    }
    /// Gives a conversation another model, as planned with [`MODEL`](Self::MODEL).
    pub async fn set_model(&self, session: Option<&str>, model: &str) -> Result<ModelChange, ToolError> {
        if !self.cx.plan().permits_configure(Self::MODEL) {
            return Err(unplanned("change", "the model"));
        }
        self.readable()?.set_model(session, model).await
    }
    /// Sends a planned message, and waits for the answer.
    pub async fn send(&self, to: &str, message: &str, wait: Duration) -> Result<SessionDelivery, ToolError> {
        if !self.cx.plan().permits_send(Self::CHANNEL, to) {
            return Err(unplanned("send to", to));
        }
        self.port()?.send(to, message, wait).await
    }
}
