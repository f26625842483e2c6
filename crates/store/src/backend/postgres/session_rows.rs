//! Sessions as rows: written and found.

use std::time::SystemTime;

use futures_util::future::try_join;
use haft_contract::Access;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::claims::{self, Holder};
use super::failure::Failure;
use super::history::candidates;
use super::link::{Columns, Link, Text, all, execute, row};
use super::presence::Presences;
use super::{carried, todos};
use crate::backend::values::{bytes, integer, nanoseconds_since_1970};
use crate::session_store::LAST;
use crate::{SessionFilter, SessionRecord, StoreError, StoredTaint, short_id};

/// The columns of a session, in the order in which [`session`] reads them.
const SESSION_COLUMNS: &str = "id, title, agent, model, workspace, created, updated, parent, parent_at, closed, messages, access";

const CREATE: &str = "INSERT INTO sessions (id, title, agent, model, workspace, created, updated, parent, parent_at, closed, messages) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO NOTHING";

const FORK: &str = "INSERT INTO sessions (id, title, agent, model, workspace, created, updated, parent, parent_at, closed, messages, \
     private, untrusted, skills, access) \
     SELECT $2, title, agent, model, workspace, $3, $3, id, $4, FALSE, $4, $5, $6, skills, access FROM sessions WHERE id = $1";

const FORK_MESSAGES: &str = "INSERT INTO messages (session, number, kind, created, body) \
     SELECT $2, number, kind, created, body FROM messages WHERE session = $1 AND number < $3 ORDER BY number";

/// Until the end of the transaction, nobody else changes it.
const LOCK: &str = "SELECT messages FROM sessions WHERE id = $1 FOR UPDATE";
/// Only after the lock: a statement that waits for it still sees what else was there before.
const CLAIM: &str = "SELECT presence, pid, host, since FROM claims WHERE session = $1";

/// A session that nobody else changes until the end of the transaction.
pub(super) struct Locked<'a> {
    pub(super) id: &'a str,
    pub(super) messages: u64,
    /// The process that claimed it, and lives.
    pub(super) holder: Option<Holder>,
}

impl Locked<'_> {
    /// Refuses a change if another process owns the session.
    pub(super) fn refuse_others(self, presences: &Presences) -> Result<Self, StoreError> {
        match self.holder {
            Some(holder) if !presences.is_mine(&holder.presence) => Err(StoreError::busy(self.id, holder.owner)),
            _ => Ok(Self { holder: None, ..self }),
        }
    }
}

/// Locks a session that must be there.
pub(super) async fn lock<'a>(link: &Link, session: &'a str, presences: &Presences) -> Result<Locked<'a>, Failure> {
    let (lock, claim) = (link.prepare_cached(LOCK).await?, link.prepare_cached(CLAIM).await?);
    let id = Text(session);
    // Both are sent at once, and answered one after the other.
    let values: [&(dyn ToSql + Sync); 1] = [&id];
    let (locked, claimed) = try_join(link.query_opt(&lock, &values), link.query_opt(&claim, &values)).await?;
    let locked = locked.ok_or_else(|| StoreError::no_session(session))?;
    let holder = match claimed {
        Some(claimed) => claims::living_holder(link, &claimed, presences).await?,
        None => None,
    };
    Ok(Locked { id: session, messages: locked.number(0)?, holder })
}

pub(super) async fn create(link: &Link, record: &SessionRecord) -> Result<(), Failure> {
    let values: [&(dyn ToSql + Sync); 11] = [
        &Text(&record.id),
        &record.title.as_deref().map(Text),
        &Text(&record.agent),
        &record.model.as_deref().map(Text),
        &bytes(&record.workspace),
        &nanoseconds_since_1970(record.created),
        &nanoseconds_since_1970(record.updated),
        &record.parent.as_ref().map(|(session, _)| Text(session)),
        &record.parent.as_ref().map(|(_, at)| integer(*at)),
        &record.closed,
        &integer(record.messages),
    ];
    if execute(link, CREATE, &values).await? == 0 {
        return Err(StoreError::Exists { what: "session", id: record.id.clone() }.into());
    }
    Ok(())
}

