//! Messages as rows: appended, rewritten, read.

use std::time::SystemTime;

use rusqlite::{Connection, Row, params};

use super::rows::{lossy, number};
use super::session_rows::{message_count, require};
use crate::backend::values::{integer, nanoseconds_since_1970, time};
use crate::error::SqlFault;
use crate::{MessageRecord, NewMessage, ReplacedMessage, StoreError};

const PUT: &str = "INSERT INTO messages (session, number, kind, created, body) VALUES (?1, ?2, ?3, ?4, ?5)";

const SETTLE: &str =
    "UPDATE sessions SET messages = ?2, updated = max(updated, coalesce(?3, updated)), closed = closed AND ?3 IS NULL WHERE id = ?1";

const KEEP_REPLACED: &str = "INSERT INTO messages_replaced (session, number, kind, created, body, reason, replaced) \
     SELECT session, number, kind, created, body, ?3, ?4 FROM messages WHERE session = ?1 AND number >= ?2 ORDER BY number";

const PAGE: &str = "SELECT session, number, kind, created, body FROM messages WHERE session = ?1 AND number >= ?2 ORDER BY number LIMIT ?3";

const REPLACED: &str = "SELECT session, number, kind, created, body, reason, replaced FROM messages_replaced WHERE session = ?1 \
     ORDER BY sequence LIMIT ?2";

/// Says the number that the next message will get.
pub(super) fn append(connection: &Connection, session: &str, expected: Option<u64>, messages: &[NewMessage]) -> Result<u64, SqlFault> {
    let next = message_count(connection, session)?;
    if let Some(expected) = expected.filter(|expected| *expected != next) {
        return Err(StoreError::Conflict { session: session.to_owned(), expected, next }.into());
    }
    put(connection, session, next, messages)
}

/// Says the number that the next message will get.
pub(super) fn rewrite(
    connection: &Connection,
    session: &str,
    from: u64,
    messages: &[NewMessage],
    reason: &str,
    now: SystemTime,
) -> Result<u64, SqlFault> {
    if from > message_count(connection, session)? {
        return Err(StoreError::no_message(session, from).into());
    }
    let start = integer(from);
    connection.prepare_cached(KEEP_REPLACED)?.execute(params![session, start, reason, nanoseconds_since_1970(now)])?;
    connection.prepare_cached("DELETE FROM messages WHERE session = ?1 AND number >= ?2")?.execute(params![session, start])?;
    put(connection, session, from, messages)
}

/// Adds messages at the end, which is at this number.
fn put(connection: &Connection, session: &str, first: u64, messages: &[NewMessage]) -> Result<u64, SqlFault> {
    let mut insert = connection.prepare_cached(PUT)?;
    let mut next = first;
    for message in messages {
        let created = nanoseconds_since_1970(message.created);
        insert.execute(params![session, integer(next), message.kind, created, message.body])?;
        next += 1;
    }
    let newest = messages.iter().map(|message| nanoseconds_since_1970(message.created)).max();
    connection.prepare_cached(SETTLE)?.execute(params![session, integer(next), newest])?;
    Ok(next)
}

pub(super) fn page(connection: &Connection, session: &str, from: u64, limit: usize) -> Result<Vec<MessageRecord>, SqlFault> {
    require(connection, session)?;
    let mut page = connection.prepare_cached(PAGE)?;
    let messages = page.query_map(params![session, integer(from), integer(limit)], message)?;
    Ok(messages.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn replaced(connection: &Connection, session: &str, limit: usize) -> Result<Vec<ReplacedMessage>, SqlFault> {
    require(connection, session)?;
    let mut replaced = connection.prepare_cached(REPLACED)?;
    let read = |row: &Row<'_>| Ok(ReplacedMessage { message: message(row)?, reason: row.get(5)?, replaced: time(row.get(6)?) });
    let messages = replaced.query_map(params![session, integer(limit)], read)?;
    Ok(messages.collect::<rusqlite::Result<_>>()?)
}

/// Reads `session, number, kind, created, body`. One damaged message must not hide the others.
fn message(row: &Row<'_>) -> rusqlite::Result<MessageRecord> {
    Ok(MessageRecord {
        session: lossy(row, 0)?,
        number: number(row, 1)?,
        kind: lossy(row, 2)?,
        created: time(row.get(3)?),
        body: lossy(row, 4)?,
    })
}
