//! The sessions on the server.

use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::ports::SubAgentStatus;
use haft_contract::{Access, BoxFuture};

use super::database::Database;
use super::failure::Failure;
use super::link::Link;
use super::{carried, messages, session_rows, sub_agents, todos, usage};
use crate::backend::write::{ChangeAnswer, ClaimRequest, SessionChange, StoreChange};
use crate::session_store::new_id;
use crate::{
    MessageRecord, ModelUsage, NewMessage, NewSession, ReplacedMessage, SessionClaim, SessionFilter, SessionOverview, SessionOwner,
    SessionRecord, SessionStore, StoreError, StoredTaint, TodoVersion, UsageRecord, UsageSum,
};

/// A [`SessionStore`] on the server of a [`PostgresLog`](crate::PostgresLog), which makes it.
#[derive(Debug, Clone)]
pub struct PostgresSessions {
    database: Arc<Database>,
}

impl PostgresSessions {
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

    async fn claim_as(&self, session: &str, owner: SessionOwner) -> Result<SessionClaim, StoreError> {
        let presence = self.database.presences().announce().await?;
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

async fn overviews(link: &Link, filter: &SessionFilter) -> Result<Vec<SessionOverview>, Failure> {
    let mut overviews = Vec::new();
    for record in session_rows::list(link, filter).await? {
        let usage = usage::sum(link, "session = $1", &record.id).await?;
        let sub_agent = sub_agents::find(link, &record.id).await?;
        overviews.push(SessionOverview { record, usage, sub_agent });
    }
    Ok(overviews)
}

impl SessionStore for PostgresSessions {
    fn create(&self, session: NewSession) -> BoxFuture<'_, Result<SessionRecord, StoreError>> {
        Box::pin(self.begin(session))
    }

    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SessionRecord, StoreError>> {
        Box::pin(self.database.read(id.to_owned(), |link, id| Box::pin(session_rows::open(link, id))))
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionRecord>, StoreError>> {
        Box::pin(self.database.read(filter, |link, filter| Box::pin(session_rows::list(link, filter))))
    }

    fn overviews(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Vec<SessionOverview>, StoreError>> {
        Box::pin(self.database.read(filter, |link, filter| Box::pin(overviews(link, filter))))
    }

    fn rename<'a>(&'a self, session: &'a str, title: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Rename { session: session.into(), title: title.map(Into::into) }))
    }

    fn set_model<'a>(&'a self, session: &'a str, model: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::SetModel { session: session.into(), model: model.map(Into::into) }))
    }

    fn set_access<'a>(&'a self, session: &'a str, access: Option<Access>) -> BoxFuture<'a, Result<(), StoreError>> {
        let access = access.map(|level| level.as_str().to_owned());
        Box::pin(self.apply(SessionChange::SetAccess { session: session.into(), access }))
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
        let about = (session.to_owned(), from, limit);
        Box::pin(self.database.read(about, |link, (session, from, limit)| Box::pin(messages::page(link, session, *from, *limit))))
    }

    fn replaced<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<ReplacedMessage>, StoreError>> {
        let about = (session.to_owned(), limit);
        Box::pin(self.database.read(about, |link, (session, limit)| Box::pin(messages::replaced(link, session, *limit))))
    }

    fn claim<'a>(&'a self, session: &'a str, owner: SessionOwner) -> BoxFuture<'a, Result<SessionClaim, StoreError>> {
        Box::pin(self.claim_as(session, owner))
    }

    fn add_taint<'a>(&'a self, session: &'a str, taint: StoredTaint) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Taint { session: session.into(), taint }))
    }

    fn taint<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<StoredTaint, StoreError>> {
        Box::pin(self.database.read(session.to_owned(), |link, session| Box::pin(carried::taint(link, session))))
    }

    fn set_skills<'a>(&'a self, session: &'a str, skills: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::SetSkills { session: session.into(), skills: skills.map(Into::into) }))
    }

    fn skills<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(self.database.read(session.to_owned(), |link, session| Box::pin(carried::skills(link, session))))
    }

    fn set_todos<'a>(&'a self, session: &'a str, version: TodoVersion) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Todos { session: session.into(), version }))
    }

    fn todos<'a>(&'a self, session: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<TodoVersion>, StoreError>> {
        let about = (session.to_owned(), limit);
        Box::pin(self.database.read(about, |link, (session, limit)| Box::pin(todos::newest_first(link, session, *limit))))
    }

    fn add_usage(&self, usage: UsageRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.apply(SessionChange::Usage(usage)))
    }

    fn session_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        Box::pin(self.database.read(session.to_owned(), |link, session| Box::pin(usage::sum(link, "session = $1", session))))
    }

    fn day_usage<'a>(&'a self, day: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        Box::pin(self.database.read(day.to_owned(), |link, day| Box::pin(usage::sum(link, "day = $1", day))))
    }

    fn model_usage<'a>(&'a self, first: &'a str, last: &'a str) -> BoxFuture<'a, Result<Vec<ModelUsage>, StoreError>> {
        let days = (first.to_owned(), last.to_owned());
        Box::pin(self.database.read(days, |link, (first, last)| Box::pin(usage::by_model(link, first, last))))
    }

    fn tree_usage<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<UsageSum, StoreError>> {
        Box::pin(self.database.read(session.to_owned(), |link, session| Box::pin(sub_agents::tree_usage(link, session))))
    }

    fn put_sub_agent(&self, status: SubAgentStatus) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let presence = self.database.presences().announce().await?;
            self.apply(SessionChange::SubAgent { status, presence }).await
        })
    }

    fn sub_agent<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Option<SubAgentStatus>, StoreError>> {
        Box::pin(self.database.read(session.to_owned(), |link, session| Box::pin(sub_agents::find(link, session))))
    }

    fn sub_agents<'a>(&'a self, parent: &'a str) -> BoxFuture<'a, Result<Vec<SubAgentStatus>, StoreError>> {
        Box::pin(self.database.read(parent.to_owned(), |link, parent| Box::pin(sub_agents::children(link, parent))))
    }

    fn interrupt_sub_agents(&self) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let mine = self.database.presences().my_id().map(str::to_owned);
            // Nearly always nothing is to be written, and reading does not wait for other writers.
            if !self.database.read(mine, |link, mine| Box::pin(sub_agents::has_foreign(link, mine.as_deref()))).await? {
                return Ok(0);
            }
            self.changed(SessionChange::InterruptSubAgents { now: SystemTime::now() }).await
        })
    }
}
