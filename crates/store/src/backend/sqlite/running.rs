//! Calls that run, each with its process: after a kill, the next start finds what was cut off.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};

use super::owners::Owners;
use crate::CallStatus;
use crate::error::SqlFault;

const PUT: &str = "INSERT OR REPLACE INTO running (record, presence) VALUES (?1, ?2)";
const TAKE: &str = "UPDATE running SET presence = ?3 WHERE record = ?1 AND presence = ?2";

/// The calls that this process has noted as running, or taken from one that has ended. Most calls are not noted: they are written once,
/// with their outcome, and this saves them a search of the table.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(Mutex<HashSet<String>>);

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Forgets a call whose outcome is on disk. Not before: a group that could not be written is applied again.
    pub(super) fn forget(&self, record: &str) {
        self.lock().remove(record);
    }
}

/// Notes that this process has begun a call, or that the call has its outcome.
pub(super) fn note(connection: &Connection, owners: &Owners, record: &str, status: &CallStatus) -> rusqlite::Result<()> {
    match (status, owners.my_id()) {
        (CallStatus::Begun, Some(presence)) => {
            owners.running.lock().insert(record.to_owned());
            connection.prepare_cached(PUT)?.execute(params![record, presence]).map(drop)
        }
        // Without a presence nobody could tell whether the call still runs.
        (CallStatus::Begun, None) => Ok(()),
        _ if owners.running.lock().contains(record) => end(connection, record),
        _ => Ok(()),
    }
}

/// Notes that nothing of a call is left to be done.
pub(super) fn end(connection: &Connection, record: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM running WHERE record = ?1")?.execute([record])?;
    Ok(())
}

/// Whether no call is noted at all; not where that cannot be read.
pub(super) fn is_empty(connection: &Connection) -> bool {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM running)", [], |row| row.get(0)).unwrap_or(false)
}

/// The calls whose process has ended without recording an outcome, each with the id of that process, the oldest first.
pub(super) fn interrupted(connection: &Connection, owners: &Owners) -> Result<Vec<(String, String)>, SqlFault> {
    let mut statement = connection.prepare_cached("SELECT record, presence FROM running ORDER BY record")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut interrupted = Vec::new();
    for row in rows {
        let (record, presence): (String, String) = row?;
        if !owners.is_mine(&presence) && !owners.is_alive(&presence)? {
            interrupted.push((record, presence));
        }
    }
    Ok(interrupted)
}

/// Makes an interrupted call this process's own; says whether no other process was faster.
pub(super) fn take(connection: &Connection, owners: &Owners, record: &str, ended: &str) -> rusqlite::Result<bool> {
    let Some(presence) = owners.my_id() else { return Ok(false) };
    owners.running.lock().insert(record.to_owned());
    Ok(connection.prepare_cached(TAKE)?.execute(params![record, ended, presence])? > 0)
}

/// The calls that living processes run.
pub(super) fn in_use(connection: &Connection, owners: &Owners) -> Result<HashSet<String>, SqlFault> {
    let interrupted: HashSet<String> = interrupted(connection, owners)?.into_iter().map(|(record, _)| record).collect();
    let mut statement = connection.prepare_cached("SELECT record FROM running")?;
    let records = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<HashSet<String>>>()?;
    Ok(records.difference(&interrupted).cloned().collect())
}
