//! Senders, codes, conversations and messages that came in, as rows.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::backend::values::{integer, nanoseconds_since_1970, time};
use crate::backend::write::{RIGHT, WRONG};
use crate::channel_store::{ConversationRecord, PairedSender};

/// How long a message that came in is remembered: services deliver again for a day at most.
pub(in crate::backend) const SEEN_AGE: Duration = Duration::from_hours(3 * 24);
const CONVERSATION: &str = "SELECT channel, conversation, session, sender, is_owner, updated FROM channel_conversations";
const PUT_CONVERSATION: &str = "INSERT INTO channel_conversations (channel, conversation, session, sender, is_owner, updated) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (channel, conversation) DO UPDATE SET session = excluded.session, \
     sender = excluded.sender, is_owner = excluded.is_owner, updated = excluded.updated";

pub(super) fn add_sender(connection: &Connection, sender: &PairedSender) -> rusqlite::Result<u64> {
    let sql = "INSERT OR REPLACE INTO channel_senders (channel, sender, name, added) VALUES (?1, ?2, ?3, ?4)";
    let values = params![sender.channel, sender.sender, sender.name, nanoseconds_since_1970(sender.added)];
    Ok(connection.prepare_cached(sql)?.execute(values)? as u64)
}

pub(super) fn remove_sender(connection: &Connection, channel: &str, sender: &str) -> rusqlite::Result<u64> {
    let sql = "DELETE FROM channel_senders WHERE channel = ?1 AND sender = ?2";
    Ok(connection.prepare_cached(sql)?.execute([channel, sender])? as u64)
}

pub(super) fn senders(connection: &Connection) -> rusqlite::Result<Vec<PairedSender>> {
    let read = |row: &Row<'_>| Ok(PairedSender { channel: row.get(0)?, sender: row.get(1)?, name: row.get(2)?, added: time(row.get(3)?) });
    let sql = "SELECT channel, sender, name, added FROM channel_senders ORDER BY channel, added, sender";
    connection.prepare_cached(sql)?.query_map([], read)?.collect()
}

pub(super) fn open_code(connection: &Connection, channel: &str, hash: &str, expires: SystemTime) -> rusqlite::Result<u64> {
    let sql = "INSERT OR REPLACE INTO channel_codes (channel, hash, expires, guesses) VALUES (?1, ?2, ?3, 0)";
    Ok(connection.prepare_cached(sql)?.execute(params![channel, hash, nanoseconds_since_1970(expires)])? as u64)
}

/// A right guess uses the code up; a wrong one counts.
pub(super) fn guess_code(connection: &Connection, (channel, hash): (&str, &str), now: SystemTime, most: u32) -> rusqlite::Result<u64> {
    let now = nanoseconds_since_1970(now);
    let gone = "DELETE FROM channel_codes WHERE channel = ?1 AND (expires <= ?2 OR guesses >= ?3)";
    connection.prepare_cached(gone)?.execute(params![channel, now, most])?;
    let used = connection.prepare_cached("DELETE FROM channel_codes WHERE channel = ?1 AND hash = ?2")?.execute([channel, hash])?;
    if used > 0 {
        return Ok(RIGHT);
    }
    let counted = connection.prepare_cached("UPDATE channel_codes SET guesses = guesses + 1 WHERE channel = ?1")?.execute([channel])?;
    Ok(if counted > 0 { WRONG } else { 0 })
}

pub(super) fn put_conversation(connection: &Connection, record: &ConversationRecord) -> rusqlite::Result<u64> {
    let values = params![
        record.channel,
        record.conversation,
        record.session,
        record.sender,
        record.is_owner,
        nanoseconds_since_1970(record.updated)
    ];
    Ok(connection.prepare_cached(PUT_CONVERSATION)?.execute(values)? as u64)
}

fn conversation_row(row: &Row<'_>) -> rusqlite::Result<ConversationRecord> {
    Ok(ConversationRecord {
        channel: row.get(0)?,
        conversation: row.get(1)?,
        session: row.get(2)?,
        sender: row.get(3)?,
        is_owner: row.get(4)?,
        updated: time(row.get(5)?),
    })
}

pub(super) fn conversation(connection: &Connection, channel: &str, conversation: &str) -> rusqlite::Result<Option<ConversationRecord>> {
    let sql = format!("{CONVERSATION} WHERE channel = ?1 AND conversation = ?2");
    connection.prepare_cached(&sql)?.query_row([channel, conversation], conversation_row).optional()
}

pub(super) fn conversation_of(connection: &Connection, session: &str) -> rusqlite::Result<Option<ConversationRecord>> {
    let sql = format!("{CONVERSATION} WHERE session = ?1 ORDER BY updated DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row([session], conversation_row).optional()
}

pub(super) fn conversations(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<ConversationRecord>> {
    let sql = format!("{CONVERSATION} ORDER BY updated DESC LIMIT ?1");
    connection.prepare_cached(&sql)?.query_map([integer(limit as u64)], conversation_row)?.collect()
}

/// Says 1 if the message is new. Each that is new also sweeps, so that the table cannot grow for ever.
pub(super) fn see(connection: &Connection, channel: &str, message: &str, at: SystemTime) -> rusqlite::Result<u64> {
    let oldest = at.checked_sub(SEEN_AGE).unwrap_or(SystemTime::UNIX_EPOCH);
    let sweep = "DELETE FROM channel_seen WHERE rowid IN (SELECT rowid FROM channel_seen ORDER BY rowid LIMIT 4) AND at < ?1";
    connection.prepare_cached(sweep)?.execute([nanoseconds_since_1970(oldest)])?;
    let sql = "INSERT OR IGNORE INTO channel_seen (channel, message, at) VALUES (?1, ?2, ?3)";
    Ok(connection.prepare_cached(sql)?.execute(params![channel, message, nanoseconds_since_1970(at)])? as u64)
}

pub(super) fn cursor(connection: &Connection, channel: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT cursor FROM channel_cursors WHERE channel = ?1";
    connection.prepare_cached(sql)?.query_row([channel], |row| row.get(0)).optional()
}

pub(super) fn set_cursor(connection: &Connection, channel: &str, cursor: &str) -> rusqlite::Result<u64> {
    let sql = "INSERT OR REPLACE INTO channel_cursors (channel, cursor) VALUES (?1, ?2)";
    Ok(connection.prepare_cached(sql)?.execute([channel, cursor])? as u64)
}
