//! Sessions as rows: written and found.

use std::time::SystemTime;

use haft_contract::Access;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::reader::candidates;
use super::rows::{is_conversion, lossy, number};
use super::{salvage, taint, todos};
use crate::backend::values::{bytes, integer, nanoseconds_since_1970, path, time};
use crate::error::SqlFault;
use crate::session_store::LAST;
use crate::{SessionFilter, SessionRecord, StoreError, StoredTaint, short_id};

/// The columns of a session, in the order in which [`session`] reads them.
const SESSION_COLUMNS: &str = "id, title, agent, model, workspace, created, updated, parent, parent_at, closed, messages, access";

const CREATE: &str = "INSERT INTO sessions (id, title, agent, model, workspace, created, updated, parent, parent_at, closed, messages) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING";

const FORK: &str = "INSERT INTO sessions (id, title, agent, model, workspace, created, updated, parent, parent_at, closed, messages, \
     private, untrusted, skills, access) \
     SELECT ?2, title, agent, model, workspace, ?3, ?3, id, ?4, 0, ?4, ?5, ?6, skills, access FROM sessions WHERE id = ?1";

const FORK_MESSAGES: &str = "INSERT INTO messages (session, number, kind, created, body) \
     SELECT ?2, number, kind, created, body FROM messages WHERE session = ?1 AND number < ?3 ORDER BY number";

pub(super) fn create(connection: &Connection, record: &SessionRecord) -> Result<(), SqlFault> {
    let created = connection.prepare_cached(CREATE)?.execute(params![
        record.id,
        record.title,
        record.agent,
        record.model,
        bytes(&record.workspace),
        nanoseconds_since_1970(record.created),
        nanoseconds_since_1970(record.updated),
        record.parent.as_ref().map(|(session, _)| session),
        record.parent.as_ref().map(|(_, at)| integer(*at)),
        record.closed,
        integer(record.messages),
    ])?;
    if created == 0 { Err(StoreError::Exists { what: "session", id: record.id.clone() }.into()) } else { Ok(()) }
}

/// A session; of a damaged row, what of it can be read.
fn session(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    whole_session(row).or_else(|error| if is_conversion(&error) { damaged_session(row) } else { Err(error) })
}

fn damaged_session(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    Ok(SessionRecord {
        id: lossy(row, 0)?,
        title: Some(format!("(damaged) {}", lossy(row, 1)?)),
        agent: lossy(row, 2)?,
        model: None,
        workspace: path(row.get(4)?),
        created: time(row.get(5)?),
        updated: time(row.get(6)?),
        parent: None,
        closed: row.get(9)?,
        messages: number(row, 10)?,
        access: access(row)?,
    })
}

/// A level that this version does not know is the lowest: the user chose it to limit the session.
fn access(row: &Row<'_>) -> rusqlite::Result<Option<Access>> {
    let level: Option<String> = row.get(11)?;
    Ok(level.map(|level| level.parse().unwrap_or(Access::ReadOnly)))
}

fn whole_session(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let parent: Option<String> = row.get(7)?;
    Ok(SessionRecord {
        id: row.get(0)?,
        title: row.get(1)?,
        agent: row.get(2)?,
        model: row.get(3)?,
        workspace: path(row.get(4)?),
        created: time(row.get(5)?),
        updated: time(row.get(6)?),
        parent: parent.map(|session| Ok::<_, rusqlite::Error>((session, number(row, 8)?))).transpose()?,
        closed: row.get(9)?,
        messages: number(row, 10)?,
        access: access(row)?,
    })
}

/// How many messages a session has; for a session that must be there.
pub(super) fn message_count(connection: &Connection, session: &str) -> Result<u64, SqlFault> {
    let sql = "SELECT messages FROM sessions WHERE id = ?1";
    let count = connection.prepare_cached(sql)?.query_row([session], |row| number(row, 0)).optional()?;
    count.ok_or_else(|| StoreError::no_session(session).into())
}

/// For a session that must be there.
pub(super) fn require(connection: &Connection, session: &str) -> Result<(), SqlFault> {
    message_count(connection, session).map(drop)
}

/// Sets one column.
pub(super) fn set(connection: &Connection, session: &str, column: &'static str, value: &dyn ToSql) -> Result<(), SqlFault> {
    let sql = format!("UPDATE sessions SET {column} = ?2 WHERE id = ?1");
    require_one(connection.prepare_cached(&sql)?.execute(params![session, value])?, session)
}

