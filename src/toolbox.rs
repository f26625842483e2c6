//! Everything put together, for a program that wants to call tools and no more.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::{Arguments, DynTool, Erased, Tool, ToolCall, ToolError, ToolResult, ToolSource, WebSettings, ports::Host};
use haft_engine::{Engine, RegisterError, Registry, Session, UndoError, UndoneCall};
use haft_host::{LocalFiles, LocalHost, WorkspaceOptions};
use haft_jobs::LocalProcesses;
use haft_store::{FileBlobs, SqliteCallLog, StoreError};

/// Why a toolbox could not be opened, or a tool not be added.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolboxError {
    /// The workspace cannot be used.
    Workspace(ToolError),
    /// The state folder cannot be used.
    Store(StoreError),
    /// The tool was not registered.
    Register(RegisterError),
}

impl std::fmt::Display for ToolboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Workspace(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Register(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ToolboxError {}

impl From<StoreError> for ToolboxError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<RegisterError> for ToolboxError {
    fn from(error: RegisterError) -> Self {
        Self::Register(error)
    }
}

/// The built-in tools on a workspace, with history and undo, for one session.
#[derive(Debug)]
pub struct Toolbox {
    engine: Engine,
    session: Session,
    calls: AtomicU64,
}

impl Toolbox {
    /// Opens a workspace; history, pre-images and spills are kept in the state folder, which must lie elsewhere.
    pub fn open(workspace: impl AsRef<Path>, state: impl AsRef<Path>) -> Result<Self, ToolboxError> {
        let (workspace, state) = (workspace.as_ref(), state.as_ref());
        let log = SqliteCallLog::open(state)?.log;
        let blobs = FileBlobs::open(state)?;
        let host = local_host(workspace, state, &blobs).map_err(ToolboxError::Workspace)?;
        let registry = Registry::new();
        for tool in haft_builtin::all() {
            registry.register(tool, ToolSource::BuiltIn)?;
        }
        let engine = Engine::builder(Arc::new(registry), Arc::new(log), Arc::new(blobs)).build();
        let session = Session::builder(host).workspace(workspace).owner().build();
        Ok(Self::from_parts(engine, session))
    }

    /// Puts other parts in: a session with another access level or an approver, an engine with hooks.
    pub fn from_parts(engine: Engine, session: Session) -> Self {
        Self { engine, session, calls: AtomicU64::new(1) }
    }

    /// Adds a tool of the program's own.
    pub fn add<T: Tool>(&self, tool: T) -> Result<(), ToolboxError> {
        self.add_dyn(Arc::new(Erased::new(tool)))
    }

    /// Adds a tool that is known only at run time, such as one from [`compat`](crate::compat).
    pub fn add_dyn(&self, tool: Arc<dyn DynTool>) -> Result<(), ToolboxError> {
        Ok(self.engine.registry().register(tool, ToolSource::Plugin("program".into()))?)
    }

    /// Calls one tool.
    pub async fn call(&self, tool: &str, arguments: impl Into<Arguments>) -> ToolResult {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        self.engine.run(ToolCall::new(format!("call_{number}"), tool, arguments), &self.session).await
    }

    /// Answers all calls of one model response, results in call order.
    pub async fn call_all(&self, calls: Vec<ToolCall>) -> Vec<ToolResult> {
        self.engine.run_all(calls, &self.session).await
    }

    /// Takes back the newest call that changed files and is not undone yet.
    pub async fn undo_last(&self) -> Result<UndoneCall, UndoError> {
        self.engine.undo(None, &**self.session.host(), false).await
    }

    /// The engine, for everything else.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The session that calls are made in.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

fn local_host(workspace: &Path, state: &Path, blobs: &FileBlobs) -> Result<Arc<dyn Host>, ToolError> {
    use haft_store::Blobs;
    let files = LocalFiles::open(WorkspaceOptions {
        root: workspace.to_owned(),
        read_only_roots: vec![blobs.spill_folder().to_owned()],
        protected: vec![state.to_owned()],
        ..WorkspaceOptions::default()
    })?;
    let host = LocalHost::new(Arc::new(files), Arc::default(), Arc::<LocalProcesses>::default(), state.join("alerts.log"));
    Ok(Arc::new(host.with_web(WebSettings::default(), state.join("cache").join("web"))))
}
