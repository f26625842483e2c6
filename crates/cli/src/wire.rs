//! The only place that builds concrete types: configuration → host → store → registry → engine → session.
//!
//! Each command builds what it needs; parts that most calls do not use (HTTP, commands, jobs) are built on first use.

mod command_rules;
mod hooks;
mod host;
mod jobs;
mod lint;
pub(crate) mod models;
mod policy;
mod rule_file;
mod session;
mod settings;
mod shell;
mod trust;
mod web;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use haft_agent::{DeferredTools, DenySpending, DisclosedTools, Runner, SpendingApprover, TurnWatcher};
use haft_config::Loaded;
use haft_contract::ToolSource;
use haft_engine::{CallLimits, Engine, EngineBuilder, Event, EventSink, Registry, Session, SessionBuilder};
use haft_host::LocalHost;
use haft_policy::StandardPolicy;
use haft_provider::Model;
use haft_store::{Blobs, CallLog, FileBlobs, InMemoryCallLog, OpenedLog, SqliteCallLog, StoreError};

pub(crate) use self::jobs::JobSettings;
pub(crate) use self::lint::warn_of_idle_rules;
pub(crate) use self::settings::{
    Settings, TrustMode, check, check_text, config_file, data_folder, read, refused, report_width, user_file, workspace,
};
use self::shell::Calls;
pub(crate) use self::trust::TrustedFolders;
use crate::arguments::{CallerArgs, Common};
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::terminal::{SpendingPrompt, Terminal};

/// The agent that the user talks to; it needs no configuration.
pub(crate) const MAIN: &str = "main";

/// Where `tool_search` finds the tools of each conversation of this process.
static DEFERRED: LazyLock<DeferredTools> = LazyLock::new(DeferredTools::default);

/// Opens the tools of a conversation to `tool_search`.
pub(crate) fn disclose_tools(runner: &Runner) -> DisclosedTools {
    DEFERRED.disclose(&runner.engine, &runner.session, &runner.messages)
}

/// Every tool.
pub(crate) fn registry() -> Result<Arc<Registry>, Failure> {
    let registry = Registry::new();
    for tool in haft_builtin::all().into_iter().chain([DEFERRED.tool()]) {
        registry.register(tool, ToolSource::BuiltIn).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    }
    Ok(Arc::new(registry))
}

/// The database of calls, conversations and jobs. A damaged one is replaced, with a warning.
pub(crate) fn store(folder: &Path) -> Result<Arc<SqliteCallLog>, Failure> {
    let OpenedLog { log, notice } = open_store(folder)?;
    if let Some(notice) = &notice {
        warn(notice);
    }
    Ok(Arc::new(log))
}

/// The same, with the warning.
pub(crate) fn open_store(folder: &Path) -> Result<OpenedLog, StoreError> {
    SqliteCallLog::open(folder)
}

/// Pre-images and spilled output, beside the database. Calls that the user makes share their spills; a conversation has its own.
pub(crate) fn open_blobs(folder: &Path, session: Option<&str>) -> Result<Arc<dyn Blobs>, StoreError> {
    Ok(Arc::new(FileBlobs::open(folder)?.of_session(session.unwrap_or("calls"))?))
}

/// Whether the user at the terminal may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserPrompts {
    Allowed,
    Never,
}

/// How the session of a conversation starts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionStart<'a> {
    /// With this id.
    New(&'a str),
    /// With the state of a session whose settings changed.
    Resume(&'a Session),
}

/// What answers calls.
pub(crate) struct CallSetup {
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) log: Arc<dyn CallLog>,
}

/// The loaded configuration, from which the rest is built.
pub(crate) struct Wire {
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<StandardPolicy>,
}

impl Wire {
    /// Loads the configuration; an error in it ends the command.
    pub(crate) fn new(common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::with_registry(registry()?, common, output)
    }

    /// As [`Wire::new`], with these tools.
    pub(crate) fn with_registry(registry: Arc<Registry>, common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::with_settings(settings::load(common, &registry, output)?, registry)
    }

    /// As [`Wire::with_registry`], with a configuration that has no errors.
    pub(crate) fn with_config(registry: Arc<Registry>, common: &Common, workspace: &Path, loaded: &Loaded) -> Result<Self, Failure> {
        Self::with_settings(settings::of(common, workspace.to_owned(), loaded)?, registry)
    }

    fn with_settings(settings: Settings, registry: Arc<Registry>) -> Result<Self, Failure> {
        let policy = policy::policy(&settings.config, &settings.provenance, &registry)?;
        let wire = Self { settings, registry, policy };
        wire.known_agent(&wire.settings.agent)?;
        Ok(wire)
    }

    /// Names of all agents.
    pub(crate) fn agents(&self) -> Vec<String> {
        let agents = self.settings.provenance.names_beneath(&["agents"]);
        std::iter::once(MAIN.to_owned()).chain(agents.into_iter().filter(|name| name != MAIN)).collect()
    }

    /// Refuses an agent that is not configured: nothing would restrict it.
    pub(crate) fn known_agent(&self, name: &str) -> Result<(), Failure> {
        let known = self.agents();
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        let near = haft_text::suggest::nearest(name, known.iter().map(String::as_str));
        let meant = near.first().map(|near| format!("did you mean '{near}'? Or ")).unwrap_or_default();
        Err(Failure::usage(format!("there is no agent '{name}'")).help(format!("{meant}configure it in [agents.{name}]")))
    }

    /// A session that decides and runs nothing.
    pub(crate) fn listing(&self, agent: &str, who: &CallerArgs) -> Result<Session, Failure> {
        let host = self.host(&self.settings.workspace, None, JobSettings::default, Calls::OfUser)?;
        Ok(session::as_if(self.session(host, agent, UserPrompts::Never, None), who).build())
    }

