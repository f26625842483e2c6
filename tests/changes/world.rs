//! A workspace with its history, for one test.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use haft::host::{LocalFiles, LocalHost, LocalProcesses, WorkspaceOptions};
use haft::store::{CallLog, FileBlobs, InMemoryCallLog};
use haft::{Engine, Registry, Session, ToolCall, ToolResult, ToolSource, UndoError, UndoneCall, UndoneSession, ports::Host};
use serde_json::Value;
use tempfile::TempDir;

/// Every built-in tool, made once: there are hundreds of worlds.
static TOOLS: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).unwrap();
    }
    Arc::new(registry)
});

/// A workspace, and a session in it.
pub(crate) struct World {
    engine: Engine,
    session: Session,
    folder: TempDir,
}

/// What a path leads to: a directory, or a file's permissions and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory,
    File(u32, Vec<u8>),
}

pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

impl World {
    pub(crate) fn new() -> Self {
        Self::with_log(Arc::new(InMemoryCallLog::default()))
    }

    pub(crate) fn with_log(log: Arc<dyn CallLog>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("workspace"), folder.path().join("state"));
        std::fs::create_dir(&workspace).unwrap();
        let files = LocalFiles::open(WorkspaceOptions { root: workspace.clone(), ..WorkspaceOptions::default() }).unwrap();
        let alert_log = folder.path().join("alerts.log");
        let host: Arc<dyn Host> = Arc::new(LocalHost::new(Arc::new(files), Arc::default(), Arc::<LocalProcesses>::default(), alert_log));
        let engine = Engine::builder(Arc::clone(&TOOLS), log, Arc::new(FileBlobs::open(&state).unwrap())).build();
        // The same call again and again is what these tests are about.
        let session = Session::builder(host).workspace(workspace).owner().loop_limits(None).build();
        Self { engine, session, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }
    pub(crate) fn put(&self, name: &str, content: &str, mode: u32) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
    /// Everything in the workspace.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        gather(&self.path(""), Path::new(""), &mut tree);
        tree
    }

    /// Calls one after the other.
    pub(crate) async fn one_by_one(&self, calls: Vec<ToolCall>) -> Vec<ToolResult> {
        let mut results = Vec::new();
        for call in calls {
            results.push(self.engine.run(call, &self.session).await);
        }
        results
    }
    /// Calls of one response.
    pub(crate) async fn together(&self, calls: Vec<ToolCall>) -> Vec<ToolResult> {
        self.engine.run_all(calls, &self.session).await
    }
    pub(crate) async fn undo(&self) -> Result<UndoneCall, UndoError> {
        self.engine.undo(None, &**self.session.host(), false).await
    }
    pub(crate) async fn undo_session(&self) -> Result<UndoneSession, UndoError> {
        self.engine.undo_session(self.session.id(), &**self.session.host(), false).await
    }
}

fn gather(directory: &Path, beneath: &Path, tree: &mut Tree) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = beneath.join(path.file_name().unwrap());
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() {
            gather(&path, &name, tree);
            tree.insert(name, Entry::Directory);
        } else {
            tree.insert(name, Entry::File(facts.permissions().mode() & 0o7777, std::fs::read(&path).unwrap()));
        }
    }
}

/// Calls with ids that number them.
pub(crate) fn numbered(calls: impl IntoIterator<Item = (&'static str, Value)>) -> Vec<ToolCall> {
    let calls = calls.into_iter().enumerate();
    calls.map(|(number, (tool, arguments))| ToolCall::new(number.to_string(), tool, arguments)).collect()
}

/// What calls came to, each with its id.
pub(crate) fn outcomes(results: &[ToolResult]) -> Vec<(String, String)> {
    results.iter().map(|result| (result.call_id.clone(), result.to_json())).collect()
}

/// Fails unless every call worked.
pub(crate) fn assert_all_worked(results: &[ToolResult]) {
    let failed: Vec<_> = results.iter().filter(|result| !result.is_success()).map(|result| (&result.call_id, result.to_json())).collect();
    assert!(failed.is_empty(), "{failed:?}");
}
