//! Tools in a workspace, called as a model would call them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::host::{LocalFiles, LocalHost, LocalProcesses, WorkspaceOptions};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{Access, Engine, Registry, Session, ToolCall, ToolSource};
use serde_json::Value;
use tempfile::TempDir;

/// A call: the tool and its arguments.
pub(crate) type Call<'a> = (&'a str, &'a Value);

/// A workspace that is gone at the end.
pub(crate) struct Place {
    pub(crate) workspace: PathBuf,
    _folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a workspace");
        Self { workspace, _folder: folder }
    }
}

pub(crate) struct Bench {
    engine: Engine,
    session: Session,
    pub(crate) workspace: PathBuf,
    _state: TempDir,
}

impl Bench {
    pub(crate) fn new(workspace: &Path) -> Self {
        let state = tempfile::tempdir().expect("a temporary folder");
        let registry = Registry::new();
        for tool in haft::builtin::all() {
            registry.register(tool, ToolSource::BuiltIn).expect("every tool registers");
        }
        let blobs = FileBlobs::open(state.path()).expect("a blob folder");
        let engine = Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build();
        let files = LocalFiles::open(WorkspaceOptions::new(workspace)).expect("an open workspace");
        let alert_log = state.path().join("alerts.log");
        let host = LocalHost::new(Arc::new(files), Arc::default(), Arc::<LocalProcesses>::default(), alert_log);
        let session = Session::builder(Arc::new(host)).access(Access::FullAccess).loop_limits(None).build();
        Self { engine, session, workspace: workspace.to_owned(), _state: state }
    }

    /// One call, and the details of its result.
    pub(crate) async fn call(&self, (tool, arguments): Call<'_>) -> (Duration, Value) {
        let started = Instant::now();
        let result = self.engine.run(ToolCall::new("1", tool, arguments.to_string()), &self.session).await;
        let elapsed = started.elapsed();
        assert!(result.is_success(), "{}", result.to_json());
        (elapsed, result.outcome.expect("a success").details.unwrap_or_default())
    }

    /// One run of another program in the workspace, until all of its output was read; and how many lines that was.
    pub(crate) fn run(&self, program: &Path, arguments: &[&str]) -> (Duration, usize) {
        let started = Instant::now();
        let output = Command::new(program).args(arguments).current_dir(&self.workspace).output().expect("it runs");
        (started.elapsed(), output.stdout.split(|byte| *byte == b'\n').count() - 1)
    }
}
