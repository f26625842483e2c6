//! Sessions in memory: for tests, and for embedding programs that want no file. They are gone with the process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use haft_contract::ports::SubAgentStatus;
use haft_contract::{Access, BoxFuture};

use crate::session_store::{LAST, MAX_VERSIONS, new_id};
use crate::{
    MessageRecord, ModelUsage, NewMessage, NewSession, ReplacedMessage, SessionClaim, SessionFilter, SessionOwner, SessionRecord,
    SessionStore, StoreError, StoredTaint, TodoVersion, UsageRecord, UsageSum, short_id,
};

/// A [`SessionStore`] without a file.
#[derive(Debug, Default)]
pub struct InMemorySessionStore {
    state: Arc<Mutex<SessionStoreState>>,
}

#[derive(Debug, Default)]
struct SessionStoreState {
    sessions: BTreeMap<String, SessionData>,
    usage: Vec<UsageRecord>,
    /// By session.
    sub_agents: BTreeMap<String, SubAgentStatus>,
    /// The newest first.
    todos: BTreeMap<String, VecDeque<TodoVersion>>,
}

#[derive(Debug)]
struct SessionData {
    record: SessionRecord,
    messages: Vec<MessageRecord>,
    replaced: Vec<ReplacedMessage>,
    owner: Option<SessionOwner>,
    taint: StoredTaint,
    skills: Option<String>,
}

fn lock(state: &Mutex<SessionStoreState>) -> MutexGuard<'_, SessionStoreState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionStoreState {
    fn data(&self, session: &str) -> Result<&SessionData, StoreError> {
        self.sessions.get(session).ok_or_else(|| StoreError::no_session(session))
    }

    fn data_mut(&mut self, session: &str) -> Result<&mut SessionData, StoreError> {
        self.sessions.get_mut(session).ok_or_else(|| StoreError::no_session(session))
    }

    fn create(&mut self, record: SessionRecord, messages: Vec<MessageRecord>) -> Result<(), StoreError> {
        if self.sessions.contains_key(&record.id) {
            return Err(StoreError::Exists { what: "session", id: record.id });
        }
        let id = record.id.clone();
        self.sessions
            .insert(id, SessionData { record, messages, replaced: Vec::new(), owner: None, taint: StoredTaint::default(), skills: None });
        Ok(())
    }

    /// All, the one updated last first.
    fn sorted(&self) -> Vec<&SessionRecord> {
        let mut records: Vec<_> = self.sessions.values().rev().map(|data| &data.record).collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.updated));
        records
    }

    fn open(&self, id: &str) -> Result<SessionRecord, StoreError> {
        if let Some(data) = self.sessions.get(id) {
            return Ok(data.record.clone());
        }
        if id == LAST {
            return self.list(&SessionFilter::default()).into_iter().next().ok_or_else(|| StoreError::no_session(id));
        }
        let candidates = self.sessions.keys().rev().filter(|known| short_id::fits(id, known)).take(short_id::MAX_CANDIDATES);
        let only = short_id::only("session", id, candidates.cloned().collect())?;
        Ok(self.data(&only)?.record.clone())
    }

    fn list(&self, filter: &SessionFilter) -> Vec<SessionRecord> {
        let has_title = filter.title_test();
        let fits = |record: &&SessionRecord| {
            (filter.with_sub_agents || !self.sub_agents.contains_key(&record.id))
                && filter.workspace.as_ref().is_none_or(|workspace| *workspace == record.workspace)
                && filter.agent.as_ref().is_none_or(|agent| *agent == record.agent)
                && has_title(record)
        };
        self.sorted().into_iter().filter(fits).take(filter.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    fn fork(&mut self, session: &str, at: Option<u64>) -> Result<String, StoreError> {
        let data = self.data(session)?;
        let at = at.unwrap_or(data.record.messages);
        data.refuse_gap(at)?;
        let (id, now) = (new_id(), SystemTime::now());
        let parent = Some((session.to_owned(), at));
        let record =
            SessionRecord { id: id.clone(), created: now, updated: now, parent, closed: false, messages: at, ..data.record.clone() };
        let before = data.messages.iter().filter(|message| message.number < at);
        let messages: Vec<MessageRecord> = before.map(|message| MessageRecord { session: id.clone(), ..message.clone() }).collect();
        let last = messages_end(&messages);
        let (taint, skills) = (self.taint(session), data.skills.clone());
        self.create(record, messages)?;
        let data = self.data_mut(&id)?;
        (data.taint, data.skills) = (taint, skills);
        let todos = self.todos.get(session).and_then(|versions| versions.iter().find(|version| Some(version.at) <= last)).cloned();
        self.todos.extend(todos.map(|version| (id.clone(), VecDeque::from([version]))));
        Ok(id)
    }

    fn claim(&mut self, session: &str, owner: SessionOwner) -> Result<(), StoreError> {
        let data = self.data_mut(session)?;
        if let Some(owner) = data.owner.clone() {
            return Err(StoreError::busy(session, owner));
        }
        data.owner = Some(owner);
        Ok(())
    }

    fn release(&mut self, session: &str) {
        if let Some(data) = self.sessions.get_mut(session) {
            data.owner = None;
        }
    }

    /// A session, and those above it.
    fn above<'a>(&'a self, session: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::successors(Some(session), |id| self.sub_agents.get(*id).map(|status| &*status.parent))
    }

    /// Whether a session is this one, or one beneath it.
    fn is_beneath(&self, session: &str, root: &str) -> bool {
        self.above(session).any(|id| id == root)
    }

    fn taint(&self, session: &str) -> StoredTaint {
        self.above(session).filter_map(|id| self.sessions.get(id)).fold(StoredTaint::default(), |sum, data| sum.or(data.taint))
    }

    fn add_taint(&mut self, session: &str, taint: StoredTaint) -> Result<(), StoreError> {
        self.data(session)?;
        let above: Vec<String> = self.above(session).map(str::to_owned).collect();
        for id in above {
            if let Some(data) = self.sessions.get_mut(&id) {
                data.taint = data.taint.or(taint);
            }
        }
        Ok(())
    }

    fn sum(&self, counts: impl Fn(&UsageRecord) -> bool) -> UsageSum {
        let mut sum = UsageSum::default();
        self.usage.iter().filter(|usage| counts(usage)).for_each(|usage| sum.add(usage));
        sum
    }
}

