//! An engine on a fake machine.

use std::sync::Arc;

use haft_contract::{Arguments, ErrorKind, ToolCall, ToolResult, ToolSource};
use haft_engine::{Engine, EngineBuilder, Registry, Session, SessionBuilder};
use haft_store::{CallFilter, CallLog, CallRecord, FileBlobs, InMemoryCallLog};
use haft_testkit::{FakeHost, ScriptedTool};
use tempfile::TempDir;

pub(crate) struct Harness {
    pub(crate) engine: Engine,
    pub(crate) session: Session,
    pub(crate) host: Arc<FakeHost>,
    pub(crate) log: Arc<InMemoryCallLog>,
    _folder: TempDir,
}

pub(crate) struct Setup {
    tools: Vec<(ScriptedTool, ToolSource)>,
    engine: Box<dyn FnOnce(EngineBuilder) -> EngineBuilder>,
    session: Box<dyn FnOnce(SessionBuilder) -> SessionBuilder>,
}

/// Tools are registered as a plugin's unless `built_in` says otherwise.
pub(crate) fn plugin() -> ToolSource {
    ToolSource::Plugin("test".into())
}

pub(crate) fn setup() -> Setup {
    Setup { tools: Vec::new(), engine: Box::new(|builder| builder), session: Box::new(|builder| builder) }
}

impl Setup {
    pub(crate) fn tool(mut self, tool: ScriptedTool) -> Self {
        self.tools.push((tool, plugin()));
        self
    }
    pub(crate) fn built_in(mut self, tool: ScriptedTool) -> Self {
        self.tools.push((tool, ToolSource::BuiltIn));
        self
    }
    pub(crate) fn engine(mut self, change: impl FnOnce(EngineBuilder) -> EngineBuilder + 'static) -> Self {
        self.engine = Box::new(change);
        self
    }
    pub(crate) fn session(mut self, change: impl FnOnce(SessionBuilder) -> SessionBuilder + 'static) -> Self {
        self.session = Box::new(change);
        self
    }
    pub(crate) fn build(self) -> Harness {
        let folder = tempfile::tempdir().unwrap();
        let registry = Arc::new(Registry::new());
        for (tool, source) in self.tools {
            registry.register(tool.shared(), source).unwrap();
        }
        let log = Arc::new(InMemoryCallLog::default());
        let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
        let engine = (self.engine)(Engine::builder(registry, Arc::clone(&log) as Arc<dyn CallLog>, blobs)).build();
        let host = FakeHost::new();
        let session = (self.session)(Session::builder(Arc::clone(&host) as _)).build();
        Harness { engine, session, host, log, _folder: folder }
    }
}

impl Harness {
    pub(crate) async fn call(&self, tool: &str, arguments: impl Into<Arguments>) -> ToolResult {
        self.engine.run(ToolCall::new("call", tool, arguments), &self.session).await
    }
    pub(crate) async fn history(&self) -> Vec<CallRecord> {
        self.log.list(CallFilter::default()).await.unwrap()
    }
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
