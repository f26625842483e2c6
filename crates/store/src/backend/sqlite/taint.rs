//! What sessions have read and loaded, in their rows.

use rusqlite::{Connection, OptionalExtension, params};

use super::session_rows::require;
use crate::error::SqlFault;
use crate::{StoreError, StoredTaint};

/// The session, and every session above it: a loop in a damaged store ends, because each counts once.
const ABOVE: &str = "WITH RECURSIVE above (id) AS (SELECT ?1 UNION SELECT parent FROM sub_agents JOIN above ON session = above.id) \
     SELECT id FROM above";

pub(super) fn add(connection: &Connection, session: &str, taint: StoredTaint) -> Result<(), SqlFault> {
    require(connection, session)?;
    let sql = format!("UPDATE sessions SET private = private OR ?2, untrusted = untrusted OR ?3 WHERE id IN ({ABOVE})");
    connection.prepare_cached(&sql)?.execute(params![session, taint.private, taint.untrusted])?;
    Ok(())
}

pub(super) fn of_session(connection: &Connection, session: &str) -> Result<StoredTaint, SqlFault> {
    require(connection, session)?;
    let sql = format!("SELECT ifnull(max(private), 0), ifnull(max(untrusted), 0) FROM sessions WHERE id IN ({ABOVE})");
    let read = |row: &rusqlite::Row<'_>| Ok(StoredTaint { private: row.get(0)?, untrusted: row.get(1)? });
    Ok(connection.prepare_cached(&sql)?.query_row([session], read)?)
}

pub(super) fn skills(connection: &Connection, session: &str) -> Result<Option<String>, SqlFault> {
    let found =
        connection.prepare_cached("SELECT skills FROM sessions WHERE id = ?1")?.query_row([session], |row| row.get(0)).optional()?;
    found.ok_or_else(|| StoreError::no_session(session).into())
}
