//! Messages that were to be sent, as rows.

use std::time::SystemTime;

use haft_contract::ports::SendOutcome;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::backend::values::{integer, nanoseconds_since_1970, time};
use crate::channel_store::{INTENT_AGE, OutgoingRecord, SendIntent};

/// Rows that are kept; the oldest go.
pub(in crate::backend) const MOST_OUTGOING: u64 = 20_000;
const COLUMNS: &str = "id, channel, recipient, action, fingerprint, excerpt, session, call, created, outcome, message, reason";
const ADD: &str = "INSERT INTO channel_messages (id, channel, recipient, action, fingerprint, excerpt, session, call, created) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const FORGET_OLD: &str = "DELETE FROM channel_messages WHERE sequence <= (SELECT max(sequence) FROM channel_messages) - ?1";
/// The same id, or the same content whose outcome nobody knows.
const KNOWN: &str = "id = ?1 OR (fingerprint = ?2 AND created >= ?3 AND (outcome IS NULL OR outcome = 'unknown'))";

/// Says 1 if the message must not be sent.
pub(super) fn intend(connection: &Connection, intent: &SendIntent, since: SystemTime) -> rusqlite::Result<u64> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM channel_messages WHERE {KNOWN})");
    let values = params![intent.id, intent.fingerprint, nanoseconds_since_1970(since)];
    if connection.prepare_cached(&sql)?.query_row(values, |row| row.get::<_, bool>(0))? {
        return Ok(1);
    }
    let (session, call) = intent.origin.as_ref().map(|(session, call)| (session, call)).unzip();
    connection.prepare_cached(ADD)?.execute(params![
        intent.id,
        intent.channel,
        intent.recipient,
        intent.action,
        intent.fingerprint,
        intent.excerpt,
        session,
        call,
        nanoseconds_since_1970(intent.created),
    ])?;
    connection.prepare_cached(FORGET_OLD)?.execute([integer(MOST_OUTGOING)])?;
    Ok(0)
}

/// The message because of which another is not sent.
pub(super) fn find_duplicate(
    connection: &Connection,
    id: &str,
    fingerprint: &str,
    now: SystemTime,
) -> rusqlite::Result<Option<OutgoingRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM channel_messages WHERE {KNOWN} ORDER BY id = ?1 DESC, sequence DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row(params![id, fingerprint, i64::MIN], |row| record(row, now)).optional()
}

pub(super) fn settle(
    connection: &Connection,
    id: &str,
    outcome: SendOutcome,
    (message, reason): (Option<&str>, Option<&str>),
    at: SystemTime,
) -> rusqlite::Result<u64> {
    // An answer that comes late is more than "unknown".
    let sql = "UPDATE channel_messages SET outcome = ?2, message = ?3, reason = ?4, ended = ?5 \
               WHERE id = ?1 AND (outcome IS NULL OR outcome = 'unknown')";
    let values = params![id, outcome.as_str(), message, reason, nanoseconds_since_1970(at)];
    Ok(connection.prepare_cached(sql)?.execute(values)? as u64)
}

pub(super) fn list(connection: &Connection, channel: Option<&str>, limit: usize, now: SystemTime) -> rusqlite::Result<Vec<OutgoingRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM channel_messages WHERE ?1 IS NULL OR channel = ?1 ORDER BY sequence DESC LIMIT ?2");
    connection.prepare_cached(&sql)?.query_map(params![channel, integer(limit as u64)], |row| record(row, now))?.collect()
}

fn record(row: &Row<'_>, now: SystemTime) -> rusqlite::Result<OutgoingRecord> {
    let origin = row.get::<_, Option<String>>(6)?.zip(row.get::<_, Option<String>>(7)?);
    let intent = SendIntent {
        id: row.get(0)?,
        channel: row.get(1)?,
        recipient: row.get(2)?,
        action: row.get(3)?,
        fingerprint: row.get(4)?,
        excerpt: row.get(5)?,
        origin,
        created: time(row.get(8)?),
    };
    let outcome: Option<String> = row.get(9)?;
    Ok(outgoing_record(intent, outcome.as_deref(), (row.get(10)?, row.get(11)?), now))
}

/// What is known of a message that was to be sent.
pub(in crate::backend) fn outgoing_record(
    intent: SendIntent,
    outcome: Option<&str>,
    (message, reason): (Option<String>, Option<String>),
    now: SystemTime,
) -> OutgoingRecord {
    let outcome = outcome.map(|name| name.parse().unwrap_or(SendOutcome::Unknown));
    // The process that sent it was killed in between.
    if outcome.is_none() && now.duration_since(intent.created).is_ok_and(|age| age > INTENT_AGE) {
        let reason = "the program ended before the channel had answered".to_owned();
        return OutgoingRecord { intent, outcome: Some(SendOutcome::Unknown), message, reason: Some(reason) };
    }
    OutgoingRecord { intent, outcome, message, reason }
}
