//! What a tool is given: while planning, and while running.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::automation_use::{AutomationUse, GatewayUse};
use crate::browser_use::BrowserUse;
use crate::canvas_use::CanvasUse;
use crate::capability::{Clocks, Files, Http, Notices, Processes, Spills};
use crate::channel_use::ChannelUse;
use crate::commit::no_change_sets;
use crate::conversation::{PlanningCapability, SettingsCapability, SkillCapability, UserCapability};
use crate::media_use::MediaUse;
use crate::memory_use::MemoryUse;
use crate::node_use::NodeUse;
use crate::ports::{EgressGate, Gate, Host, Journal, PageCache, ProgressSink, Services, SmallModel};
use crate::session_use::{SessionUse, SubAgentUse, no_sub_agents};
use crate::{
    Access, CallToken, ChangeSet, CommandRequest, Connect, Dialect, Form, JobStatus, Location, Plan, SeenFiles, ShellCommand,
    SubAgentRequest, ToolError, TurnTools, WebSettings,
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
    access: Access,
    is_unattended: bool,
}

crate::opaque_debug!(PlanContext<'_>);

impl<'a> PlanContext<'a> {
    /// For the engine.
    pub fn new(host: &'a dyn Host) -> Self {
        Self { host, session: "", access: Access::FullAccess, is_unattended: false }
    }
    /// For a call of this session.
    pub fn in_session(self, session: &'a str) -> Self {
        Self { session, ..self }
    }
    /// For a caller that has this access.
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }
    /// For a session in which no one can answer a question.
    pub fn unattended(self) -> Self {
        Self { is_unattended: true, ..self }
    }
    /// The access that the caller has; what a call may do is still decided by its effects.
    pub fn access(&self) -> Access {
        self.access
    }
    /// The session that the call belongs to.
    pub fn session(&self) -> &str {
        self.session
    }
    /// The jobs of the session, oldest first, so that what is done to one can be checked by what it is.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.host.processes().jobs(self.session).iter().map(|job| job.status()).collect()
    }
    /// Resolves a path, for the plan.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<Location, ToolError> {
        self.host.files().locate(path.as_ref())
    }
    /// Parses a URL, for the plan.
    pub fn connect(&self, method: &str, url: &str) -> Result<Connect, ToolError> {
        self.host.http().locate(method, url)
    }
    /// Parses a URL of the configured search provider, for the plan. A URL of another origin is an ordinary connection.
    pub fn connect_search(&self, method: &str, url: &str) -> Result<Connect, ToolError> {
        let mut connect = self.connect(method, url)?;
        let endpoint = self.web().search.as_ref().ok().and_then(|endpoint| self.connect(method, &endpoint.url).ok());
        connect.searches = endpoint.is_some_and(|endpoint| endpoint.covers(&connect));
        Ok(connect)
    }
    /// Settings of the web tools.
    pub fn web(&self) -> &'a WebSettings {
        self.host.web()
    }
    pub(crate) fn host(&self) -> &'a dyn Host {
        self.host
    }
    /// Services of the conversation.
    pub fn services(&self) -> &'a Services {
        self.host.services()
    }
    /// Resolves a path that is meant itself, even if it is a link; none is followed.
    pub fn locate_entry(&self, path: impl AsRef<Path>) -> Result<Location, ToolError> {
        self.host.files().locate_entry(path.as_ref())
    }
    /// The link itself, if the last name of a path is one: to remove or move it.
    pub fn locate_link(&self, path: impl AsRef<Path>) -> Result<Option<Location>, ToolError> {
        self.host.files().locate_link(path.as_ref())
    }
    /// A staged change set, whose changes become part of the plan.
    pub fn change_set(&self, id: &str) -> Result<Arc<ChangeSet>, ToolError> {
        self.host.processes().change_sets().ok_or_else(no_change_sets)?.find(id)
    }
    /// Checks a sub-agent that is to be started; returns the plan to start it.
    pub fn sub_agent(&self, request: &SubAgentRequest) -> Result<Plan, ToolError> {
        let names = self.host.services().sub_agents.as_ref().ok_or_else(no_sub_agents)?.check(request)?;
        Ok(names.into_iter().fold(Plan::nothing(), Plan::spawn))
    }
    /// Plans a command, whose effects become part of the plan. In a read-only session its sandbox is read-only, too.
    pub fn command(&self, request: &CommandRequest) -> Result<ShellCommand, ToolError> {
        let read_only = request.read_only || self.access == Access::ReadOnly;
        self.host.processes().plan(&CommandRequest { read_only, unattended: self.is_unattended, ..request.clone() })
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

/// What a running tool may use. Every capability reaches exactly what the plan says; cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    inner: Arc<ContextParts>,
}

