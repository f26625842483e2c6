//! A session: an agent, its access, its machine, and the state of its guards.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_contract::{
    Access, CallToken, Dialect, SeenFiles, TaintPolicy, TurnLimit,
    ports::{Approver, Host, ProgressSink, RuleStore},
};
use haft_policy::{Caller, Sender};
use tokio_util::sync::CancellationToken;

use crate::approvals::QuestionTurns;
use crate::permissions::PermissionBroker;
use crate::stages::guard::{LoopDetector, LoopLimits};
use crate::stages::taint::{RecordedTaint, SessionTaint};

/// A session. Cheap to clone; clones share the guards' memory.
#[derive(Clone)]
pub struct Session {
    inner: Arc<SessionParts>,
}

struct SessionParts {
    id: Arc<str>,
    caller: Caller,
    dialect: Dialect,
    host: Arc<dyn Host>,
    workspace: PathBuf,
    approver: Option<Arc<dyn Approver>>,
    rule_store: Option<Arc<dyn RuleStore>>,
    questions: Arc<QuestionTurns>,
    permissions: PermissionBroker,
    progress: Option<Arc<dyn ProgressSink>>,
    cancel: Arc<CancellationToken>,
    /// Tokens of the sessions above it, which stop it as well.
    stopped_by: Vec<CancellationToken>,
    taint_policy: TaintPolicy,
    watches_loops: bool,
    loop_guard: Mutex<LoopDetector>,
    /// Shared with the parent session: data that one has read, the other may send.
    taint: Arc<Mutex<SessionTaint>>,
    /// Fingerprints of the files that it has read and written.
    seen: Arc<SeenFiles>,
    link: SessionLink,
}

/// Finds a session, or the one that continues it, without keeping it alive: for what runs on after a call.
#[derive(Clone, Default)]
pub struct SessionLink(Arc<Mutex<Weak<SessionParts>>>);

impl SessionLink {
    /// The session, unless it has ended.
    pub fn current(&self) -> Option<Session> {
        let link = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        link.upgrade().map(|inner| Session { inner })
    }
    fn set(&self, session: &Session) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&session.inner);
    }
}

haft_contract::opaque_debug!(SessionLink);
haft_contract::opaque_debug!(Session: id = inner.id, agent = inner.caller.agent);

impl Session {
    /// A session on a machine; the rest has safe defaults: workspace-write, no approver, guards on.
    pub fn builder(host: Arc<dyn Host>) -> SessionBuilder {
        SessionBuilder::new(host)
    }
    /// The caller, as a policy sees it.
    pub fn caller(&self) -> &Caller {
        &self.inner.caller
    }
    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.inner.id
    }
    /// The agent's name.
    pub fn agent(&self) -> &Arc<str> {
        &self.inner.caller.agent
    }
    /// Its access level.
    pub fn access(&self) -> Access {
        self.inner.caller.access
    }
    /// The names and units that its model knows tools by.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }
    /// The machine.
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.inner.host
    }
    /// The folder it works in, for history.
    pub fn workspace(&self) -> &Path {
        &self.inner.workspace
    }
    /// Stops every call of the session when cancelled; so does the token of its parent session.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.cancel
    }
    /// A token for one call of the session.
    pub(crate) fn call_token(&self) -> CallToken {
        CallToken::child_of(&self.inner.cancel)
    }
    pub(crate) fn stopped_by(&self) -> &[CancellationToken] {
        &self.inner.stopped_by
    }
    /// The broker of host permissions.
    pub fn permissions(&self) -> &PermissionBroker {
        &self.inner.permissions
    }
    pub(crate) fn approver(&self) -> Option<&Arc<dyn Approver>> {
        self.inner.approver.as_ref()
    }
    pub(crate) fn rule_store(&self) -> Option<&Arc<dyn RuleStore>> {
        self.inner.rule_store.as_ref()
    }
    pub(crate) fn questions(&self) -> &QuestionTurns {
        &self.inner.questions
    }
    /// Finds this session, or the one that continues it, without keeping it alive.
    pub fn link(&self) -> &SessionLink {
        &self.inner.link
    }
    pub(crate) fn progress(&self) -> Option<&Arc<dyn ProgressSink>> {
        self.inner.progress.as_ref()
    }
    pub(crate) fn taint_policy(&self) -> TaintPolicy {
        self.inner.taint_policy
    }
    pub(crate) fn watches_loops(&self) -> bool {
        self.inner.watches_loops
    }
    // The guards' state is plain counters: after a panic elsewhere it is still consistent.
    pub(crate) fn loop_guard(&self) -> MutexGuard<'_, LoopDetector> {
        self.inner.loop_guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn taint(&self) -> MutexGuard<'_, SessionTaint> {
        self.inner.taint.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whether it, or a session that it shares its taint with, has seen untrusted content.
    pub fn has_seen_untrusted(&self) -> bool {
        self.taint().has_untrusted()
    }
    /// What it, or a session that it shares its taint with, has brought in.
    pub fn brought_in(&self) -> RecordedTaint {
        self.taint().summary()
    }
    /// Restores what it has brought in in another process.
    pub fn restore_taint(&self, before: RecordedTaint) {
        self.taint().restore(before);
    }
    /// The files that it has seen.
    pub fn seen_files(&self) -> &Arc<SeenFiles> {
        &self.inner.seen
    }
    /// Whether the loop guard has given up on this run: the caller's loop should end.
    pub fn should_stop(&self) -> bool {
        self.loop_guard().should_stop()
    }
    /// Begins a turn of the user: the loop guard forgets earlier repeats, a run that it has stopped may begin again, and limits that
    /// skills set on tools end.
    pub fn begin_turn(&self) {
        self.loop_guard().forget();
        self.caller().turn_tools.begin();
    }
}

