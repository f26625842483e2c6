//! A workspace that exists for one test, and beside it what must never be reached from there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft::host::{LocalFiles, LocalHost, LocalProcesses, WorkspaceOptions};
use haft::store::{Blobs, FileBlobs, InMemoryCallLog};
use haft::{Content, Dialect, Engine, ErrorKind, Registry, Session, ToolCall, ToolResult, ToolSource};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::snapshot::{self, Snapshot};

/// What files outside say. It must be in no result, and nothing of Haft's may keep it.
pub(crate) const VAULTED: &str = "marmalade31c9";
/// What files of the workspace say that may not be read. It must be in no result.
pub(crate) const DENIED: &str = "quince77aa";
/// A call that takes longer than any tool may, on however busy a machine, hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// `base/ws` is the workspace, `base/state` is Haft's, and `base/vault` and `base/ws-evil` are neither.
pub(crate) struct World {
    _folder: TempDir,
    pub(crate) base: PathBuf,
    pub(crate) ws: PathBuf,
    pub(crate) host: Arc<LocalHost>,
    pub(crate) engine: Engine,
    runtime: Runtime,
    prepare: Prepare,
    outside: Snapshot,
}

/// Puts into the workspace what an attack needs.
pub(crate) type Prepare = fn(base: &Path, ws: &Path);

impl World {
    pub(crate) fn new(prepare: Prepare) -> Self {
        Self::opened_by(prepare, |base| base.join("ws"))
    }

    /// With a workspace that is opened by another name.
    pub(crate) fn opened_by(prepare: Prepare, root: impl FnOnce(&Path) -> PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (ws, state) = (base.join("ws"), base.join("state"));
        fill_outside(&base);
        std::fs::create_dir(&ws).unwrap();
        fill(prepare, &base, &ws);
        let blobs = FileBlobs::open(&state).unwrap();
        let host = host(root(&base), &state, &blobs);
        let engine = Engine::builder(Arc::new(registry()), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut world = Self { _folder: folder, base, ws, host, engine, runtime, prepare, outside: Snapshot::new() };
        world.look_again();
        world
    }

    pub(crate) fn session(&self, dialect: Dialect) -> Session {
        Session::builder(Arc::clone(&self.host) as _).workspace(&self.ws).owner().dialect(dialect).build()
    }

    /// Calls a tool in a session that knows nothing yet, and looks whether anything got out.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.call_in(&self.session(Dialect::Haft), tool, arguments)
    }

    pub(crate) fn call_in(&self, session: &Session, tool: &str, arguments: Value) -> ToolResult {
        let said = format!("{tool} {arguments}");
        let result = self.call_unchecked(session, tool, arguments);
        self.check(&said, &result);
        result
    }

    /// The call alone, for worlds that change while it runs.
    pub(crate) fn call_unchecked(&self, session: &Session, tool: &str, arguments: Value) -> ToolResult {
        let call = ToolCall::new("call_1", tool, arguments);
        let result = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, self.engine.run(call, session)).await });
        result.unwrap_or_else(|_| panic!("{tool} hangs"))
    }

    /// Nothing outside is changed, nothing of it is told, and nothing half-done is left.
    pub(crate) fn check(&self, call: &str, result: &ToolResult) {
        self.check_outside(call, result);
        self.check_nothing_is_left(call);
    }

    pub(crate) fn check_outside(&self, call: &str, result: &ToolResult) {
        let now = snapshot::of(&self.base, &[self.ws.clone(), self.base.join("state")]);
        assert_eq!(snapshot::difference(&self.outside, &now), [] as [PathBuf; 0], "{call}: changed outside");
        let told = everything_of(result);
        for secret in [VAULTED, DENIED] {
            assert!(!told.contains(secret), "{call}: told a secret: {told}");
        }
    }

    fn check_nothing_is_left(&self, call: &str) {
        let mut pending = vec![self.ws.clone()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                assert!(!is_temporary(&entry.file_name()), "{call}: {} is left", entry.path().display());
                pending.extend(entry.file_type().unwrap().is_dir().then(|| entry.path()));
            }
        }
    }

    /// Nothing of Haft's own has kept what is outside.
    pub(crate) fn check_records(&self) {
        for (path, item) in snapshot::of(&self.base.join("state"), &[]) {
            let snapshot::Item::File { content, .. } = item else { continue };
            assert!(!contains(&content, VAULTED), "{} holds what is outside", path.display());
        }
    }

    /// The workspace as it was in the beginning; the folder itself stays, because the host holds it.
    pub(crate) fn reset(&self) {
        for entry in std::fs::read_dir(&self.ws).unwrap() {
            let path = entry.unwrap().path();
            let removed = if path.is_dir() && !path.is_symlink() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.unwrap();
        }
        fill(self.prepare, &self.base, &self.ws);
    }

    /// Takes what is outside now for what must stay so.
    pub(crate) fn look_again(&mut self) {
        self.outside = snapshot::of(&self.base, &[self.ws.clone(), self.base.join("state")]);
    }

    /// What a file of the workspace holds.
    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.ws.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        put(&self.ws.join(name), content);
    }
}