/// Deletes and overwrites a session: a deleted conversation must not remain in free pages.
pub(super) fn delete(connection: &Connection, session: &str) -> Result<(), SqlFault> {
    let overwrite = |on: bool| connection.pragma_update_and_check(None, "secure_delete", on, |_| Ok(()));
    overwrite(true)?;
    let deleted = connection.prepare_cached("DELETE FROM sessions WHERE id = ?1").and_then(|mut delete| delete.execute([session]));
    overwrite(false)?;
    require_one(deleted?, session)
}

pub(super) fn fork(connection: &Connection, session: &str, at: Option<u64>, id: &str, now: SystemTime) -> Result<(), SqlFault> {
    let end = message_count(connection, session)?;
    let at = at.unwrap_or(end);
    if at > end {
        return Err(StoreError::no_message(session, at).into());
    }
    // No agent is above a fork, so it has itself what those above the session have brought in.
    let StoredTaint { private, untrusted } = taint::of_session(connection, session)?;
    connection.prepare_cached(FORK)?.execute(params![session, id, nanoseconds_since_1970(now), integer(at), private, untrusted])?;
    connection.prepare_cached(FORK_MESSAGES)?.execute(params![session, id, integer(at)])?;
    todos::fork(connection, session, id)
}

fn require_one(changed: usize, session: &str) -> Result<(), SqlFault> {
    if changed == 0 { Err(StoreError::no_session(session).into()) } else { Ok(()) }
}

pub(super) fn open(connection: &Connection, id: &str) -> Result<SessionRecord, SqlFault> {
    if let Some(session) = one(connection, id)? {
        return Ok(session);
    }
    if id == LAST {
        let newest = list(connection, &SessionFilter { limit: Some(1), ..SessionFilter::default() })?.pop();
        return newest.ok_or_else(|| StoreError::no_session(id).into());
    }
    let only = short_id::only("session", id, candidates(connection, "sessions", id)?)?;
    one(connection, &only)?.ok_or_else(|| StoreError::no_session(id).into())
}

fn one(connection: &Connection, id: &str) -> rusqlite::Result<Option<SessionRecord>> {
    let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row([id], session).optional()
}

pub(super) fn list(connection: &Connection, filter: &SessionFilter) -> rusqlite::Result<Vec<SessionRecord>> {
    let workspace = filter.workspace.as_deref().map(bytes);
    let (condition, values) = condition(filter, workspace.as_ref());
    let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE {condition} ORDER BY updated DESC, id DESC");
    let has_title = filter.title_test();
    let mut statement = connection.prepare_cached(&sql)?;
    let sessions = statement.query_map(values.as_slice(), session)?;
    sessions.filter(|session| session.as_ref().map_or(true, &has_title)).take(filter.limit.unwrap_or(usize::MAX)).collect()
}

/// As [`list`], for a database with damaged pages: the sessions that can be read.
pub(super) fn list_readable(connection: &Connection, filter: &SessionFilter) -> rusqlite::Result<Vec<SessionRecord>> {
    let workspace = filter.workspace.as_deref().map(bytes);
    let (condition, values) = condition(filter, workspace.as_ref());
    let mut sessions = salvage::readable_rows(connection, ("sessions", SESSION_COLUMNS), &condition, &values, session)?;
    sessions.retain(filter.title_test());
    sessions.sort_unstable_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
    sessions.truncate(filter.limit.unwrap_or(usize::MAX));
    Ok(sessions)
}

fn condition<'a>(filter: &'a SessionFilter, workspace: Option<&'a &'a [u8]>) -> (String, Vec<&'a dyn ToSql>) {
    let (mut condition, mut values) = ("true".to_owned(), Vec::<&dyn ToSql>::new());
    if let Some(workspace) = workspace {
        condition += " AND workspace = ?";
        values.push(workspace);
    }
    if !filter.with_sub_agents {
        condition += " AND NOT EXISTS (SELECT 1 FROM sub_agents WHERE sub_agents.session = sessions.id)";
    }
    if let Some(agent) = &filter.agent {
        condition += " AND agent = ?";
        values.push(agent);
    }
    (condition, values)
}
