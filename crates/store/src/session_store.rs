//! Sessions: their messages, their owners, and their token usage.

mod claim;
mod overview;
mod taint;
mod todos;
mod usage;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::ports::SubAgentStatus;
use haft_contract::{Access, BoxFuture};
use uuid::{NoContext, Timestamp, Uuid};

pub use self::claim::{SessionClaim, SessionOwner};
pub use self::overview::{SessionOverview, StoreRevision};
pub use self::taint::StoredTaint;
pub(crate) use self::todos::MAX_VERSIONS;
pub use self::todos::TodoVersion;
pub use self::usage::{ModelUsage, UsageRecord, UsageSum};
use crate::StoreError;

/// What [`SessionStore::open`] takes for the session that was updated last.
pub(crate) const LAST: &str = "last";

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Unique in the store (UUID v7).
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The agent of the session.
    pub agent: String,
    /// The model, as `provider/model`.
    pub model: Option<String>,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// When it began.
    pub created: SystemTime,
    /// When its newest message was made.
    pub updated: SystemTime,
    /// The session it was forked from, and the number of the first message that was not copied.
    pub parent: Option<(String, u64)>,
    /// Whether it was closed, and nothing was appended since.
    pub closed: bool,
    /// How many messages it has; this is the next one's number.
    pub messages: u64,
    /// The access level that the user chose for it; `None`: that of the configuration.
    pub access: Option<Access>,
}

/// A session that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// See [`SessionRecord::id`].
    pub id: String,
    /// See [`SessionRecord::title`].
    pub title: Option<String>,
    /// See [`SessionRecord::agent`].
    pub agent: String,
    /// See [`SessionRecord::model`].
    pub model: Option<String>,
    /// See [`SessionRecord::workspace`].
    pub workspace: PathBuf,
    /// See [`SessionRecord::created`].
    pub created: SystemTime,
}

impl NewSession {
    /// A session that begins now, with an id of its own.
    pub fn new(agent: impl Into<String>, workspace: &Path) -> Self {
        Self { id: new_id(), title: None, agent: agent.into(), model: None, workspace: workspace.to_owned(), created: SystemTime::now() }
    }

    pub(crate) fn into_record(self) -> SessionRecord {
        let Self { id, title, agent, model, workspace, created } = self;
        SessionRecord {
            id,
            title,
            agent,
            model,
            workspace,
            created,
            updated: created,
            parent: None,
            closed: false,
            messages: 0,
            access: None,
        }
    }
}

pub(crate) fn new_id() -> String {
    new_uuid().to_string()
}

/// A new id, sorted by time. A clock before 1970 counts as 1970.
pub fn new_uuid() -> Uuid {
    if SystemTime::now() < SystemTime::UNIX_EPOCH {
        return Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0));
    }
    Uuid::now_v7()
}

/// One message of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRecord {
    /// The [`SessionRecord::id`] of its session.
    pub session: String,
    /// 0, 1, 2 and so on, without gaps.
    pub number: u64,
    /// What it is: `user`, `assistant`, `results`, `summary`, `note`.
    pub kind: String,
    /// JSON text, which the store does not look into.
    pub body: String,
    /// When it was made.
    pub created: SystemTime,
}

/// A message that is to be appended; the store gives it its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// See [`MessageRecord::kind`].
    pub kind: String,
    /// See [`MessageRecord::body`].
    pub body: String,
    /// See [`MessageRecord::created`].
    pub created: SystemTime,
}

impl NewMessage {
    /// A message that is made now.
    pub fn new(kind: impl Into<String>, body: impl Into<String>) -> Self {
        Self { kind: kind.into(), body: body.into(), created: SystemTime::now() }
    }
}

/// A message that was rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedMessage {
    /// As it was.
    pub message: MessageRecord,
    /// Why it was replaced.
    pub reason: String,
    /// When it was replaced.
    pub replaced: SystemTime,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only those that work in this folder.
    pub workspace: Option<PathBuf>,
    /// Only those with this agent.
    pub agent: Option<String>,
    /// Only those whose title contains this, whatever the case.
    pub title: Option<String>,
    /// Also those of sub-agents, which are not conversations with a user.
    pub with_sub_agents: bool,
    /// At most this many; `None` means all.
    pub limit: Option<usize>,
}

impl SessionFilter {
    /// The test for titles: not SQL's, which folds the case of ASCII alone.
    pub(crate) fn title_test(&self) -> impl Fn(&SessionRecord) -> bool + use<> {
        let wanted = self.title.as_ref().map(|title| title.to_lowercase());
        move |session| {
            let has = |wanted: &String| session.title.as_ref().is_some_and(|title| title.to_lowercase().contains(wanted));
            wanted.as_ref().is_none_or(has)
        }
    }
}

