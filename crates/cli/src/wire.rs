//! The only place that builds concrete types: configuration → host → store → registry → engine → session.
//!
//! Each command builds what it needs and nothing else, so that none pays for the others.

mod hooks;
mod jobs;
mod keeper;
mod lint;
pub(crate) mod models;
mod policy;
mod settings;
mod shell;
mod trust;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use haft_agent::{Closed, Purse, Revealed, Runner, Shelves, Watcher};
use haft_config::Loaded;
use haft_contract::{JobRegistry, Source};
use haft_engine::{
    Engine, EngineBuilder, Event, EventSink, Limits, LoopLimits, PermissionBroker, Place, Registry, Sender, Session, SessionBuilder,
    StandardPolicy, TaintPolicy,
};
use haft_host::{HostOptions, LocalFiles, LocalHost, NetworkRules, WorkspaceOptions};
use haft_provider::Model;
use haft_store::{Blobs, CallLog, FileBlobs, InMemoryCallLog, Opened, SessionStore, SqliteCallLog, StoreError};

pub(crate) use self::jobs::Following;
pub(crate) use self::lint::warn_of_idle_rules;
pub(crate) use self::settings::{
    Settings, Trust, check, config_file, data_folder, read, refused, report_width, tried, user_file, workspace,
};
use self::shell::Calls;
pub(crate) use self::trust::Trusted;
use crate::arguments::{Common, Who};
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::terminal::{Terminal, TerminalApprover, TerminalPermissions, TerminalProgress, TerminalPurse, WatchedApprover, WatchedProgress};

/// The agent that the person talks to, which needs no configuration.
pub(crate) const MAIN: &str = "main";

/// Where `tool_search` finds the tools of each conversation of this process.
static SHELVES: LazyLock<Shelves> = LazyLock::new(Shelves::default);

/// Opens the tools of a conversation to `tool_search`.
pub(crate) fn open_shelves(runner: &Runner) -> Revealed {
    SHELVES.open(&runner.engine, &runner.session, &runner.messages)
}

/// Every tool there is.
pub(crate) fn registry() -> Result<Arc<Registry>, Failure> {
    let registry = Registry::new();
    for tool in haft_builtin::all().into_iter().chain([SHELVES.tool()]) {
        registry.register(tool, Source::BuiltIn).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    }
    Ok(Arc::new(registry))
}

/// The history. That a damaged one was set aside is told at once.
pub(crate) fn history(folder: &Path) -> Result<Arc<dyn CallLog>, Failure> {
    Ok(stores(folder)?.log)
}

/// The history and what there is to say about it.
pub(crate) fn open_history(folder: &Path) -> Result<Opened, StoreError> {
    SqliteCallLog::open(folder)
}

/// The history, the conversations, and the commands that go on after their calls.
pub(crate) struct Stores {
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) jobs: Arc<dyn JobRegistry>,
}

/// All of them, from the database that they share. That a damaged one was set aside is told at once.
pub(crate) fn stores(folder: &Path) -> Result<Stores, Failure> {
    let Opened { log, notice } = open_history(folder)?;
    if let Some(notice) = &notice {
        warn(notice);
    }
    let (sessions, jobs) = (log.sessions(), log.jobs());
    Ok(Stores { log: Arc::new(log), sessions: Arc::new(sessions), jobs: Arc::new(jobs) })
}

/// What lies beside the history.
pub(crate) fn open_blobs(folder: &Path) -> Result<Arc<dyn Blobs>, StoreError> {
    Ok(Arc::new(FileBlobs::open(folder)?))
}

/// Whether someone at the terminal may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Allowed,
    Never,
}

/// Whether a conversation begins in this process, or goes on in it with other settings.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Going<'a> {
    /// With the id of the session.
    New(&'a str),
    /// With what the last part of it has seen.
    On(&'a Session),
}

/// What is needed to answer calls.
pub(crate) struct Wired {
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) log: Arc<dyn CallLog>,
}

/// The configured machine, from which the rest is built.
pub(crate) struct Wire {
    pub(crate) settings: Settings,
    pub(crate) registry: Arc<Registry>,
    pub(crate) policy: Arc<StandardPolicy>,
}

impl Wire {
    /// Reads the configuration; what is wrong with it ends the command.
    pub(crate) fn new(common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::with(registry()?, common, output)
    }

    /// As [`Wire::new`], with tools that were registered before.
    pub(crate) fn with(registry: Arc<Registry>, common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::of(settings::load(common, &registry, output)?, registry)
    }