/// Makes a [`Session`].
pub struct SessionBuilder {
    inner: SessionParts,
    parent: Option<Session>,
}

haft_contract::opaque_debug!(SessionBuilder);

impl SessionBuilder {
    fn new(host: Arc<dyn Host>) -> Self {
        Self {
            inner: SessionParts {
                id: Arc::from(haft_store::new_uuid().to_string()),
                caller: Caller::default(),
                dialect: Dialect::default(),
                host,
                workspace: PathBuf::new(),
                approver: None,
                rule_store: None,
                questions: Arc::default(),
                permissions: PermissionBroker::new(),
                progress: None,
                cancel: Arc::default(),
                taint_policy: TaintPolicy::default(),
                watches_loops: true,
                loop_guard: Mutex::new(LoopDetector::new(Some(LoopLimits::default()))),
                taint: Arc::default(),
                seen: Arc::default(),
                stopped_by: Vec::new(),
                link: SessionLink::default(),
            },
            parent: None,
        }
    }
    /// Sets the id.
    pub fn id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.inner.id = id.into();
        self
    }
    /// Names the agent.
    pub fn agent(mut self, name: impl Into<Arc<str>>) -> Self {
        self.inner.caller.agent = name.into();
        self
    }
    /// Gives the agent these tools only.
    pub fn tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.inner.caller.select(names.into_iter().map(Into::into));
        self
    }
    /// Makes the user the owner.
    pub fn owner(mut self) -> Self {
        self.inner.caller.owner = true;
        self
    }
    /// Sets the access level.
    pub fn access(mut self, access: Access) -> Self {
        self.inner.caller.access = access;
        self
    }
    /// Limits the tools of the whole session.
    pub fn limited(self, limit: TurnLimit) -> Self {
        self.inner.caller.turn_tools.limit(limit.for_session());
        self
    }
    /// Lowers the access level to this one, if it is higher.
    pub fn access_at_most(mut self, access: Access) -> Self {
        self.inner.caller.access = self.inner.caller.access.min(access);
        self
    }
    /// The model that calls, and its provider.
    pub fn model(mut self, provider: impl Into<String>, model: Option<String>) -> Self {
        (self.inner.caller.provider, self.inner.caller.model) = (Some(provider.into()), model);
        self
    }
    /// The names and units that the model was shown tools in: calls by those names are read that way.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.inner.dialect = dialect;
        self
    }
    /// The channel that the message came from: `telegram`, or `telegram:-100` for one group of it.
    pub fn channel(mut self, channel: impl Into<String>) -> Self {
        self.inner.caller.channel = Some(channel.into());
        self
    }
    /// Who sent it.
    pub fn sender(mut self, sender: Sender) -> Self {
        self.inner.caller.sender = Some(sender);
        self
    }
    /// Says that the whole session runs in a sandbox.
    pub fn sandboxed(mut self) -> Self {
        self.inner.caller.sandboxed = true;
        self
    }
    /// Sets how many agents are between the user and this one.
    pub fn depth(mut self, depth: u32) -> Self {
        self.inner.caller.depth = depth;
        self
    }
    /// Makes it a session of a sub-agent: it has nothing that its parent has not, both share their taint, and it ends with its
    /// parent.
    pub fn started_by(mut self, parent: &Session) -> Self {
        self.inner.caller.parent = Some(Arc::new(parent.caller().clone()));
        // They ask the same user, so they wait for each other.
        self.inner.questions = Arc::clone(&parent.inner.questions);
        self.inner.taint = Arc::clone(&parent.inner.taint);
        self.parent = Some(parent.clone());
        self
    }
    /// Continues another session with another model or access level: its taint, seen files and session grants stay.
    pub fn continuing(mut self, before: &Session) -> Self {
        self.inner.questions = Arc::clone(&before.inner.questions);
        self.inner.caller.grants = before.caller().grants.clone();
        self.inner.taint = Arc::clone(&before.inner.taint);
        self.inner.id = Arc::clone(&before.inner.id);
        self.inner.seen = Arc::clone(&before.inner.seen);
        self.inner.link = before.inner.link.clone();
        self.inner.caller.turn_tools = Arc::clone(&before.inner.caller.turn_tools);
        // Agents that the session before started have at most what this one has.
        self.inner.caller.level = Arc::clone(&before.inner.caller.level);
        self
    }
    /// Sets where the access level is configured, for explanations.
    pub fn access_from(mut self, place: haft_policy::SourceSpan) -> Self {
        self.inner.caller.access_span = place;
        self
    }
    /// Sets every key that limits the access level, for advice.
    pub fn access_limits(mut self, limits: Vec<haft_policy::AccessLimit>) -> Self {
        self.inner.caller.access_limits = limits;
        self
    }
    /// Makes the user a guest, not the owner.
    pub fn guest(mut self) -> Self {
        self.inner.caller.owner = false;
        self
    }
    /// Names the folder, for history.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.inner.workspace = folder.into();
        self
    }
    /// Sets the approver; without one, a call that needs approval is denied.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.inner.approver = Some(approver);
        self
    }
    /// Sets the store of rules that a user always allows; without one, they hold for the session.
    pub fn rule_store(mut self, store: Arc<dyn RuleStore>) -> Self {
        self.inner.rule_store = Some(store);
        self
    }
    /// Sets the broker of host permissions, shared with the program that binds the platform to it.
    pub fn permissions(mut self, broker: PermissionBroker) -> Self {
        self.inner.permissions = broker;
        self
    }
    /// Sets the receiver of progress.
    pub fn progress(mut self, sink: Arc<dyn ProgressSink>) -> Self {
        self.inner.progress = Some(sink);
        self
    }
    /// The token that stops the session; calls get children of it.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.inner.cancel = Arc::new(token);
        self
    }
    /// What the taint guard does.
    pub fn taint(mut self, policy: TaintPolicy) -> Self {
        self.inner.taint_policy = policy;
        self
    }
    /// When the loop guard notes, blocks and stops; `None` switches it off.
    pub fn loop_limits(mut self, limits: Option<LoopLimits>) -> Self {
        self.inner.watches_loops = limits.is_some();
        self.inner.loop_guard = Mutex::new(LoopDetector::new(limits));
        self
    }
    /// The session.
    pub fn build(mut self) -> Session {
        self.inner.caller.inherit();
        self.inner.caller.level.set(self.inner.caller.access);
        if let Some(Session { inner: parent }) = self.parent {
            self.inner.taint_policy = self.inner.taint_policy.max(parent.taint_policy);
            self.inner.stopped_by.clone_from(&parent.stopped_by);
            self.inner.stopped_by.push(CancellationToken::clone(&parent.cancel));
        }
        let session = Session { inner: Arc::new(self.inner) };
        session.inner.link.set(&session);
        session
    }
}
