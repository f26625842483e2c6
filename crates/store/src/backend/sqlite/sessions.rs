//! The sessions in the database.

use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::ports::SubAgentStatus;
use haft_contract::{Access, BoxFuture};
use rusqlite::Connection;

use super::database::Database;
use super::{messages, session_rows, sub_agents, taint, todos, usage};
use crate::backend::blocking::blocking;
use crate::backend::write::{ChangeAnswer, ClaimRequest, SessionChange, StoreChange};
use crate::error::SqlFault;
use crate::session_store::new_id;
use crate::{
    MessageRecord, ModelUsage, NewMessage, NewSession, ReplacedMessage, SessionClaim, SessionFilter, SessionOverview, SessionOwner,
    SessionRecord, SessionStore, StoreError, StoreRevision, StoredTaint, TodoVersion, UsageRecord, UsageSum,
};

/// A [`SessionStore`] in the SQLite file of a [`SqliteCallLog`](crate::SqliteCallLog), which makes it.
#[derive(Debug, Clone)]
pub struct SqliteSessionStore {
    database: Arc<Database>,
}

impl SqliteSessionStore {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    async fn changed(&self, change: SessionChange) -> ChangeAnswer {
        self.database.write(StoreChange::Session(Box::new(change))).await
    }

    async fn apply(&self, change: SessionChange) -> Result<(), StoreError> {
        self.changed(change).await.map(drop)
    }

    async fn begin(&self, session: NewSession) -> Result<SessionRecord, StoreError> {
        let record = session.into_record();
        self.apply(SessionChange::Create(record.clone())).await?;
        Ok(record)
    }

    async fn copy(&self, session: &str, at: Option<u64>) -> Result<String, StoreError> {
        let id = new_id();
        self.apply(SessionChange::Fork { session: session.into(), at, id: id.clone(), now: SystemTime::now() }).await?;
        Ok(id)
    }

    /// Announces this process as alive; returns its id.
    async fn announce(&self) -> Result<String, StoreError> {
        let owners = Arc::clone(self.database.owners());
        if let Some(id) = owners.my_id() {
            return Ok(id.to_owned());
        }
        blocking(move || owners.announce()).await
    }

    async fn claim_as(&self, session: &str, owner: SessionOwner) -> Result<SessionClaim, StoreError> {
        let presence = self.announce().await?;
        let token = new_id();
        // Made before the answer is there: a caller that stops waiting gives up the claim too.
        let claim = self.releasing(session, token.clone());
        match self.apply(SessionChange::Claim(ClaimRequest { session: session.into(), token, presence, owner })).await {
            Ok(()) => Ok(claim),
            Err(error) => {
                claim.forget();
                Err(error)
            }
        }
    }

    fn releasing(&self, session: &str, token: String) -> SessionClaim {
        let database = Arc::clone(&self.database);
        SessionClaim::new(session, move || {
            let release = StoreChange::Session(Box::new(SessionChange::Release { token }));
            // Refused only when the writer is gone: the claim then ends with this process.
            database.queue().insist(release).ok();
        })
    }
}

fn overview(connection: &Connection, record: SessionRecord) -> Result<SessionOverview, SqlFault> {
    let usage = usage::sum(connection, "session", &record.id)?;
    let sub_agent = sub_agents::find(connection, &record.id)?;
    Ok(SessionOverview { record, usage, sub_agent })
}