    /// As [`Wire::with`], of a configuration that was loaded before and has no errors.
    pub(crate) fn loaded(registry: Arc<Registry>, common: &Common, workspace: &Path, loaded: &Loaded) -> Result<Self, Failure> {
        Self::of(settings::of(common, workspace.to_owned(), loaded)?, registry)
    }

    fn of(settings: Settings, registry: Arc<Registry>) -> Result<Self, Failure> {
        let policy = policy::policy(&settings.config, &settings.provenance, &registry)?;
        let wire = Self { settings, registry, policy };
        wire.known_agent(&wire.settings.agent)?;
        Ok(wire)
    }

    /// A misspelt agent would be one that nothing restricts.
    pub(crate) fn known_agent(&self, name: &str) -> Result<(), Failure> {
        let agents = self.settings.provenance.names_beneath(&["agents"]);
        let known: Vec<&str> = std::iter::once(MAIN).chain(agents.iter().map(String::as_str)).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let near = haft_engine::nearest(name, known.iter().copied());
        let meant = near.first().map(|near| format!("did you mean '{near}'? Or ")).unwrap_or_default();
        Err(Failure::usage(format!("there is no agent '{name}'")).help(format!("{meant}configure it in [agents.{name}]")))
    }

    /// A session that decides, but keeps and runs nothing.
    pub(crate) fn listing(&self, who: &Who) -> Result<Session, Failure> {
        self.listing_as(&self.settings.agent, who)
    }

    /// The same for a named agent.
    pub(crate) fn listing_for(&self, agent: &str) -> Result<Session, Failure> {
        self.listing_as(agent, &Who::default())
    }

    /// The same for a named agent and whoever stands behind it.
    pub(crate) fn listing_as(&self, agent: &str, who: &Who) -> Result<Session, Failure> {
        let host = self.host(&self.settings.workspace, None, Following::default(), Calls::OfPerson)?;
        Ok(as_if(self.session(host, agent, Asking::Never, None), who).build())
    }

    /// The person's file, or the one that stands in for it; never the project's.
    pub(crate) fn own_file(&self) -> Result<std::path::PathBuf, Failure> {
        keeper::own_file(&self.settings).map_err(Failure::config)
    }