/// When the newest message was made.
fn messages_end(messages: &[MessageRecord]) -> Option<SystemTime> {
    messages.iter().map(|message| message.created).max()
}

impl SessionData {
    /// There must be a message, or the end, at this number.
    fn refuse_gap(&self, number: u64) -> Result<(), StoreError> {
        if number > self.record.messages { Err(StoreError::no_message(&self.record.id, number)) } else { Ok(()) }
    }

    fn append(&mut self, expected: Option<u64>, messages: Vec<NewMessage>) -> Result<u64, StoreError> {
        let next = self.record.messages;
        if let Some(expected) = expected.filter(|expected| *expected != next) {
            return Err(StoreError::Conflict { session: self.record.id.clone(), expected, next });
        }
        self.record.closed &= messages.is_empty();
        for NewMessage { kind, body, created } in messages {
            let session = self.record.id.clone();
            self.messages.push(MessageRecord { session, number: self.record.messages, kind, body, created });
            self.record.messages += 1;
            self.record.updated = self.record.updated.max(created);
        }
        Ok(self.record.messages)
    }

    fn rewrite(&mut self, from: u64, messages: Vec<NewMessage>, reason: &str) -> Result<u64, StoreError> {
        self.refuse_gap(from)?;
        let replaced = SystemTime::now();
        let old = self.messages.extract_if(.., |message| message.number >= from);
        self.replaced.extend(old.map(|message| ReplacedMessage { message, reason: reason.to_owned(), replaced }));
        self.record.messages = from;
        self.append(None, messages)
    }
}