impl SessionStore for SqliteSessionStore {
    fn create(&self, session: NewSession) -> BoxFuture<'_, Result<SessionRecord, StoreError>> {
        Box::pin(self.begin(session))
    }

    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SessionRecord, StoreError>> {
        let id = id.to_owned();
        Box::pin(self.database.read(move |connection| session_rows::open(connection, &id)))
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionRecord>, StoreError>> {
        Box::pin(async move {
            let wanted = filter.clone();
            match self.database.read(move |connection| Ok(session_rows::list(connection, &wanted)?)).await {
                Err(StoreError::Damaged { .. }) => {
                    self.database.read(move |connection| Ok(session_rows::list_readable(connection, &filter)?)).await
                }
                sessions => sessions,
            }
        })
    }

    fn overviews(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionOverview>, StoreError>> {
        Box::pin(async move {
            let records = self.list(filter).await?;
            self.database.read(move |connection| records.into_iter().map(|record| overview(connection, record)).collect()).await
        })
    }

    fn revision(&self) -> Option<StoreRevision> {
        self.database.revision()
    }

    fn rename<'a>(&'a self, session: &'a str, title: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Rename { session: session.into(), title: title.map(Into::into) }))
    }

    fn set_access<'a>(&'a self, session: &'a str, access: Option<Access>) -> BoxFuture<'a, Result<(), StoreError>> {
        let access = access.map(|level| level.as_str().to_owned());
        Box::pin(self.apply(SessionChange::SetAccess { session: session.into(), access }))
    }

    fn set_model<'a>(&'a self, session: &'a str, model: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::SetModel { session: session.into(), model: model.map(Into::into) }))
    }

    fn close<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Close(session.into())))
    }

    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Delete(session.into())))
    }

    fn fork<'a>(&'a self, session: &'a str, at: Option<u64>) -> BoxFuture<'a, Result<String, StoreError>> {
        Box::pin(self.copy(session, at))
    }

    fn append<'a>(&'a self, session: &'a str, expected: Option<u64>, messages: Vec<NewMessage>) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.changed(SessionChange::Append { session: session.into(), expected, messages }))
    }

    fn rewrite<'a>(
        &'a self,
        session: &'a str,
        from: u64,
        messages: Vec<NewMessage>,
        reason: &'a str,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        let (session, reason) = (session.into(), reason.into());
        Box::pin(self.changed(SessionChange::Rewrite { session, from, messages, reason, now: SystemTime::now() }))
    }

    fn messages<'a>(&'a self, session: &'a str, from: u64, limit: usize) -> BoxFuture<'a, Result<Vec<MessageRecord>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| messages::page(connection, &session, from, limit)))
    }

    fn replaced<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<ReplacedMessage>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| messages::replaced(connection, &session, limit)))
    }

    fn claim<'a>(&'a self, session: &'a str, owner: SessionOwner) -> BoxFuture<'a, Result<SessionClaim, StoreError>> {
        Box::pin(self.claim_as(session, owner))
    }

    fn add_taint<'a>(&'a self, session: &'a str, taint: StoredTaint) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Taint { session: session.into(), taint }))
    }

    fn taint<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<StoredTaint, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| taint::of_session(connection, &session)))
    }

    fn set_skills<'a>(&'a self, session: &'a str, skills: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::SetSkills { session: session.into(), skills: skills.map(Into::into) }))
    }

    fn skills<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| taint::skills(connection, &session)))
    }

    fn set_todos<'a>(&'a self, session: &'a str, version: TodoVersion) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Todos { session: session.into(), version }))
    }

    fn todos<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<TodoVersion>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| todos::newest_first(connection, &session, limit)))
    }

    fn add_usage(&self, usage: UsageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Usage(usage)))
    }

    fn session_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| usage::sum(connection, "session", &session)))
    }

    fn day_usage<'a>(&'a self, day: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        let day = day.to_owned();
        Box::pin(self.database.read(move |connection| usage::sum(connection, "day", &day)))
    }

    fn model_usage<'a>(&'a self, first: &'a str, last: &'a str) -> BoxFuture<'a, Result<Vec<ModelUsage>, StoreError>> {
        let (first, last) = (first.to_owned(), last.to_owned());
        Box::pin(self.database.read(move |connection| usage::by_model(connection, &first, &last)))
    }

    fn tree_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| sub_agents::tree_usage(connection, &session)))
    }

    fn put_sub_agent(&self, status: SubAgentStatus) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let presence = self.announce().await?;
            self.apply(SessionChange::SubAgent { status, presence }).await
        })
    }

    fn sub_agent<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<SubAgentStatus>, StoreError>> {
        let session = session.to_owned();
        Box::pin(self.database.read(move |connection| sub_agents::find(connection, &session)))
    }

    fn sub_agents<'a>(&'a self, parent: &'a str) -> BoxFuture<'a, Result<Vec<SubAgentStatus>, StoreError>> {
        let parent = parent.to_owned();
        Box::pin(self.database.read(move |connection| sub_agents::children(connection, &parent)))
    }

    fn interrupt_sub_agents(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let mine = self.database.owners().my_id().map(str::to_owned);
            // Nearly always nothing is to be written, and reading does not wait for other writers.
            if !self.database.read(move |connection| sub_agents::has_foreign(connection, mine.as_deref())).await? {
                return Ok(0);
            }
            self.changed(SessionChange::InterruptSubAgents { now: SystemTime::now() }).await
        })
    }
}
