//! A workspace and a state folder that exist for one test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft::host::sandbox::Launcher;
use haft::host::{GuardedClient, LocalFiles, LocalHost, LocalProcesses, NetworkRules, ShellOptions, WorkspaceOptions};
use haft::store::{Blobs, CallFilter, CallLog, CallRecord, FileBlobs, SqliteCallLog};
use haft::{
    Access, Arguments, BoxFuture, Engine, ErrorKind, ExecHost, Registry, SandboxBackend, Session, SessionBuilder, ToolResult, ToolSource,
    Toolbox,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use tempfile::TempDir;

/// A toolbox on folders of its own; they go with it.
pub(crate) struct World {
    pub(crate) toolbox: Toolbox,
    log: Arc<SqliteCallLog>,
    folder: TempDir,
}

impl World {
    /// As [`Toolbox::open`] makes it.
    pub(crate) fn new() -> Self {
        Self::with(&[], |session| session)
    }

    /// With addresses that are open to tools, and a changed session.
    pub(crate) fn with(network: &[String], session: impl FnOnce(SessionBuilder) -> SessionBuilder) -> Self {
        Self::made(network, session, |_, _, _| LocalProcesses::default())
    }

    fn made(
        network: &[String],
        session: impl FnOnce(SessionBuilder) -> SessionBuilder,
        processes: impl FnOnce(Arc<LocalFiles>, Arc<GuardedClient>, &Path) -> LocalProcesses,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("workspace"), folder.path().join("state"));
        std::fs::create_dir(&workspace).unwrap();
        let log = Arc::new(SqliteCallLog::open(&state).unwrap().log);
        let blobs = FileBlobs::open(&state).unwrap();
        let files = LocalFiles::open(WorkspaceOptions {
            root: workspace.clone(),
            read_only_roots: vec![blobs.spill_folder().to_owned()],
            protected: vec![state.clone()],
            ..WorkspaceOptions::default()
        });
        let files = Arc::new(files.unwrap());
        let http = Arc::new(GuardedClient::new(NetworkRules::parse(network, &[]).unwrap()));
        let processes = Arc::new(processes(Arc::clone(&files), Arc::clone(&http), folder.path()));
        let host = Arc::new(LocalHost::new(files, http, processes, state.join("alerts.log")));
        let engine = Engine::builder(Arc::new(registry()), Arc::clone(&log) as Arc<dyn CallLog>, Arc::new(blobs)).build();
        let session = session(Session::builder(host).workspace(workspace).owner()).build();
        Self { toolbox: Toolbox::from_parts(engine, session), log, folder }
    }

    /// With programs, which run on the machine itself, and an approver that agrees to all of them.
    pub(crate) fn with_programs() -> Self {
        let run = |folder: &Path| ShellOptions {
            host: ExecHost::Host,
            sandbox: SandboxBackend::None,
            required: false,
            grace: Duration::from_millis(500),
            ..ShellOptions::new(Launcher::at("/nowhere/launcher"), folder)
        };
        let with_approver = |session: SessionBuilder| session.access(Access::FullAccess).approver(Arc::new(Agreeable));
        Self::made(&[], with_approver, |files, http, folder| LocalProcesses::default().with_shell(run(folder), files, http))
    }

    /// A path in the workspace.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }
    /// A path in the state folder.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join("state").join(name)
    }
    /// What a file of the workspace holds.
    pub(crate) fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: impl Into<Arguments>) -> ToolResult {
        self.toolbox.call(tool, arguments).await
    }
    pub(crate) async fn history(&self) -> Vec<CallRecord> {
        self.log.list(CallFilter::default()).await.unwrap()
    }
}

/// Approves everything.
struct Agreeable;

impl Approver for Agreeable {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async { ApprovalAnswer::Once })
    }
}

/// Every built-in tool.
pub(crate) fn registry() -> Registry {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).unwrap();
    }
    registry
}

/// The text of a result that should be a success.
pub(crate) fn text(result: &ToolResult) -> String {
    match &result.outcome {
        Ok(output) => output.texts().collect(),
        Err(error) => panic!("expected a success, got {}: {}", error.kind(), error.message()),
    }
}

/// The kind and message of a result that should be a failure.
pub(crate) fn failure(result: &ToolResult) -> (ErrorKind, String) {
    match &result.outcome {
        Ok(output) => panic!("expected a failure, got {:?}", output.texts().collect::<Vec<_>>()),
        Err(error) => (error.kind(), error.message().to_owned()),
    }
}
