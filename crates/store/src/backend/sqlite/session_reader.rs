//! Finding sessions.

use rusqlite::{Connection, OptionalExtension, ToSql};

use super::reader::candidates;
use super::rows::bytes;
use super::session_rows::{SESSION_COLUMNS, session};
use crate::session_store::LAST;
use crate::{SessionFilter, SessionRecord, StoreError, short_id};

pub(super) fn open(connection: &Connection, id: &str) -> Result<SessionRecord, StoreError> {
    if let Some(session) = one(connection, id)? {
        return Ok(session);
    }
    if id == LAST {
        let newest = list(connection, &SessionFilter { limit: Some(1), ..SessionFilter::default() })?.pop();
        return newest.ok_or_else(|| StoreError::no_session(id));
    }
    let only = short_id::only("session", id, candidates(connection, "sessions", id)?)?;
    one(connection, &only)?.ok_or_else(|| StoreError::no_session(id))
}

fn one(connection: &Connection, id: &str) -> rusqlite::Result<Option<SessionRecord>> {
    let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row([id], session).optional()
}

pub(super) fn list(connection: &Connection, filter: &SessionFilter) -> rusqlite::Result<Vec<SessionRecord>> {
    let mut sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE true");
    let mut values: Vec<&dyn ToSql> = Vec::new();
    let workspace = filter.workspace.as_deref().map(bytes);
    if let Some(workspace) = &workspace {
        sql += " AND workspace = ?";
        values.push(workspace);
    }
    if let Some(agent) = &filter.agent {
        sql += " AND agent = ?";
        values.push(agent);
    }
    sql += " ORDER BY updated DESC, id DESC";
    let has_title = filter.title_test();
    let mut statement = connection.prepare_cached(&sql)?;
    let sessions = statement.query_map(values.as_slice(), session)?;
    sessions.filter(|session| session.as_ref().map_or(true, &has_title)).take(filter.limit.unwrap_or(usize::MAX)).collect()
}
