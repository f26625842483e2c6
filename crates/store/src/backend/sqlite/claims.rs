//! Claims of sessions as rows. A row counts only while its owner lives.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::owners::Owners;
use super::session_rows::require;
use crate::backend::values::{nanoseconds_since_1970, time};
use crate::backend::write::ClaimRequest;
use crate::error::SqlFault;
use crate::{SessionOwner, StoreError};

const PUT: &str = "INSERT OR REPLACE INTO claims (session, token, presence, pid, host, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

struct Holder {
    presence: String,
    owner: SessionOwner,
}

pub(super) fn claim(connection: &Connection, owners: &Owners, claiming: &ClaimRequest) -> Result<(), SqlFault> {
    let ClaimRequest { session, token, presence, owner } = claiming;
    require(connection, session)?;
    if let Some(holder) = living_holder(connection, owners, session)? {
        return Err(StoreError::busy(session, holder.owner).into());
    }
    let since = nanoseconds_since_1970(owner.since);
    connection.prepare_cached(PUT)?.execute(params![session, token, presence, owner.pid, owner.host, since])?;
    Ok(())
}

pub(super) fn release(connection: &Connection, token: &str) -> Result<(), SqlFault> {
    connection.prepare_cached("DELETE FROM claims WHERE token = ?1")?.execute([token])?;
    Ok(())
}

/// Refuses a change if another process owns the session.
pub(super) fn refuse_others(connection: &Connection, owners: &Owners, session: &str) -> Result<(), SqlFault> {
    match living_holder(connection, owners, session)? {
        Some(holder) if !owners.is_mine(&holder.presence) => Err(StoreError::busy(session, holder.owner).into()),
        _ => Ok(()),
    }
}

/// The sessions that a living process has claimed.
pub(super) fn in_use(connection: &Connection, owners: &Owners) -> Result<HashSet<String>, SqlFault> {
    let mut statement = connection.prepare_cached("SELECT session, presence FROM claims")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let mut sessions = HashSet::new();
    for row in rows {
        let (session, presence) = row?;
        if owners.is_mine(&presence) || owners.is_alive(&presence)? {
            sessions.insert(session);
        }
    }
    Ok(sessions)
}

fn living_holder(connection: &Connection, owners: &Owners, session: &str) -> Result<Option<Holder>, SqlFault> {
    let Some(holder) = holder(connection, session)? else { return Ok(None) };
    let is_alive = owners.is_mine(&holder.presence) || owners.is_alive(&holder.presence)?;
    Ok(is_alive.then_some(holder))
}

fn holder(connection: &Connection, session: &str) -> rusqlite::Result<Option<Holder>> {
    let sql = "SELECT presence, pid, host, since FROM claims WHERE session = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Holder { presence: row.get(0)?, owner: SessionOwner { pid: row.get(1)?, host: row.get(2)?, since: time(row.get(3)?) } })
    };
    connection.prepare_cached(sql)?.query_row([session], read).optional()
}