fn session(row: &Row) -> Result<SessionRecord, Failure> {
    Ok(SessionRecord {
        id: row.text(0)?,
        title: row.maybe_text(1)?,
        agent: row.text(2)?,
        model: row.maybe_text(3)?,
        workspace: row.path(4)?,
        created: row.time(5)?,
        updated: row.time(6)?,
        parent: row.maybe_text(7)?.map(|session| Ok::<_, Failure>((session, row.number(8)?))).transpose()?,
        closed: row.flag(9)?,
        messages: row.number(10)?,
        // A level that this version does not know is the lowest: the user chose it to limit the session.
        access: row.maybe_text(11)?.map(|level| level.parse().unwrap_or(Access::ReadOnly)),
    })
}

/// For a session that must be there.
pub(super) async fn require(link: &Link, session: &str) -> Result<(), Failure> {
    match row(link, "SELECT 1 FROM sessions WHERE id = $1", &[&Text(session)]).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::no_session(session).into()),
    }
}

/// Sets one column.
pub(super) async fn set(link: &Link, session: &str, column: &'static str, value: &(dyn ToSql + Sync)) -> Result<(), Failure> {
    let sql = format!("UPDATE sessions SET {column} = $2 WHERE id = $1");
    if execute(link, &sql, &[&Text(session), value]).await? == 0 {
        return Err(StoreError::no_session(session).into());
    }
    Ok(())
}

pub(super) async fn delete(link: &Link, session: &str) -> Result<(), Failure> {
    execute(link, "DELETE FROM sessions WHERE id = $1", &[&Text(session)]).await.map(drop)
}

pub(super) async fn fork(link: &Link, session: &Locked<'_>, at: Option<u64>, id: &str, now: SystemTime) -> Result<(), Failure> {
    let at = at.unwrap_or(session.messages);
    if at > session.messages {
        return Err(StoreError::no_message(session.id, at).into());
    }
    // No agent is above a fork, so it has itself what those above the session have brought in.
    let StoredTaint { private, untrusted } = carried::taint(link, session.id).await?;
    let (from, to) = (Text(session.id), Text(id));
    execute(link, FORK, &[&from, &to, &nanoseconds_since_1970(now), &integer(at), &private, &untrusted]).await?;
    execute(link, FORK_MESSAGES, &[&from, &to, &integer(at)]).await?;
    todos::fork(link, session.id, id).await
}

pub(super) async fn open(link: &Link, id: &str) -> Result<SessionRecord, Failure> {
    if let Some(session) = one(link, id).await? {
        return Ok(session);
    }
    if id == LAST {
        let newest = list(link, &SessionFilter { limit: Some(1), ..SessionFilter::default() }).await?.pop();
        return newest.ok_or_else(|| StoreError::no_session(id).into());
    }
    let only = short_id::only("session", id, candidates(link, "sessions", id).await?)?;
    one(link, &only).await?.ok_or_else(|| StoreError::no_session(id).into())
}

async fn one(link: &Link, id: &str) -> Result<Option<SessionRecord>, Failure> {
    let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE id = $1");
    row(link, &sql, &[&Text(id)]).await?.as_ref().map(session).transpose()
}

pub(super) async fn list(link: &Link, filter: &SessionFilter) -> Result<Vec<SessionRecord>, Failure> {
    let (workspace, agent) = (filter.workspace.as_deref().map(bytes), filter.agent.as_deref().map(Text));
    let (mut condition, mut values) = ("TRUE".to_owned(), Vec::<&(dyn ToSql + Sync)>::new());
    if let Some(workspace) = &workspace {
        values.push(workspace);
        condition = format!("{condition} AND workspace = ${}", values.len());
    }
    if !filter.with_sub_agents {
        condition += " AND NOT EXISTS (SELECT 1 FROM sub_agents WHERE sub_agents.session = sessions.id)";
    }
    if let Some(agent) = &agent {
        values.push(agent);
        condition = format!("{condition} AND agent = ${}", values.len());
    }
    // The server cannot count what the test of the title leaves over.
    let limit = filter.limit.filter(|_| filter.title.is_none()).map(integer);
    values.push(&limit);
    let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE {condition} ORDER BY updated DESC, id DESC LIMIT ${}", values.len());
    let mut sessions = all(link, &sql, &values, session).await?;
    sessions.retain(filter.title_test());
    sessions.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(sessions)
}
