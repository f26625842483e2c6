//! Versions of to-do lists as rows.

use rusqlite::{Connection, params};

use crate::TodoVersion;
use crate::backend::values::{integer, nanoseconds_since_1970, time};
use crate::error::SqlFault;
use crate::session_store::MAX_VERSIONS;

const ADD: &str = "INSERT INTO todo_lists (session, call, at, body) VALUES (?1, ?2, ?3, ?4)";
const FORGET_OLD: &str = "DELETE FROM todo_lists WHERE session = ?1 AND sequence <= \
     (SELECT sequence FROM todo_lists WHERE session = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)";
const NEWEST_FIRST: &str = "SELECT call, at, body FROM todo_lists WHERE session = ?1 ORDER BY sequence DESC LIMIT ?2";
/// The list as it was at the last message of the fork.
const FORK: &str = "INSERT INTO todo_lists (session, call, at, body) SELECT ?2, call, at, body FROM todo_lists \
     WHERE session = ?1 AND at <= (SELECT max(created) FROM messages WHERE session = ?2) ORDER BY sequence DESC LIMIT 1";

pub(super) fn add(connection: &Connection, session: &str, version: &TodoVersion) -> Result<(), SqlFault> {
    let TodoVersion { call, at, body } = version;
    connection.prepare_cached(ADD)?.execute(params![session, call, nanoseconds_since_1970(*at), body])?;
    connection.prepare_cached(FORGET_OLD)?.execute(params![session, integer(MAX_VERSIONS)])?;
    Ok(())
}

pub(super) fn newest_first(connection: &Connection, session: &str, limit: usize) -> Result<Vec<TodoVersion>, SqlFault> {
    let mut query = connection.prepare_cached(NEWEST_FIRST)?;
    let read = |row: &rusqlite::Row<'_>| Ok(TodoVersion { call: row.get(0)?, at: time(row.get(1)?), body: row.get(2)? });
    let versions = query.query_map(params![session, integer(limit as u64)], read)?;
    Ok(versions.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn fork(connection: &Connection, session: &str, id: &str) -> Result<(), SqlFault> {
    connection.prepare_cached(FORK)?.execute(params![session, id])?;
    Ok(())
}