    /// An engine that explains: it plans against the real files, and nothing is recorded.
    pub(crate) fn explaining(&self) -> Result<Explaining<'_>, Failure> {
        let blobs = open_blobs(&self.settings.data_folder)?;
        let host = self.host(&self.settings.workspace, Some(blobs.spill_folder()), Following::default(), Calls::OfPerson)?;
        let engine = self.engine(Arc::new(InMemoryCallLog::default()), blobs, &self.settings.workspace)?;
        Ok(Explaining { wire: self, engine, host })
    }

    /// An engine that answers calls, and takes them back, in this folder.
    pub(crate) fn calling(&self, folder: &Path, log: Arc<dyn CallLog>, following: Following, asking: Asking) -> Result<Wired, Failure> {
        let blobs = open_blobs(&self.settings.data_folder)?;
        let host = self.host(folder, Some(blobs.spill_folder()), following, Calls::OfPerson)?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        Ok(Wired { engine, session: self.session(host, &self.settings.agent, asking, None).build(), log })
    }

    /// As [`Wire::calling`], for a conversation with a model, of which somebody sees what happens in it.
    pub(crate) fn conversing(
        &self,
        log: Arc<dyn CallLog>,
        following: Following,
        asking: Asking,
        going: Going<'_>,
        model: &Model,
        watcher: &Arc<dyn Watcher>,
    ) -> Result<Wired, Failure> {
        let folder = &self.settings.workspace;
        let blobs = open_blobs(&self.settings.data_folder)?;
        let host = self.host(folder, Some(blobs.spill_folder()), following, Calls::OfModel)?;
        let engine = self.engine(Arc::clone(&log), blobs, folder)?;
        let session = self.session(host, &self.settings.agent, asking, Some(watcher));
        let session = session.model(model.provider.as_str(), Some(model.name.clone()));
        let session = match going {
            Going::New(id) => session.id(id),
            Going::On(before) => session.continuing(before),
        };
        Ok(Wired { engine, session: session.build(), log })
    }

    /// Whom to ask for more money.
    pub(crate) fn purse(&self, asking: Asking) -> Arc<dyn Purse> {
        match asking {
            Asking::Allowed if Terminal::is_there() => {
                Arc::new(TerminalPurse::new(Terminal::standard(), self.settings.config.approvals.timeout))
            }
            _ => Arc::new(Closed),
        }
    }

    /// The agent's own instructions.
    pub(crate) fn prompt(&self) -> Option<&str> {
        match &self.settings.provenance.get_at(&["agents", &self.settings.agent, "prompt"])?.value {
            haft_config::Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Hooks run around calls alone, in the folder of the call; an explanation names them.
    fn engine(&self, log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>, folder: &Path) -> Result<Engine, Failure> {
        let policy = Arc::clone(&self.policy);
        let engine = Engine::builder(Arc::clone(&self.registry), log, blobs).policy(policy).limits(self.limits()).events(Arc::new(Told));
        let hooks = hooks::hooks(&self.settings.provenance, &self.policy, folder)?;
        Ok(hooks.into_iter().fold(engine, EngineBuilder::hook).build())
    }

    fn limits(&self) -> Limits {
        let config = &self.settings.config;
        let mut limits = Limits::default();
        limits.output_bytes = config.limits.output_bytes;
        limits.argument_bytes = config.limits.argument_bytes;
        limits.spill_bytes = config.limits.spill_bytes;
        limits.approval = config.approvals.timeout;
        limits.summary_bytes = config.history.summary_bytes;
        limits
    }

    /// Where processes of this person find each other.
    pub(crate) fn run_folder(&self) -> std::path::PathBuf {
        self.settings.data_folder.join(jobs::RUN)
    }

    /// The commands of this workspace that go on after their calls.
    pub(crate) fn following(&self, stores: &Stores) -> Following {
        Following::remembered(Arc::clone(&stores.jobs), &self.settings.workspace, &self.settings.data_folder)
    }

    fn host(&self, root: &Path, spills: Option<&Path>, following: Following, calls: Calls) -> Result<Arc<LocalHost>, Failure> {
        let network = &self.settings.config.network;
        let network = NetworkRules::parse(&network.allow, &network.deny).map_err(|error| Failure::config(error.to_string()))?;
        let workspace = self.workspace_options(root, spills)?;
        let roots = [&workspace.root, &self.settings.data_folder].into_iter().chain(&workspace.read_only_roots);
        let hidden = roots.chain(&workspace.writable_roots).cloned().collect();
        let files = LocalFiles::open(workspace).map_err(|error| Failure::config(error.message()))?;
        let (files, alert_log) = (Arc::new(files), self.settings.data_folder.join("alerts.log"));
        let Following { jobs, waits } = following;
        let shell = haft_host::ShellOptions { jobs, waits, ..shell::options(&self.settings.config, &self.settings.data_folder, calls)? };
        let host = LocalHost::new(Arc::clone(&files) as _, HostOptions { network, alert_log });
        Ok(Arc::new(host.with_helpers(&shell, hidden).with_shell(shell, files)))
    }

    /// How commands run here.
    pub(crate) fn shell(&self) -> Result<haft_host::ShellOptions, Failure> {
        shell::options(&self.settings.config, &self.settings.data_folder, Calls::OfPerson)
    }

    fn workspace_options(&self, root: &Path, spills: Option<&Path>) -> Result<WorkspaceOptions, Failure> {
        let workspace = &self.settings.config.workspace;
        let roots = |access| workspace.roots.iter().filter(move |root| root.access == access).map(|root| root.path.clone());
        Ok(WorkspaceOptions {
            root: root.to_owned(),
            read_only_roots: roots(haft_contract::Access::ReadOnly).chain(spills.map(Path::to_owned)).collect(),
            writable_roots: roots(haft_contract::Access::WorkspaceWrite).collect(),
            allow_secrets: workspace.allow_secrets,
            deny_read: workspace.deny_read.iter().cloned().chain(self.denied_reads(root)?).collect(),
            protected: self.settings.own_paths(),
        })
    }

    /// What rules forbid to read, as the file system understands it, so that a search through a tree skips it too. A rule
    /// that it does not understand would be one that a search does not keep.
    fn denied_reads(&self, root: &Path) -> Result<Vec<String>, Failure> {
        let taken = |pattern: String| match settings::glob(&pattern, root) {
            Ok(()) => Ok(pattern),
            Err(complaint) => {
                let message = format!("a rule denies reading '{pattern}', which the file system cannot keep: {}", complaint.message);
                Err(Failure::config(message).help("write another pattern in rules.deny, such as \"read(**/*.key)\""))
            }
        };
        self.policy.denied_reads().into_iter().map(taken).collect()
    }

    /// Never more than the session has, whatever an agent's own table says.
    fn access_of(&self, agent: &str) -> (haft_contract::Access, Place) {
        let settings = &self.settings.provenance;
        let own = settings.get_at(&["agents", agent, "access"]).filter(|setting| match &setting.value {
            haft_config::Value::Access(level) => *level < self.settings.config.access,
            _ => false,
        });
        let place = own.or_else(|| settings.get("access")).map(|setting| policy::place(&setting.source)).unwrap_or_default();
        match own.map(|setting| &setting.value) {
            Some(haft_config::Value::Access(level)) => (*level, place),
            _ => (self.settings.config.access, place),
        }
    }

    fn session(&self, host: Arc<LocalHost>, agent: &str, asking: Asking, watcher: Option<&Arc<dyn Watcher>>) -> SessionBuilder {
        let config = &self.settings.config;
        let (access, access_place) = self.access_of(agent);
        let loops = config.guards.loops.map(|limits| LoopLimits { note: limits.note, block: limits.block, stop: limits.stop });
        let mut session = Session::builder(host)
            .owner()
            .agent(agent)
            .access(access)
            .access_from(access_place)
            .workspace(&self.settings.workspace)
            .taint(match config.guards.taint {
                haft_config::Taint::Off => TaintPolicy::Off,
                haft_config::Taint::Ask => TaintPolicy::Ask,
                haft_config::Taint::Deny => TaintPolicy::Deny,
            })
            .loop_limits(loops);
        if asking == Asking::Allowed && Terminal::is_there() {
            let terminal = Terminal::standard();
            let permissions = PermissionBroker::new();
            permissions.bind(Arc::new(TerminalPermissions::new(Arc::clone(&terminal))));
            let keeper = keeper::Keeper::new(&self.settings);
            let approver = TerminalApprover::new(terminal, keeper.file().map(Path::to_owned));
            session = session.permissions(permissions).keeper(Arc::new(keeper));
            session = match watcher {
                Some(watcher) => session.approver(Arc::new(WatchedApprover::new(approver, Arc::clone(watcher)))),
                None => session.approver(Arc::new(approver)),
            };
        }
        match watcher {
            Some(watcher) => session.progress(Arc::new(WatchedProgress(Arc::clone(watcher)))),
            None if std::io::stderr().is_terminal() => session.progress(Arc::new(TerminalProgress)),
            None => session,
        }
    }
}

/// The session of somebody else.
fn as_if(session: SessionBuilder, who: &Who) -> SessionBuilder {
    let mut session = session.depth(who.depth);
    if let Some(provider) = &who.provider {
        let (provider, model) = provider.split_once('/').map_or((provider.as_str(), None), |(name, model)| (name, Some(model.to_owned())));
        session = session.model(provider, model);
    }
    if let Some(channel) = &who.channel {
        session = session.channel(channel.as_str());
    }
    if let Some(sender) = &who.sender {
        session = session.sender(sender_of(sender));
    }
    session = if who.sandboxed { session.sandboxed() } else { session };
    if who.guest { session.guest() } else { session }
}

/// `id:42` and the like, the kind in any case; without one it is an id.
fn sender_of(written: &str) -> Sender {
    let (kind, value) = written.split_once(':').unwrap_or(("id", written));
    let value = Some(value.trim().to_owned());
    match kind.trim().to_ascii_lowercase().as_str() {
        "e164" => Sender { e164: value, ..Sender::default() },
        "username" => Sender { username: value, ..Sender::default() },
        "name" => Sender { name: value, ..Sender::default() },
        "id" => Sender { id: value, ..Sender::default() },
        _ => Sender { id: Some(written.to_owned()), ..Sender::default() },
    }
}

/// Explains for anyone.
pub(crate) struct Explaining<'a> {
    wire: &'a Wire,
    pub(crate) engine: Engine,
    host: Arc<LocalHost>,
}

impl Explaining<'_> {
    /// The session of this agent and whoever stands behind it.
    pub(crate) fn session(&self, agent: Option<&str>, who: &Who) -> Result<Session, Failure> {
        Ok(as_if(self.builder(agent)?, who).build())
    }

    /// The session of this agent, of which more is to be said.
    pub(crate) fn builder(&self, agent: Option<&str>) -> Result<SessionBuilder, Failure> {
        let agent = agent.map_or_else(|| Ok(self.wire.settings.agent.clone()), haft_config::agent_name).map_err(Failure::usage)?;
        self.wire.known_agent(&agent)?;
        Ok(self.wire.session(Arc::clone(&self.host), &agent, Asking::Never, None))
    }
}

/// Tells the person what a result does not: that history could not be written, that a hook failed, that a rule was not saved.
struct Told;

impl EventSink for Told {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::NotRecorded { why, .. } => warn(&format!("this call is not in the history: {why}")),
            Event::NotKept { rules, why, .. } => warn(&format!("allowed for this session alone: {} ({why})", rules.join(", "))),
            Event::HookFailed { hook, why, .. } => warn(&format!("the hook '{hook}' failed: {why}")),
            _ => {}
        }
    }
}
