//! Decisions without a call.

use std::path::PathBuf;
use std::sync::Arc;

use haft_engine::{Engine, Session, SessionBuilder};
use haft_host::LocalHost;
use haft_store::InMemoryCallLog;

use super::shell::Calls;
use super::{JobSettings, UserPrompts, Wire, open_blobs};
use crate::arguments::CallerArgs;
use crate::failure::Failure;

impl Wire {
    /// An engine that plans against the real files and records nothing.
    pub(crate) fn explainer(&self) -> Result<Explainer<'_>, Failure> {
        let blobs = open_blobs(&self.settings.data_folder, None)?;
        let spills = blobs.spill_folder().to_owned();
        let host = self.host(&self.settings.agent, &self.settings.workspace, Some(&spills), JobSettings::default, Calls::OfUser)?;
        let engine = self.engine(Arc::new(InMemoryCallLog::default()), blobs, &self.settings.workspace)?;
        Ok(Explainer { wire: self, engine, host, spills })
    }
}

/// Explains decisions for any agent and caller.
pub(crate) struct Explainer<'a> {
    wire: &'a Wire,
    pub(crate) engine: Engine,
    host: Arc<LocalHost>,
    spills: PathBuf,
}

impl Explainer<'_> {
    /// The session of an agent, called by this user.
    pub(crate) fn session(&self, agent: Option<&str>, who: &CallerArgs) -> Result<Session, Failure> {
        let dialect = self.wire.settings.dialect(agent.unwrap_or(&self.wire.settings.agent), who.provider.as_deref());
        self.wire.session_as_if(|| Ok(self.builder(agent)?.dialect(dialect)), who)
    }

    /// The session of an agent, to be completed.
    pub(crate) fn builder(&self, agent: Option<&str>) -> Result<SessionBuilder, Failure> {
        let agent = agent.map_or_else(|| Ok(self.wire.settings.agent.clone()), haft_config::agent_name).map_err(Failure::usage)?;
        self.wire.known_agent(&agent)?;
        // Another agent has other rules, and the file system enforces some of them.
        let host = if agent == self.wire.settings.agent {
            Arc::clone(&self.host)
        } else {
            self.wire.host(&agent, &self.wire.settings.workspace, Some(&self.spills), JobSettings::default, Calls::OfUser)?
        };
        Ok(self.wire.session(host, &agent, UserPrompts::Never, None))
    }
}