/// Keeps sessions.
///
/// Everything that changes a session resolves with `Ok` when the change survives the end of the process and of the
/// machine, and with an error when nothing of it was done; it is not done later either. A caller that stops waiting
/// before does not know the outcome.
///
/// Sessions are named by their whole id; [`open`](Self::open) finds it. What is asked of one that is not there is
/// [`StoreError::Missing`].
pub trait SessionStore: Send + Sync {
    /// Begins a session without messages. An id that is taken is [`StoreError::Exists`].
    fn create(&self, session: NewSession) -> BoxFuture<'_, Result<SessionRecord, StoreError>>;
    /// The session with this id, or the one with a user that was updated last if it is `last`, or else the only one whose id begins or ends
    /// with this (4 characters or more).
    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SessionRecord, StoreError>>;
    /// Sessions, the one updated last first.
    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionRecord>, StoreError>>;
    /// The same with what each used, and the sub-agent that it is of.
    fn overviews(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionOverview>, StoreError>> {
        Box::pin(overview::one_by_one(self, filter))
    }
    /// Differs after every change of the store, also by another process; `None` if that is not known.
    fn revision(&self) -> Option<StoreRevision> {
        None
    }
    /// Gives a session a title, or takes it away.
    fn rename<'a>(&'a self, session: &'a str, title: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Sets the model.
    fn set_model<'a>(&'a self, session: &'a str, model: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Changes the access level that the user chose for a session. A fork begins with that of its session.
    fn set_access<'a>(&'a self, session: &'a str, access: Option<Access>) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Marks a session as ended, until something is appended.
    fn close<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Removes a session with its messages, the replaced ones too. What it used is still counted for its day; blobs stay.
    /// One that another process claimed is [`StoreError::Busy`].
    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
    /// Makes a session of its own from the messages before number `at`, or from all, and says its id.
    fn fork<'a>(&'a self, session: &'a str, at: Option<u64>) -> BoxFuture<'a, Result<String, StoreError>>;

    /// Appends messages, all or none, and says the number that the next one will get. If the first would get another
    /// number than `expected`, it is [`StoreError::Conflict`]; if another process claimed the session,
    /// [`StoreError::Busy`].
    fn append<'a>(&'a self, session: &'a str, expected: Option<u64>, messages: Vec<NewMessage>) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// Replaces everything from a number on, and says the number that the next message will get. The old messages are
    /// kept as [`replaced`](Self::replaced). A session that another process claimed is [`StoreError::Busy`].
    fn rewrite<'a>(
        &'a self,
        session: &'a str,
        from: u64,
        messages: Vec<NewMessage>,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;
    /// At most `limit` messages from a number on, in order; fewer only at the end.
    fn messages<'a>(&'a self, session: &'a str, from: u64, limit: usize) -> BoxFuture<'a, Result<Vec<MessageRecord>, StoreError>>;
    /// At most `limit` messages that were rewritten, in the order in which that happened.
    fn replaced<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<ReplacedMessage>, StoreError>>;

    /// Claims a session until the claim is dropped or the process ends in any way. A second claim is
    /// [`StoreError::Busy`], in the same process too.
    fn claim<'a>(&'a self, session: &'a str, owner: SessionOwner) -> BoxFuture<'a, Result<SessionClaim, StoreError>>;

    /// Remembers what calls of a session have brought in. It counts for the sessions above it as well, which get the answers of
    /// sub-agents.
    fn add_taint<'a>(&'a self, session: &'a str, taint: StoredTaint) -> BoxFuture<'a, Result<(), StoreError>>;
    /// What a session, or one above it, has brought in.
    fn taint<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<StoredTaint, StoreError>>;
    /// Stores the skills that a session has loaded, as JSON text which the store does not look into.
    fn set_skills<'a>(&'a self, session: &'a str, skills: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>>;
    /// The skills that a session has loaded.
    fn skills<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Adds a version of the to-do list of a session, or of something else with a name of its own. The oldest of very many versions
    /// are forgotten, and all of them with their session.
    fn set_todos<'a>(&'a self, session: &'a str, version: TodoVersion) -> BoxFuture<'a, Result<(), StoreError>>;
    /// At most `limit` versions of the to-do list of a session, the newest first. A fork begins with the list of its last message.
    fn todos<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<TodoVersion>, StoreError>>;

    /// Counts what one request to a model used.
    fn add_usage(&self, usage: UsageRecord) -> BoxFuture<'_, Result<(), StoreError>>;
    /// What a session used.
    fn session_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>>;
    /// What all sessions used on a day, as [`UsageRecord::day`] calls it.
    fn day_usage<'a>(&'a self, day: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>>;
    /// What all sessions used from a day to another, both included: a row for each model that was asked on a day, in the order of the
    /// days, then of the models' names.
    fn model_usage<'a>(&'a self, first: &'a str, last: &'a str) -> BoxFuture<'a, Result<Vec<ModelUsage>, StoreError>>;
    /// What a session used with all its sub-agents, and theirs.
    fn tree_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>>;

    /// Stores the state of a sub-agent, which replaces the one before. Its session must be there.
    fn put_sub_agent(&self, status: SubAgentStatus) -> BoxFuture<'_, Result<(), StoreError>>;
    /// The sub-agent of a session; `None` if it is not one of a sub-agent.
    fn sub_agent<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<SubAgentStatus>, StoreError>>;
    /// The sub-agents that a session started itself, oldest first.
    fn sub_agents<'a>(&'a self, parent: &'a str) -> BoxFuture<'a, Result<Vec<SubAgentStatus>, StoreError>>;
    /// Marks sub-agents as failed whose process has ended, and says how many.
    fn interrupt_sub_agents(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
}
