//! The lineage of a sub-agent that the user resumes: it keeps at most the rights of the agents that started it and of its type.

use std::path::PathBuf;
use std::sync::Arc;

use haft_agent::find_type;
use haft_contract::{AgentType, SandboxDemand, SubAgentStatus};
use haft_engine::SessionBuilder;
use haft_host::LocalHost;
use haft_store::{SessionStore, StoreError};

use super::host::HostOwner;
use super::{SessionStart, UserPrompts, Wire, agent_types};
use crate::failure::Failure;

/// Deeper than agents may start agents; a loop in a damaged store ends here.
const MAX_LEVELS: usize = 64;

/// A sub-agent, and the agents above it.
pub(crate) struct Lineage {
    status: SubAgentStatus,
    /// The agent of the conversation with the user, at the top.
    root: String,
    /// The sub-agents from the top down; the last is the one that is resumed.
    levels: Vec<LineageLevel>,
    sandbox: SandboxDemand,
}

struct LineageLevel {
    agent: String,
    agent_type: AgentType,
}

impl Lineage {
    /// The lineage of a session; `None` if no agent started it.
    pub(crate) async fn find(wire: &Wire, sessions: &dyn SessionStore, id: &str) -> Result<Option<Self>, Failure> {
        sessions.interrupt_sub_agents().await?;
        let Some(status) = sessions.sub_agent(id).await? else { return Ok(None) };
        let types = agent_types::load(&wire.settings);
        let (mut levels, mut sandbox, mut above) = (Vec::new(), status.sandbox, Some(status.clone()));
        let mut root = wire.settings.agent.clone();
        while let Some(status) = above.take().filter(|_| levels.len() < MAX_LEVELS) {
            let agent_type = find_type(&types, &status.agent_type).map_err(|error| resume_error(&status, error.message()))?.clone();
            wire.known_agent(&status.agent)?;
            sandbox = sandbox.max(status.sandbox);
            levels.push(LineageLevel { agent: status.agent, agent_type });
            above = sessions.sub_agent(&status.parent).await?;
            if above.is_none() {
                // If the conversation at the top was deleted, its agent is that of the user who resumes.
                match sessions.open(&status.parent).await {
                    Ok(record) => root = record.agent,
                    Err(StoreError::Missing { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        levels.reverse();
        Ok(Some(Self { status, root, levels, sandbox }))
    }

    /// Its last state.
    pub(crate) fn status(&self) -> &SubAgentStatus {
        &self.status
    }

    /// The instructions of its type.
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.levels.last().map(|level| level.agent_type.prompt.as_str())
    }

    /// Where its commands run.
    pub(crate) fn sandbox(&self) -> SandboxDemand {
        self.sandbox
    }

    /// The folder that its commands start in.
    pub(crate) fn cwd(&self) -> Option<PathBuf> {
        self.status.cwd.clone()
    }

    /// What its machine is limited by, if it runs as this agent.
    pub(super) fn owner<'a>(&'a self, agent: &'a str) -> HostOwner<'a> {
        let above = self.levels.iter().rev().map(|level| level.agent.as_str());
        let agents = std::iter::once(agent).chain(above).chain(std::iter::once(self.root.as_str())).collect();
        HostOwner { agents, sandbox: self.sandbox, cwd: self.status.cwd.clone() }
    }

    /// A session as the agents above it would start it. The agent that it ran as counts among them if the user names another.
    pub(super) fn restrict(&self, wire: &Wire, host: &Arc<LocalHost>, start: SessionStart<'_>, session: SessionBuilder) -> SessionBuilder {
        let of_agent = |agent: &str| wire.session(Arc::clone(host), agent, UserPrompts::Never, None);
        let top = match start {
            SessionStart::New(_) => of_agent(&self.root),
            // What the user allowed for the session is passed down from the top.
            SessionStart::Resume(before) => of_agent(&self.root).continuing(before),
        };
        let Some((own, above)) = self.levels.split_last() else { return session };
        let start_level = |parent: haft_engine::Session, level: &LineageLevel| {
            wire.restricted(of_agent(&level.agent), &level.agent_type, &parent).build()
        };
        let parent = above.iter().fold(top.build(), start_level);
        let is_same_agent = own.agent == wire.settings.agent;
        let parent = if is_same_agent { parent } else { start_level(parent, own) };
        wire.restricted(session, &own.agent_type, &parent)
    }
}

fn resume_error(status: &SubAgentStatus, why: &str) -> Failure {
    Failure::usage(format!("the sub-agent '{}' cannot be resumed with the rights that it had: {why}", status.label))
        .help(format!("restore the file of its type, or read it with `haft sessions show {}`", status.id))
}