/// A workspace without anything special in it.
pub(crate) fn plain(_base: &Path, _ws: &Path) {}

/// Makes a file, with its folders.
pub(crate) fn put(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A notebook with one cell.
pub(crate) fn notebook(source: &str) -> String {
    let cell =
        serde_json::json!({"cell_type": "code", "id": "c", "execution_count": null, "metadata": {}, "outputs": [], "source": source});
    serde_json::json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
}

/// Files that every edit of the attacks would fit, so that one that gets through is seen.
fn fill_outside(base: &Path) {
    for folder in ["vault", "ws-evil"] {
        let folder = base.join(folder);
        for end in ["txt", "ipynb"] {
            let (secret, canary) = (format!("old\n{VAULTED}\n"), "old\ncanary\n");
            let shown = |text: &str| if end == "ipynb" { notebook(text) } else { text.to_owned() };
            put(&folder.join(format!("secret.{end}")), shown(&secret));
            put(&folder.join(format!("canary.{end}")), shown(canary));
            put(&folder.join(format!("folder.{end}/secret.txt")), &secret);
            std::os::unix::fs::symlink(format!("secret.{end}"), folder.join(format!("link.{end}"))).unwrap();
        }
    }
}

fn fill(prepare: Prepare, base: &Path, ws: &Path) {
    put(&ws.join("mine.txt"), "mine\n");
    put(&ws.join("sub/mine.txt"), "mine\n");
    prepare(base, ws);
}

fn host(root: PathBuf, state: &Path, blobs: &FileBlobs) -> Arc<LocalHost> {
    let files = LocalFiles::open(WorkspaceOptions {
        root,
        read_only_roots: vec![blobs.spill_folder().to_owned()],
        protected: vec![state.to_owned()],
        deny_read: vec!["private/**".into(), "tr\u{e9}sor/**".into()],
        ..WorkspaceOptions::default()
    });
    Arc::new(LocalHost::new(Arc::new(files.unwrap()), Arc::default(), Arc::<LocalProcesses>::default(), state.join("alerts.log")))
}

fn registry() -> Registry {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).unwrap();
    }
    registry
}

/// Every letter of a result: for the model, for people, pictures too.
pub(crate) fn everything_of(result: &ToolResult) -> String {
    let details = result.details().map(ToString::to_string).unwrap_or_default();
    let said = match &result.outcome {
        Ok(output) => output.content.iter().map(text_of).collect::<Vec<_>>().concat(),
        Err(error) => format!("{}: {}", error.kind(), error.message()),
    };
    said + &details
}

fn text_of(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Image { data, .. } => String::from_utf8_lossy(data).into_owned(),
        _ => String::new(),
    }
}

/// The kind and words of a result that should be a failure.
pub(crate) fn failure(result: &ToolResult) -> (ErrorKind, String) {
    match &result.outcome {
        Ok(_) => panic!("expected a failure, got {}", everything_of(result)),
        Err(error) => (error.kind(), error.message().to_owned()),
    }
}

/// The text of a result that should be a success.
pub(crate) fn text(result: &ToolResult) -> String {
    match &result.outcome {
        Ok(output) => output.texts().collect(),
        Err(error) => panic!("expected a success, got {}: {}", error.kind(), error.message()),
    }
}

/// A name that drafts have.
fn is_temporary(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().strip_prefix(".haft-").is_some_and(|rest| rest.len() == 32)
}

pub(crate) fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