    /// The user's configuration file, or the one named in its place; never the project's.
    pub(crate) fn own_file(&self) -> Result<PathBuf, Failure> {
        rule_file::own_file(&self.settings).map_err(Failure::config)
    }

    /// An engine that plans against the real files and records nothing.
    pub(crate) fn explainer(&self) -> Result<Explainer<'_>, Failure> {
        let blobs = open_blobs(&self.settings.data_folder, None)?;
        let host = self.host(&self.settings.workspace, Some(blobs.spill_folder()), JobSettings::default, Calls::OfUser)?;
        let engine = self.engine(Arc::new(InMemoryCallLog::default()), blobs, &self.settings.workspace)?;
        Ok(Explainer { wire: self, engine, host })
    }

    /// An engine that answers and undoes calls in this folder.
    pub(crate) fn calling(
        &self,
        folder: &Path,
        log: Arc<dyn CallLog>,
        jobs: impl FnOnce() -> JobSettings + Send + 'static,
        prompts: UserPrompts,
    ) -> Result<CallSetup, Failure> {
        let blobs = open_blobs(&self.settings.data_folder, None)?;
        let host = self.host(folder, Some(blobs.spill_folder()), jobs, Calls::OfUser)?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        Ok(CallSetup { engine, session: self.session(host, &self.settings.agent, prompts, None).build(), log })
    }

    /// As [`Wire::calling`], for a conversation with a model, whose events go to the watcher.
    pub(crate) fn conversing(
        &self,
        log: Arc<dyn CallLog>,
        jobs: JobSettings,
        prompts: UserPrompts,
        start: SessionStart<'_>,
        model: &Model,
        watcher: &Arc<dyn TurnWatcher>,
    ) -> Result<CallSetup, Failure> {
        let folder = &self.settings.workspace;
        let id = match start {
            SessionStart::New(id) => id,
            SessionStart::Resume(before) => before.id(),
        };
        let blobs = open_blobs(&self.settings.data_folder, Some(id))?;
        let host = self.host(folder, Some(blobs.spill_folder()), move || jobs, Calls::OfModel)?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        let session = self.session(host, &self.settings.agent, prompts, Some(watcher));
        let session = session.model(model.provider.as_str(), Some(model.name.clone()));
        let session = match start {
            SessionStart::New(id) => session.id(id),
            SessionStart::Resume(before) => session.continuing(before),
        };
        Ok(CallSetup { engine, session: session.build(), log })
    }

    /// Asks the user for more money, or refuses.
    pub(crate) fn spending_approver(&self, prompts: UserPrompts) -> Arc<dyn SpendingApprover> {
        match prompts {
            UserPrompts::Allowed if Terminal::is_there() => {
                Arc::new(SpendingPrompt::new(Terminal::standard(), self.settings.config.approvals.timeout))
            }
            _ => Arc::new(DenySpending),
        }
    }

    /// The agent's own instructions.
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.settings.provenance.value_at(&["agents", &self.settings.agent, "prompt"]).as_text()
    }

    /// Hooks run in the folder of the call.
    fn engine(&self, log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>, folder: &Path) -> Result<Engine, Failure> {
        let engine = Engine::builder(Arc::clone(&self.registry), log, blobs);
        let engine = engine.policy(Arc::clone(&self.policy) as _).limits(self.limits()).events(Arc::new(WarningPrinter));
        let hooks = hooks::hooks(&self.settings.provenance, &self.policy, folder)?;
        Ok(hooks.into_iter().fold(engine, EngineBuilder::hook).build())
    }

    fn limits(&self) -> CallLimits {
        let config = &self.settings.config;
        let mut limits = CallLimits::default();
        limits.output_bytes = config.limits.output_bytes;
        limits.argument_bytes = config.limits.argument_bytes;
        limits.spill_bytes = config.limits.spill_bytes;
        limits.approval = config.approvals.timeout;
        limits.summary_bytes = config.history.summary_bytes;
        limits
    }

    /// Where processes of this user find each other.
    pub(crate) fn run_folder(&self) -> PathBuf {
        self.settings.data_folder.join(jobs::RUN)
    }

    /// Makes the list of background jobs of this workspace, which is recorded in the store.
    pub(crate) fn recorded_jobs(&self, store: &Arc<SqliteCallLog>) -> impl FnOnce() -> JobSettings + Send + use<> {
        let (store, workspace, data_folder) = (Arc::clone(store), self.settings.workspace.clone(), self.settings.data_folder.clone());
        move || JobSettings::with_registry(Arc::new(store.jobs()), &workspace, &data_folder)
    }
}

/// Explains decisions for any agent and caller.
pub(crate) struct Explainer<'a> {
    wire: &'a Wire,
    pub(crate) engine: Engine,
    host: Arc<LocalHost>,
}

impl Explainer<'_> {
    /// The session of an agent, called by this user.
    pub(crate) fn session(&self, agent: Option<&str>, who: &CallerArgs) -> Result<Session, Failure> {
        Ok(session::as_if(self.builder(agent)?, who).build())
    }

    /// The session of an agent, to be completed.
    pub(crate) fn builder(&self, agent: Option<&str>) -> Result<SessionBuilder, Failure> {
        let agent = agent.map_or_else(|| Ok(self.wire.settings.agent.clone()), haft_config::agent_name).map_err(Failure::usage)?;
        self.wire.known_agent(&agent)?;
        Ok(self.wire.session(Arc::clone(&self.host), &agent, UserPrompts::Never, None))
    }
}

/// Prints what a result does not say: that a call is not recorded, a hook failed, a rule was not saved.
struct WarningPrinter;

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
