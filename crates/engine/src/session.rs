//! Who is calling: an agent in a session, with its access, its machine, and what the session has seen so far.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{Access, Approver, Dialect, Host, ProgressSink, RuleKeeper, SeenFiles};
use haft_policy::{Caller, Sender};
use tokio_util::sync::CancellationToken;

use crate::approvals::Questions;
use crate::permissions::PermissionBroker;
use crate::stages::guard::{LoopGuard, LoopLimits};
use crate::stages::taint::Taint;

/// What happens when a call would complete private data + untrusted content + a way out; strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum TaintPolicy {
    /// Nothing.
    Off,
    /// A person is asked, whatever else allows it.
    #[default]
    Ask,
    /// It does not happen.
    Deny,
}

/// A session. Cheap to clone; clones share the guards' memory.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    id: Arc<str>,
    caller: Caller,
    dialect: Dialect,
    host: Arc<dyn Host>,
    workspace: PathBuf,
    approver: Option<Arc<dyn Approver>>,
    keeper: Option<Arc<dyn RuleKeeper>>,
    questions: Arc<Questions>,
    permissions: PermissionBroker,
    progress: Option<Arc<dyn ProgressSink>>,
    cancel: CancellationToken,
    /// What stops it besides: whatever stops the session that started it.
    stopped_by: Vec<CancellationToken>,
    taint_policy: TaintPolicy,
    watches_loops: bool,
    loop_guard: Mutex<LoopGuard>,
    /// Shared with the session that started it: what one has read, the other may send.
    taint: Arc<Mutex<Taint>>,
    /// What it has read and written, as it was then.
    seen: Arc<SeenFiles>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.inner.id).field("agent", &self.inner.caller.agent).finish_non_exhaustive()
    }
}

impl Session {
    /// A session on a machine; the rest has safe defaults: workspace-write, nobody to ask, guards on.
    pub fn builder(host: Arc<dyn Host>) -> SessionBuilder {
        SessionBuilder::new(host)
    }
    /// Who is calling, as a policy sees them.
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
    /// The tools the agent was given; `None` means all.
    pub fn tools(&self) -> Option<&[String]> {
        self.inner.caller.tools.as_deref()
    }
    /// Whether the person in front is explicitly the owner.
    pub fn is_owner(&self) -> bool {
        self.inner.caller.owner
    }
    /// How much it may do.
    pub fn access(&self) -> Access {
        self.inner.caller.access
    }
    /// What its model knows tools by.
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
    /// Stops every call of the session when cancelled; so does that of the session which started it.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.inner.cancel
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
    pub(crate) fn keeper(&self) -> Option<&Arc<dyn RuleKeeper>> {
        self.inner.keeper.as_ref()
    }
    pub(crate) fn questions(&self) -> &Questions {
        &self.inner.questions
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
    pub(crate) fn loop_guard(&self) -> MutexGuard<'_, LoopGuard> {
        self.inner.loop_guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn taint(&self) -> MutexGuard<'_, Taint> {
        self.inner.taint.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// What it has seen of files.
    pub fn seen(&self) -> &Arc<SeenFiles> {
        &self.inner.seen
    }
    /// Whether the loop guard has given up on this run: the caller's loop should end.
    pub fn should_stop(&self) -> bool {
        self.loop_guard().should_stop()
    }
    /// Says that the person has spoken: what was repeated before was not repeated since, and a run that was given up may begin
    /// again.
    pub fn begin_turn(&self) {
        self.loop_guard().forget();
    }
}

/// Makes a [`Session`].
pub struct SessionBuilder {
    inner: Inner,
    parent: Option<Session>,
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionBuilder")
    }
}

impl SessionBuilder {
    fn new(host: Arc<dyn Host>) -> Self {
        Self {
            inner: Inner {
                id: Arc::from(uuid::Uuid::now_v7().to_string()),
                caller: Caller::default(),
                dialect: Dialect::default(),
                host,
                workspace: PathBuf::new(),
                approver: None,
                keeper: None,
                questions: Arc::default(),
                permissions: PermissionBroker::new(),
                progress: None,
                cancel: CancellationToken::new(),
                taint_policy: TaintPolicy::default(),
                watches_loops: true,
                loop_guard: Mutex::new(LoopGuard::new(Some(LoopLimits::default()))),
                taint: Arc::default(),
                seen: Arc::default(),
                stopped_by: Vec::new(),
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
    /// Says that the person in front is the owner.
    pub fn owner(mut self) -> Self {
        self.inner.caller.owner = true;
        self
    }
    /// Sets the access level.
    pub fn access(mut self, access: Access) -> Self {
        self.inner.caller.access = access;
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
    /// Says how many agents up the line the person is.
    pub fn depth(mut self, depth: u32) -> Self {
        self.inner.caller.depth = depth;
        self
    }
    /// Makes it a session of a sub-agent: it has nothing that the session which started it has not, what either of them has
    /// seen counts for both, and it ends with the other.
    pub fn started_by(mut self, parent: &Session) -> Self {
        self.inner.caller.parent = Some(Arc::new(parent.caller().clone()));
        // They ask the same person, so they wait for each other.
        self.inner.questions = Arc::clone(&parent.inner.questions);
        self.inner.taint = Arc::clone(&parent.inner.taint);
        self.parent = Some(parent.clone());
        self
    }
    /// Makes it go on where another left off, with another model or another access level: what was seen stays seen, and what the
    /// person allowed for the session stays allowed.
    pub fn continuing(mut self, before: &Session) -> Self {
        self.inner.questions = Arc::clone(&before.inner.questions);
        self.inner.taint = Arc::clone(&before.inner.taint);
        self.inner.id = Arc::clone(&before.inner.id);
        self.inner.seen = Arc::clone(&before.inner.seen);
        self
    }
    /// Says where the access level stands, for whoever asks why.
    pub fn access_from(mut self, place: haft_policy::Place) -> Self {
        self.inner.caller.access_place = place;
        self
    }
    /// Says that the person in front is not the owner.
    pub fn guest(mut self) -> Self {
        self.inner.caller.owner = false;
        self
    }
    /// Names the folder, for history.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.inner.workspace = folder.into();
        self
    }
    /// Who answers an ask; without one, an ask is a denial.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.inner.approver = Some(approver);
        self
    }
    /// Who saves the rules that a person allows for good; without one, they hold for the session.
    pub fn keeper(mut self, keeper: Arc<dyn RuleKeeper>) -> Self {
        self.inner.keeper = Some(keeper);
        self
    }
    /// The broker of host permissions, shared with whoever binds the platform to it.
    pub fn permissions(mut self, broker: PermissionBroker) -> Self {
        self.inner.permissions = broker;
        self
    }
    /// Who sees progress.
    pub fn progress(mut self, sink: Arc<dyn ProgressSink>) -> Self {
        self.inner.progress = Some(sink);
        self
    }
    /// The token that stops the session; calls get children of it.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.inner.cancel = token;
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
        self.inner.loop_guard = Mutex::new(LoopGuard::new(limits));
        self
    }
    /// Done.
    pub fn build(mut self) -> Session {
        self.inner.caller.inherit();
        if let Some(Session { inner: parent }) = self.parent {
            self.inner.taint_policy = self.inner.taint_policy.max(parent.taint_policy);
            self.inner.stopped_by.clone_from(&parent.stopped_by);
            self.inner.stopped_by.push(parent.cancel.clone());
        }
        Session { inner: Arc::new(self.inner) }
    }
}