/// What a [`ToolContext`] is made of.
#[derive(Clone)]
pub struct ContextParts {
    /// Who and what the call is.
    pub call: Arc<CallInfo>,
    /// What was planned and permitted.
    pub plan: Plan,
    /// The machine.
    pub host: Arc<dyn Host>,
    /// Cancelled when the call is to stop, and at its end.
    pub cancel: CallToken,
    /// Decides on effects beyond the plan.
    pub gate: Arc<dyn Gate>,
    /// Takes pre-images and spills.
    pub journal: Arc<dyn Journal>,
    /// Shows progress.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// What the session's model knows tools by.
    pub dialect: Dialect,
    /// The form of the tool that was called.
    pub form: Option<Form>,
    /// What the session has seen of files.
    pub seen: Arc<SeenFiles>,
    /// The limits of the session's turn.
    pub turn_tools: Arc<TurnTools>,
    /// What decides on connections of the planned command that its plan does not name.
    pub egress: Option<Arc<dyn EgressGate>>,
}

crate::opaque_debug!(ContextParts: call = call);
crate::opaque_debug!(ToolContext: call = inner.call);

impl From<ContextParts> for ToolContext {
    fn from(parts: ContextParts) -> Self {
        Self { inner: Arc::new(parts) }
    }
}

impl ToolContext {
    /// For tests of a tool; an engine has [`ContextParts`].
    pub fn new(
        call: impl Into<Arc<CallInfo>>,
        plan: Plan,
        host: Arc<dyn Host>,
        cancel: CancellationToken,
        gate: Arc<dyn Gate>,
        journal: Arc<dyn Journal>,
        progress: Option<Arc<dyn ProgressSink>>,
    ) -> Self {
        let (call, dialect, form, egress) = (call.into(), Dialect::Haft, None, None);
        let (seen, turn_tools) = (Arc::default(), Arc::default());
        let cancel = cancel.into();
        ContextParts { call, plan, host, cancel, gate, journal, progress, dialect, form, seen, turn_tools, egress }.into()
    }
    /// The same, called in this form by a model that knows tools by these names.
    pub fn called_as(mut self, dialect: Dialect, form: Option<Form>) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        (inner.dialect, inner.form) = (dialect, form);
        self
    }
    /// The same, with what a session has seen of files.
    pub fn remembering(mut self, seen: Arc<SeenFiles>) -> Self {
        Arc::make_mut(&mut self.inner).seen = seen;
        self
    }
    /// The same, with the limits of a turn.
    pub fn limited_by(mut self, turn_tools: Arc<TurnTools>) -> Self {
        Arc::make_mut(&mut self.inner).turn_tools = turn_tools;
        self
    }
    /// What the session has seen of files.
    pub fn seen_files(&self) -> &SeenFiles {
        &self.inner.seen
    }
    /// What the session's model knows tools by.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }
    /// A parameter of this call with a canonical value, as its model writes them: `offset=10`. Results that tell the model
    /// how to continue must speak its words, and count as it does.
    pub fn write_parameter(&self, parameter: &str, value: u64) -> String {
        self.inner.form.map_or_else(|| format!("{parameter}={value}"), |form| form.write_parameter(parameter, value))
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
    /// Sub-agents, as planned.
    pub fn sub_agents(&self) -> SubAgentUse<'_> {
        SubAgentUse { cx: self }
    }
    /// Other conversations, as planned.
    pub fn sessions(&self) -> SessionUse<'_> {
        SessionUse { cx: self }
    }
    /// The time and the machine's facts: harmless, so they need no plan.
    pub fn clock(&self) -> Clocks<'_> {
        Clocks { host: &*self.inner.host }
    }
    /// A place for output that is too large for the model.
    pub fn spills(&self) -> Spills<'_> {
        Spills { cx: self }
    }
    /// Settings of the web tools.
    pub fn web(&self) -> &WebSettings {
        self.inner.host.web()
    }
    /// Messages to the user, as planned.
    pub fn user(&self) -> UserCapability<'_> {
        UserCapability { cx: self }
    }
    /// The settings of the program, as planned.
    pub fn settings(&self) -> SettingsCapability<'_> {
        SettingsCapability { cx: self }
    }
    /// The plans of the conversation: they belong to its session, so they need no plan of a call.
    pub fn planning(&self) -> PlanningCapability<'_> {
        PlanningCapability { cx: self }
    }
    /// The skills of the session, as planned.
    pub fn skills(&self) -> SkillCapability<'_> {
        SkillCapability { cx: self }
    }
    /// The memory of the workspace, as planned.
    pub fn memory(&self) -> MemoryUse<'_> {
        MemoryUse { cx: self }
    }
    /// The paired machines, as planned.
    pub fn nodes(&self) -> NodeUse<'_> {
        NodeUse { cx: self }
    }
    /// The channels of the configuration, as planned.
    pub fn channels(&self) -> ChannelUse<'_> {
        ChannelUse { cx: self }
    }
    /// Scheduled jobs, as planned.
    pub fn automation(&self) -> AutomationUse<'_> {
        AutomationUse { cx: self }
    }
    /// Models that look and voices that speak, as planned.
    pub fn media(&self) -> MediaUse<'_> {
        MediaUse { cx: self }
    }
    /// The canvas of the session, as planned.
    pub fn canvas(&self) -> CanvasUse<'_> {
        CanvasUse { cx: self }
    }
    /// The server of the conversation, as planned.
    pub fn gateway(&self) -> GatewayUse<'_> {
        GatewayUse { cx: self }
    }
    /// The browser of the session, as planned.
    pub fn browser(&self) -> BrowserUse<'_> {
        BrowserUse { cx: self }
    }
    /// Where responses are stored for later calls; what is in it came from the web, and holds no state of the session.
    pub fn page_cache(&self) -> Option<&dyn PageCache> {
        self.inner.host.page_cache().filter(|_| !self.is_cancelled())
    }
    /// The small model of the conversation, if one is configured. It answers to this call alone, so it needs no plan.
    pub fn small_model(&self) -> Option<&dyn SmallModel> {
        self.inner.host.services().small_model.as_deref().filter(|_| !self.is_cancelled())
    }
    /// Resolves when the call should stop.
    pub async fn cancelled(&self) {
        self.inner.cancel.token().cancelled().await;
    }
    /// Whether the call should stop.
    pub fn is_cancelled(&self) -> bool {
        self.inner.cancel.is_cancelled()
    }
    /// The token itself, for libraries that take one.
    pub fn cancellation(&self) -> &CancellationToken {
        self.inner.cancel.token()
    }
    /// Shows progress, as long as the call lasts.
    pub fn progress(&self, progress: Progress) {
        if let Some(sink) = self.inner.progress.as_ref().filter(|_| !self.is_cancelled()) {
            sink.progress(&self.inner.call, progress);
        }
    }

    pub(crate) fn mark_untrusted(&self) {
        self.inner.journal.mark_untrusted();
    }
    pub(crate) fn turn_tools(&self) -> &TurnTools {
        &self.inner.turn_tools
    }
    pub(crate) fn host(&self) -> &dyn Host {
        &*self.inner.host
    }
    pub(crate) fn weak_host(&self) -> std::sync::Weak<dyn Host> {
        Arc::downgrade(&self.inner.host)
    }
    pub(crate) fn gate(&self) -> &dyn Gate {
        &*self.inner.gate
    }
    pub(crate) fn egress(&self) -> Option<Arc<dyn EgressGate>> {
        self.inner.egress.clone()
    }
    pub(crate) fn journal(&self) -> &Arc<dyn Journal> {
        &self.inner.journal
    }
}