impl SessionStore for InMemorySessionStore {
    fn create(&self, session: NewSession) -> BoxFuture<'_, Result<SessionRecord, StoreError>> {
        Box::pin(async move {
            let record = session.into_record();
            lock(&self.state).create(record.clone(), Vec::new())?;
            Ok(record)
        })
    }

    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SessionRecord, StoreError>> {
        Box::pin(async move { lock(&self.state).open(id) })
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionRecord>, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).list(&filter)) })
    }

    fn rename<'a>(&'a self, session: &'a str, title: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.state).data_mut(session)?.record.title = title.map(Into::into);
            Ok(())
        })
    }

    fn set_access<'a>(&'a self, session: &'a str, access: Option<Access>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.state).data_mut(session)?.record.access = access;
            Ok(())
        })
    }

    fn set_model<'a>(&'a self, session: &'a str, model: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.state).data_mut(session)?.record.model = model.map(Into::into);
            Ok(())
        })
    }

    fn close<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.state).data_mut(session)?.record.closed = true;
            Ok(())
        })
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut state = lock(&self.state);
            state.sub_agents.remove(session);
            state.todos.remove(session);
            state.sessions.remove(session).map(drop).ok_or_else(|| StoreError::no_session(session))
        })
    }

    fn fork<'a>(&'a self, session: &'a str, at: Option<u64>) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(async move { lock(&self.state).fork(session, at) })
    }

    fn append<'a>(&'a self, session: &'a str, expected: Option<u64>, messages: Vec<NewMessage>) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { lock(&self.state).data_mut(session)?.append(expected, messages) })
    }

    fn rewrite<'a>(
        &'a self,
        session: &'a str,
        from: u64,
        messages: Vec<NewMessage>,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async move { lock(&self.state).data_mut(session)?.rewrite(from, messages, reason) })
    }

    fn messages<'a>(&'a self, session: &'a str, from: u64, limit: usize) -> BoxFuture<'a, Result<Vec<MessageRecord>, StoreError>> {
        Box::pin(async move {
            let state = lock(&self.state);
            Ok(state.data(session)?.messages.iter().filter(|message| message.number >= from).take(limit).cloned().collect())
        })
    }

    fn replaced<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<ReplacedMessage>, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).data(session)?.replaced.iter().take(limit).cloned().collect()) })
    }

    fn claim<'a>(&'a self, session: &'a str, owner: SessionOwner) -> BoxFuture<'a, Result<SessionClaim, StoreError>> {
        Box::pin(async move {
            lock(&self.state).claim(session, owner)?;
            let (state, claimed) = (Arc::clone(&self.state), session.to_owned());
            Ok(SessionClaim::new(session, move || lock(&state).release(&claimed)))
        })
    }

    fn add_taint<'a>(&'a self, session: &'a str, taint: StoredTaint) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { lock(&self.state).add_taint(session, taint) })
    }

    fn taint<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<StoredTaint, StoreError>> {
        Box::pin(async move {
            let state = lock(&self.state);
            state.data(session).map(|_| state.taint(session))
        })
    }

    fn set_skills<'a>(&'a self, session: &'a str, skills: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.state).data_mut(session)?.skills = skills.map(Into::into);
            Ok(())
        })
    }

    fn skills<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).data(session)?.skills.clone()) })
    }

    fn set_todos<'a>(&'a self, session: &'a str, version: TodoVersion) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut state = lock(&self.state);
            let versions = state.todos.entry(session.to_owned()).or_default();
            versions.push_front(version);
            versions.truncate(usize::try_from(MAX_VERSIONS).unwrap_or(usize::MAX));
            Ok(())
        })
    }

    fn todos<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<TodoVersion>, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).todos.get(session).into_iter().flatten().take(limit).cloned().collect()) })
    }

    fn add_usage(&self, usage: UsageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            lock(&self.state).usage.push(usage);
            Ok(())
        })
    }

    fn session_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).sum(|usage| usage.session == session)) })
    }

    fn day_usage<'a>(&'a self, day: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).sum(|usage| usage.day == day)) })
    }

    fn model_usage<'a>(&'a self, first: &'a str, last: &'a str) -> BoxFuture<'a, Result<Vec<ModelUsage>, StoreError>> {
        Box::pin(async move {
            let mut sums: BTreeMap<(String, String), UsageSum> = BTreeMap::new();
            for usage in lock(&self.state).usage.iter().filter(|usage| (first..=last).contains(&usage.day.as_str())) {
                sums.entry((usage.day.clone(), usage.model.clone())).or_default().add(usage);
            }
            Ok(sums.into_iter().map(|((day, model), sum)| ModelUsage { day, model, sum }).collect())
        })
    }

    fn tree_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        Box::pin(async move {
            let state = lock(&self.state);
            Ok(state.sum(|usage| state.is_beneath(&usage.session, session)))
        })
    }

    fn put_sub_agent(&self, status: SubAgentStatus) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let mut state = lock(&self.state);
            state.data(&status.id)?;
            state.sub_agents.insert(status.id.clone(), status);
            Ok(())
        })
    }

    fn sub_agent<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<SubAgentStatus>, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).sub_agents.get(session).cloned()) })
    }

    fn sub_agents<'a>(&'a self, parent: &'a str) -> BoxFuture<'a, Result<Vec<SubAgentStatus>, StoreError>> {
        Box::pin(async move { Ok(lock(&self.state).sub_agents.values().filter(|status| status.parent == parent).cloned().collect()) })
    }

    /// They end with this process, as the store does.
    fn interrupt_sub_agents(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async { Ok(0) })
    }
}
