//! What answers calls: an engine and a session, each for its purpose.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::{DisclosedTools, TurnWatcher};
use haft_contract::ports::Services;
use haft_engine::{CallLimits, Engine, EngineBuilder, Event, EventSink, Session};
use haft_provider::Model;
use haft_store::{Blobs, CallLog, InMemoryCallLog};

use super::shell::Calls;
use super::{ChannelCaller, DEFERRED, JobSettings, Lineage, UserPrompts, Wire, hooks, open_blobs, quotas, session};
use crate::arguments::CallerArgs;
use crate::failure::Failure;
use crate::output::warn;

/// How the session of a conversation starts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionStart<'a> {
    /// With this id.
    New(&'a str),
    /// With the state of a session whose settings changed.
    Resume(&'a Session),
}

/// What a conversation keeps when its settings change.
pub(crate) struct ConversationParts {
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) jobs: JobSettings,
    pub(crate) prompts: UserPrompts,
    pub(crate) services: Services,
    /// Where it is the conversation of a sub-agent: what it comes from.
    pub(crate) lineage: Option<Lineage>,
    /// Where it is the conversation of a channel: whose message it answers.
    pub(crate) caller: Option<ChannelCaller>,
}

/// What answers calls.
pub(crate) struct CallSetup {
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) log: Arc<dyn CallLog>,
    /// Its tools are open to `tool_search` as long as this is.
    _disclosed: DisclosedTools,
}

impl CallSetup {
    pub(crate) fn new(engine: Engine, session: Session, log: Arc<dyn CallLog>) -> Self {
        let disclosed = DEFERRED.disclose(&engine, &session, &[]);
        Self { engine, session, log, _disclosed: disclosed }
    }
}

impl Wire {
    /// An engine that answers and undoes calls in this folder.
    pub(crate) fn calling(
        &self,
        folder: &Path,
        log: Arc<dyn CallLog>,
        jobs: impl FnOnce() -> JobSettings + Send + 'static,
        prompts: UserPrompts,
        who: &CallerArgs,
        services: Services,
    ) -> Result<CallSetup, Failure> {
        let blobs = open_blobs(&self.settings.data_folder, None)?;
        let host = self.host_with(self.settings.agent.as_str(), folder, Some(blobs.spill_folder()), jobs, Calls::OfUser, services)?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        let dialect = self.settings.dialect(&self.settings.agent, who.provider.as_deref());
        let session = self.session(host, &self.settings.agent, prompts, None).dialect(dialect);
        let session = match &self.call_session {
            Some(id) => session.id(id.as_str()),
            None => session,
        };
        Ok(CallSetup::new(engine, session::as_if(session, who).build(), log))
    }

    /// An engine and a machine that restore files of calls in this folder.
    pub(crate) fn restoring(&self, folder: &Path, log: Arc<dyn CallLog>) -> Result<CallSetup, Failure> {
        let (blobs, agent) = (open_blobs(&self.settings.data_folder, None)?, &self.settings.agent);
        let spills = Some(blobs.spill_folder());
        let host = self.host_with(agent.as_str(), folder, spills, JobSettings::default, Calls::Undone, Services::default())?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        Ok(CallSetup::new(engine, self.session(host, agent, UserPrompts::Never, None).build(), log))
    }

    /// As [`Wire::calling`], for a conversation with a model, whose events go to the watcher.
    pub(crate) fn conversing(
        &self,
        ConversationParts { log, jobs, prompts, services, lineage, caller }: ConversationParts,
        start: SessionStart<'_>,
        model: &Model,
        watcher: &Arc<dyn TurnWatcher>,
    ) -> Result<CallSetup, Failure> {
        // In the background: the first answer does not wait for them.
        self.mcp.start_unknown();
        let (folder, agent) = (&self.settings.workspace, &self.settings.agent);
        let id = match start {
            SessionStart::New(id) => id,
            SessionStart::Resume(before) => before.id(),
        };
        let blobs = open_blobs(&self.settings.data_folder, Some(id))?;
        let owner = lineage.as_ref().map_or_else(|| agent.as_str().into(), |lineage| lineage.owner(agent));
        let host = self.host_with(owner, folder, Some(blobs.spill_folder()), move || jobs, Calls::OfModel, services)?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        let session = self.session(Arc::clone(&host), agent, prompts, Some(watcher));
        let dialect = self.settings.dialect(agent, Some(&format!("{}/{}", model.provider, model.name)));
        let session = session.model(model.provider.as_str(), Some(model.name.clone())).dialect(dialect);
        let session = match start {
            SessionStart::New(id) => session.id(id),
            SessionStart::Resume(before) => session.continuing(before),
        };
        let session = match &lineage {
            Some(lineage) => lineage.restrict(self, &host, start, session),
            None => session,
        };
        let session = match &caller {
            Some(caller) => caller.restrict(session),
            None => session,
        };
        Ok(CallSetup::new(engine, session.build(), log))
    }

    /// An engine that reads files for the user: in the workspace and its roots, and in the folder that the user named. Lists and rules on
    /// tools are for models; those on reading hold, because the file system enforces them.
    pub(crate) fn reading(&self, folder: Option<&Path>) -> Result<CallSetup, Failure> {
        let blobs = open_blobs(&self.settings.data_folder, None)?;
        let host = self.reading_host(folder)?;
        let log: Arc<dyn CallLog> = Arc::new(InMemoryCallLog::default());
        let engine = Engine::builder(Arc::clone(&self.registry), Arc::clone(&log), blobs).build();
        let session = Session::builder(host)
            .owner()
            .agent(self.settings.agent.as_str())
            .access(haft_contract::Access::ReadOnly)
            .workspace(&self.settings.workspace);
        Ok(CallSetup::new(engine, session.build(), log))
    }

    /// Hooks run in the folder of the call.
    pub(super) fn engine(&self, log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>, folder: &Path) -> Result<Engine, Failure> {
        let engine = Engine::builder(Arc::clone(&self.registry), log, blobs);
        let engine = engine.policy(Arc::clone(&self.policy) as _).limits(self.limits()).events(Arc::new(WarningPrinter));
        let engine = match self.quotas()? {
            Some(quotas) => engine.hook(Arc::new(quotas::QuotaHook(quotas))),
            None => engine,
        };
        let hooks = hooks::hooks(&self.settings, &self.policy, folder)?;
        Ok(hooks.into_iter().fold(engine, EngineBuilder::hook).build())
    }

    pub(super) fn limits(&self) -> CallLimits {
        let config = &self.settings.config;
        let mut limits = CallLimits::default();
        limits.output_bytes = config.limits.output_bytes;
        limits.argument_bytes = config.limits.argument_bytes;
        limits.spill_bytes = config.limits.spill_bytes;
        limits.spill_age = config.retention.spills.age.unwrap_or(Duration::MAX);
        limits.approval = config.approvals.timeout;
        limits.summary_bytes = config.history.summary_bytes;
        limits
    }
}

/// Prints what a result does not say: that a call is not recorded, a hook failed, a rule was not saved.
pub(super) struct WarningPrinter;

impl EventSink for WarningPrinter {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::NotRecorded { why, .. } => warn(&format!("this call is not in the history: {why}")),
            Event::NotKept { rules, why, .. } => warn(&format!("allowed for this session alone: {} ({why})", rules.join(", "))),
            Event::HookFailed { hook, why, .. } => warn(&format!("the hook '{hook}' failed: {why}")),
            _ => {}
        }
    }
}
