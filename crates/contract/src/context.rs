//! What a tool is given: while planning, and while running.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::capability::{Clocks, Files, Http, Notices, Processes, Spills};
use crate::committing::no_change_sets;
use crate::{
    BoxFuture, ChangeSet, Connect, Dialect, Effect, Form, Host, JobStatus, Line, LineRequest, Location, Plan, PreImage, SeenFiles,
    SpillWriter, ToolError,
};

/// Who and what a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInfo {
    /// The id of the call.
    pub id: String,
    /// The canonical name of the tool.
    pub tool: String,
    /// The session it belongs to.
    pub session: Arc<str>,
    /// The agent that asked.
    pub agent: Arc<str>,
}

/// What a tool may use to plan: resolution only, nothing that changes anything.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    host: &'a dyn Host,
    session: &'a str,
}

impl std::fmt::Debug for PlanContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanContext")
    }
}

impl<'a> PlanContext<'a> {
    /// For the engine.
    pub fn new(host: &'a dyn Host) -> Self {
        Self { host, session: "" }
    }
    /// For a call of this session.
    pub fn in_session(self, session: &'a str) -> Self {
        Self { session, ..self }
    }
    /// The session that the call belongs to.
    pub fn session(&self) -> &str {
        self.session
    }
    /// The jobs of the session, oldest first, so that what is done to one can be judged by what it is.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.host.processes().jobs(self.session).iter().map(|job| job.status()).collect()
    }
    /// Resolves a path, so that it can stand in the plan.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<Location, ToolError> {
        self.host.files().locate(path.as_ref())
    }
    /// Parses a URL, so that the connection can stand in the plan.
    pub fn connect(&self, method: &str, url: &str) -> Result<Connect, ToolError> {
        self.host.http().locate(method, url)
    }
    /// Resolves a path that is meant itself, even if it is a link; none is followed.
    pub fn locate_entry(&self, path: impl AsRef<Path>) -> Result<Location, ToolError> {
        self.host.files().locate_entry(path.as_ref())
    }
    /// A change set that waits to be committed, so that what it changes can stand in the plan.
    pub fn change_set(&self, id: &str) -> Result<Arc<ChangeSet>, ToolError> {
        self.host.processes().change_sets().ok_or_else(no_change_sets)?.find(id)
    }
    /// Reads a line of shell, so that what it does can stand in the plan.
    pub fn line(&self, request: &LineRequest) -> Result<Line, ToolError> {
        self.host.processes().plan(request)
    }
}

/// Something to show while a call runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// In words.
    pub message: String,
    /// Structured, for programs.
    pub details: Option<Value>,
}

impl Progress {
    /// Progress in words.
    pub fn message(message: impl Into<String>) -> Self {
        Self { message: message.into(), details: None }
    }
}

/// Receives progress.
pub trait ProgressSink: Send + Sync {
    /// Called for each update of a running call; must not block.
    fn progress(&self, call: &CallInfo, progress: Progress);
}

/// Decides on an effect that could not be planned, such as the next hop of a redirect.
pub trait Gate: Send + Sync {
    /// Allowed only if the session's policy allows it without asking.
    fn allows(&self, call: &CallInfo, effect: &Effect) -> Result<(), ToolError>;
}

/// Keeps what a call needs to be taken back, and what is too large for the model.
pub trait Journal: Send + Sync {
    /// Keeps a pre-image. Returns only when it is safe: the change happens after.
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>>;
    /// Forgets the pre-image that was kept for this path and this [`after`](PreImage::after): the change did not happen.
    fn withdraw<'a>(&'a self, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Opens a spill. Secrets are redacted on the way.
    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>>;
}

/// What a running tool may use. Every capability reaches exactly what the plan says; cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    call: Arc<CallInfo>,
    plan: Plan,
    host: Arc<dyn Host>,
    cancel: CancellationToken,
    gate: Arc<dyn Gate>,
    journal: Arc<dyn Journal>,
    progress: Option<Arc<dyn ProgressSink>>,
    dialect: Dialect,
    form: Option<Form>,
    seen: Arc<SeenFiles>,
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext").field("call", &self.inner.call).finish_non_exhaustive()
    }
}

impl ToolContext {
    /// For the engine, and for tests of a tool.
    pub fn new(
        call: impl Into<Arc<CallInfo>>,
        plan: Plan,
        host: Arc<dyn Host>,
        cancel: CancellationToken,
        gate: Arc<dyn Gate>,
        journal: Arc<dyn Journal>,
        progress: Option<Arc<dyn ProgressSink>>,
    ) -> Self {
        let (dialect, form, seen) = (Dialect::Haft, None, Arc::default());
        Self { inner: Arc::new(Inner { call: call.into(), plan, host, cancel, gate, journal, progress, dialect, form, seen }) }
    }
    /// For the engine: what the session's model knows tools by, and the form of this tool that it called.
    pub fn called_as(mut self, dialect: Dialect, form: Option<Form>) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        (inner.dialect, inner.form) = (dialect, form);
        self
    }
    /// For the engine: what the session has seen of files.
    pub fn remembering(mut self, seen: Arc<SeenFiles>) -> Self {
        Arc::make_mut(&mut self.inner).seen = seen;
        self
    }
    /// What the session has seen of files.
    pub fn seen(&self) -> &SeenFiles {
        &self.inner.seen
    }
    /// What the session's model knows tools by.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }
    /// A parameter of this call with a canonical value, as its model writes them: `offset=10`. Results that tell the model
    /// how to go on must speak its words, and count as it does.
    pub fn written(&self, parameter: &str, value: u64) -> String {
        self.inner.form.map_or_else(|| format!("{parameter}={value}"), |form| form.written(parameter, value))
    }
    /// Who and what this call is.
    pub fn call(&self) -> &CallInfo {
        &self.inner.call
    }
    /// What was planned and permitted.
    pub fn plan(&self) -> &Plan {
        &self.inner.plan
    }
    /// Files, as planned.
    pub fn fs(&self) -> Files<'_> {
        Files { cx: self }
    }
    /// The network, as planned.
    pub fn http(&self) -> Http<'_> {
        Http { cx: self }
    }
    /// Programs, as planned.
    pub fn process(&self) -> Processes<'_> {
        Processes { cx: self }
    }
    /// Notices, as planned.
    pub fn notices(&self) -> Notices<'_> {
        Notices { cx: self }
    }
    /// The time and the machine's facts: harmless, so they need no plan.
    pub fn clock(&self) -> Clocks<'_> {
        Clocks { host: &*self.inner.host }
    }
    /// A place for output that is too large for the model.
    pub fn spills(&self) -> Spills<'_> {
        Spills { cx: self }
    }
    /// Resolves when the call should stop.
    pub async fn cancelled(&self) {
        self.inner.cancel.cancelled().await;
    }
    /// Whether the call should stop.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancel.is_cancelled()
    }
    /// The token itself, for libraries that take one.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.cancel
    }
    /// Shows progress.
    pub fn progress(&self, progress: Progress) {
        if let Some(sink) = &self.inner.progress {
            sink.progress(&self.inner.call, progress);
        }
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.inner.host
    }
    pub(crate) fn gate(&self) -> &dyn Gate {
        &*self.inner.gate
    }
    pub(crate) fn journal(&self) -> &dyn Journal {
        &*self.inner.journal
    }
}
