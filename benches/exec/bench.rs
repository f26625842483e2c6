//! A workspace with a shell, and the tool that uses it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::host::{LocalFiles, LocalHost, LocalProcesses, ShellOptions, WorkspaceOptions};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{Access, CommandRequest, Engine, ExecHost, JobOptions, Registry, SandboxBackend, Session, ToolCall, ToolSource, ports::Host};
use haft_sandbox::Launcher;
use tempfile::TempDir;

pub(crate) struct Bench {
    host: Arc<LocalHost>,
    engine: Engine,
    session: Session,
    pub(crate) workspace: PathBuf,
    folder: TempDir,
}

impl Bench {
    /// With at most so much kept of what a call writes.
    pub(crate) fn new(spill_bytes: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a workspace");
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&workspace)).expect("an open workspace"));
        let processes = LocalProcesses::default().with_shell(shell(folder.path()), Arc::clone(&files), Arc::default());
        let host = Arc::new(LocalHost::new(files, Arc::default(), Arc::new(processes), folder.path().join("alerts.log")));
        let session = Session::builder(Arc::clone(&host) as _).access(Access::FullAccess).loop_limits(None).build();
        Self { host, engine: engine(folder.path(), spill_bytes), session, workspace, folder }
    }

    /// Where what is spilled is kept.
    pub(crate) fn state(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn plan(&self, line: &str) {
        let request = CommandRequest { command: line.to_owned(), ..CommandRequest::default() };
        drop(self.host.processes().plan(&request).expect("a plan"));
    }

    /// One line to its end.
    pub(crate) async fn run(&self, line: &str, host: ExecHost) {
        let request = CommandRequest { command: line.to_owned(), host: Some(host), ..CommandRequest::default() };
        let planned = self.host.processes().plan(&request).expect("a plan");
        let job = self.host.processes().start(&planned, JobOptions::default()).await.expect("it starts");
        assert_eq!(job.wait().await.code, Some(0), "{}", String::from_utf8_lossy(&job.head()));
    }

    /// One line as a model has it run.
    pub(crate) async fn call(&self, line: &str) {
        let arguments = serde_json::json!({ "command": line }).to_string();
        let result = self.engine.run(ToolCall::new("1", "exec", arguments), &self.session).await;
        assert!(result.is_success(), "{}", result.to_json());
    }
}

fn engine(folder: &Path, spill_bytes: u64) -> Engine {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).expect("every tool registers");
    }
    let blobs = FileBlobs::open(&folder.join("state")).expect("a blob folder");
    let mut limits = haft::CallLimits::default();
    limits.spill_bytes = spill_bytes;
    Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).limits(limits).build()
}

fn shell(folder: &Path) -> ShellOptions {
    let launcher = Launcher::current().expect("this program");
    ShellOptions { sandbox: SandboxBackend::Bubblewrap, wait_for_exit: true, ..ShellOptions::new(launcher, folder) }
}

/// The most memory that this process had at a time, in kilobytes.
pub(crate) fn own_peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0.0)
}
