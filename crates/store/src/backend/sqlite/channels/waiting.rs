//! Messages that came in and wait for an answer, as rows.

use std::time::SystemTime;

use rusqlite::{Connection, Row, params};

use crate::backend::sqlite::owners::Owners;
use crate::backend::values::{nanoseconds_since_1970, time};
use crate::channel_store::UnansweredMessage;
use crate::error::SqlFault;

pub(super) fn add(
    connection: &Connection,
    (channel, message, body): (&str, &str, &str),
    at: SystemTime,
    presence: &str,
) -> rusqlite::Result<u64> {
    let sql = "INSERT OR IGNORE INTO channel_waiting (channel, message, body, at, attempts, presence) VALUES (?1, ?2, ?3, ?4, 1, ?5)";
    let values = params![channel, message, body, nanoseconds_since_1970(at), presence];
    Ok(connection.prepare_cached(sql)?.execute(values)? as u64)
}

pub(super) fn remove(connection: &Connection, channel: &str, message: &str) -> rusqlite::Result<u64> {
    let sql = "DELETE FROM channel_waiting WHERE channel = ?1 AND message = ?2";
    Ok(connection.prepare_cached(sql)?.execute([channel, message])? as u64)
}

/// Says 1 if no other process has taken it since it was read.
pub(super) fn take(connection: &Connection, sequence: i64, before: &str, presence: &str) -> rusqlite::Result<u64> {
    let sql = "UPDATE channel_waiting SET presence = ?3, attempts = attempts + 1 WHERE sequence = ?1 AND presence = ?2";
    Ok(connection.prepare_cached(sql)?.execute(params![sequence, before, presence])? as u64)
}

/// Those whose process has ended, with their rows and that process.
pub(super) fn left_behind(connection: &Connection, owners: &Owners) -> Result<Vec<(i64, String, UnansweredMessage)>, SqlFault> {
    let sql = "SELECT sequence, presence, channel, message, body, at, attempts FROM channel_waiting ORDER BY sequence";
    let read = |row: &Row<'_>| {
        let message = UnansweredMessage {
            channel: row.get(2)?,
            message: row.get(3)?,
            body: row.get(4)?,
            at: time(row.get(5)?),
            attempts: row.get(6)?,
        };
        Ok((row.get(0)?, row.get::<_, String>(1)?, message))
    };
    let rows = connection.prepare_cached(sql)?.query_map([], read)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut left = Vec::new();
    for (sequence, presence, message) in rows {
        if !owners.is_mine(&presence) && !owners.is_alive(&presence)? {
            left.push((sequence, presence, message));
        }
    }
    Ok(left)
}
