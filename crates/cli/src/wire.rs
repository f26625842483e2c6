//! The only place that builds concrete types: configuration → host → store → registry → engine → session.
//!
//! Each command builds what it needs and nothing else, so that none pays for the others.

mod policy;
mod settings;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use haft_contract::Source;
use haft_engine::{Engine, Event, EventSink, Limits, LoopLimits, PermissionBroker, Policy, Registry, Session, TaintPolicy};
use haft_host::{HostOptions, LocalFiles, LocalHost, NetworkRules, WorkspaceOptions};
use haft_store::{Blobs, CallLog, FileBlobs, InMemoryCallLog, Opened, SqliteCallLog, StoreError};

pub(crate) use self::settings::{Settings, check, config_file, data_folder, report_width, user_file, workspace};
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::terminal::{Terminal, TerminalApprover, TerminalPermissions, TerminalProgress};

/// Every tool there is.
pub(crate) fn registry() -> Result<Arc<Registry>, Failure> {
    let registry = Registry::new();
    for tool in haft_builtin::all() {
        registry.register(tool, Source::BuiltIn).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    }
    Ok(Arc::new(registry))
}

/// The history. That a damaged one was set aside is told at once.
pub(crate) fn history(folder: &Path) -> Result<Arc<dyn CallLog>, Failure> {
    let Opened { log, notice } = open_history(folder)?;
    if let Some(notice) = &notice {
        warn(notice);
    }
    Ok(Arc::new(log))
}

/// The history and what there is to say about it.
pub(crate) fn open_history(folder: &Path) -> Result<Opened, StoreError> {
    SqliteCallLog::open(folder)
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
    pub(crate) policy: Arc<dyn Policy>,
}

impl Wire {
    /// Reads the configuration; what is wrong with it ends the command.
    pub(crate) fn new(common: &Common, output: &Output) -> Result<Self, Failure> {
        Self::with(registry()?, common, output)
    }

    /// As [`Wire::new`], with tools that were registered before.
    pub(crate) fn with(registry: Arc<Registry>, common: &Common, output: &Output) -> Result<Self, Failure> {
        let settings = settings::load(common, &registry, output)?;
        let policy = policy::policy(&settings.provenance, &registry);
        Ok(Self { settings, registry, policy })
    }

    /// A session that decides, but keeps and runs nothing.
    pub(crate) fn listing(&self) -> Result<Session, Failure> {
        let host = self.host(&self.settings.workspace, None)?;
        Ok(self.session(host, Asking::Never))
    }

    /// An engine that explains: it plans against the real files, and nothing is recorded.
    pub(crate) fn explaining(&self) -> Result<(Engine, Session), Failure> {
        let blobs = open_blobs(&self.settings.data_folder)?;
        let host = self.host(&self.settings.workspace, Some(blobs.spill_folder()))?;
        let engine = self.engine(Arc::new(InMemoryCallLog::default()), blobs);
        Ok((engine, self.session(host, Asking::Never)))
    }

    /// An engine that answers calls, and takes them back, in this folder.
    pub(crate) fn calling(&self, folder: &Path, log: Arc<dyn CallLog>, asking: Asking) -> Result<Wired, Failure> {
        let blobs = open_blobs(&self.settings.data_folder)?;
        let host = self.host(folder, Some(blobs.spill_folder()))?;
        let engine = self.engine(Arc::clone(&log), blobs);
        Ok(Wired { engine, session: self.session(host, asking), log })
    }

    fn engine(&self, log: Arc<dyn CallLog>, blobs: Arc<dyn Blobs>) -> Engine {
        Engine::builder(Arc::clone(&self.registry), log, blobs)
            .policy(Arc::clone(&self.policy))
            .limits(self.limits())
            .events(Arc::new(Unrecorded))
            .build()
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

    fn host(&self, root: &Path, spills: Option<&Path>) -> Result<Arc<LocalHost>, Failure> {
        let network = &self.settings.config.network;
        let network = NetworkRules::parse(&network.allow, &network.deny).map_err(|error| Failure::config(error.to_string()))?;
        let files = LocalFiles::open(self.workspace_options(root, spills)).map_err(|error| Failure::config(error.message()))?;
        let alert_log = self.settings.data_folder.join("alerts.log");
        Ok(Arc::new(LocalHost::new(Arc::new(files), HostOptions { network, alert_log })))
    }

    fn workspace_options(&self, root: &Path, spills: Option<&Path>) -> WorkspaceOptions {
        let workspace = &self.settings.config.workspace;
        let roots = |access| workspace.roots.iter().filter(move |root| root.access == access).map(|root| root.path.clone());
        WorkspaceOptions {
            root: root.to_owned(),
            read_only_roots: roots(haft_contract::Access::ReadOnly).chain(spills.map(Path::to_owned)).collect(),
            writable_roots: roots(haft_contract::Access::WorkspaceWrite).collect(),
            deny_read: workspace.deny_read.clone(),
            protected: self.settings.own_paths(),
        }
    }

    fn session(&self, host: Arc<LocalHost>, asking: Asking) -> Session {
        let config = &self.settings.config;
        let loops = config.guards.loops.map(|limits| LoopLimits { note: limits.note, block: limits.block, stop: limits.stop });
        let mut session = Session::builder(host)
            .owner()
            .agent(self.settings.agent.as_str())
            .access(config.access)
            .workspace(&self.settings.workspace)
            .taint(match config.guards.taint {
                haft_config::Taint::Off => TaintPolicy::Off,
                haft_config::Taint::Ask => TaintPolicy::Ask,
                haft_config::Taint::Deny => TaintPolicy::Deny,
            })
            .loop_limits(loops);
        if asking == Asking::Allowed && Terminal::is_there() {
            let terminal = Arc::new(Terminal::standard());
            let permissions = PermissionBroker::new();
            permissions.bind(Arc::new(TerminalPermissions::new(Arc::clone(&terminal))));
            session = session.approver(Arc::new(TerminalApprover::new(terminal))).permissions(permissions);
        }
        if std::io::stderr().is_terminal() {
            session = session.progress(Arc::new(TerminalProgress));
        }
        session.build()
    }
}

/// Tells the person when history could not be written; the answer is not lost.
struct Unrecorded;

impl EventSink for Unrecorded {
    fn event(&self, event: &Event<'_>) {
        if let Event::NotRecorded { why, .. } = event {
            warn(&format!("this call is not in the history: {why}"));
        }
    }
}
