//! What channels keep, as rows.

use std::time::SystemTime;

use haft_contract::ports::SendOutcome;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use super::presence::Presences;
use crate::backend::sqlite::{MOST_OUTGOING, SEEN_AGE, outgoing_record};
use crate::backend::values::{integer, nanoseconds_since_1970};
use crate::backend::write::{RIGHT, WRONG};
use crate::{ConversationRecord, OutgoingRecord, PairedSender, SendIntent, UnansweredMessage};

const COLUMNS: &str = "id, channel, recipient, action, fingerprint, excerpt, session, call, created, outcome, message, reason";
const ADD: &str = "INSERT INTO channel_messages (id, channel, recipient, action, fingerprint, excerpt, session, call, created) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const FORGET_OLD: &str = "DELETE FROM channel_messages WHERE sequence <= (SELECT max(sequence) FROM channel_messages) - $1";
/// The same id, or the same content whose outcome nobody knows.
const KNOWN: &str = "id = $1 OR (fingerprint = $2 AND created >= $3 AND (outcome IS NULL OR outcome = 'unknown'))";
/// Two processes that send the same wait for each other here, until the end of the transaction.
const ONE_AT_A_TIME: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 1))";
const CONVERSATION: &str = "SELECT channel, conversation, session, sender, is_owner, updated FROM channel_conversations";
const PUT_CONVERSATION: &str = "INSERT INTO channel_conversations (channel, conversation, session, sender, is_owner, updated) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (channel, conversation) DO UPDATE SET session = excluded.session, \
     sender = excluded.sender, is_owner = excluded.is_owner, updated = excluded.updated";

/// Says 1 if the message must not be sent.
pub(super) async fn intend(link: &Link, intent: &SendIntent, since: SystemTime) -> Result<u64, Failure> {
    let (id, fingerprint) = (Text(&intent.id), Text(&intent.fingerprint));
    row(link, ONE_AT_A_TIME, &[&id, &fingerprint]).await?;
    let sql = format!("SELECT EXISTS (SELECT 1 FROM channel_messages WHERE {KNOWN})");
    if row(link, &sql, &[&id, &fingerprint, &nanoseconds_since_1970(since)]).await?.map_or(Ok(false), |row| row.flag(0))? {
        return Ok(1);
    }
    let (session, call) = intent.origin.as_ref().map(|(session, call)| (Text(session), Text(call))).unzip();
    let values: [&(dyn ToSql + Sync); 9] = [
        &id,
        &Text(&intent.channel),
        &Text(&intent.recipient),
        &Text(&intent.action),
        &fingerprint,
        &Text(&intent.excerpt),
        &session,
        &call,
        &nanoseconds_since_1970(intent.created),
    ];
    execute(link, ADD, &values).await?;
    execute(link, FORGET_OLD, &[&integer(MOST_OUTGOING)]).await?;
    Ok(0)
}

/// The message because of which another is not sent.
pub(super) async fn find_duplicate(link: &Link, id: &str, fingerprint: &str, now: SystemTime) -> Result<Option<OutgoingRecord>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM channel_messages WHERE {KNOWN} ORDER BY id = $1 DESC, sequence DESC LIMIT 1");
    row(link, &sql, &[&Text(id), &Text(fingerprint), &i64::MIN]).await?.map(|row| outgoing(&row, now)).transpose()
}

pub(super) async fn settle(
    link: &Link,
    id: &str,
    outcome: SendOutcome,
    (message, reason): (Option<&str>, Option<&str>),
    at: SystemTime,
) -> Result<u64, Failure> {
    // An answer that comes late is more than "unknown".
    let sql = "UPDATE channel_messages SET outcome = $2, message = $3, reason = $4, ended = $5 \
               WHERE id = $1 AND (outcome IS NULL OR outcome = 'unknown')";
    let (message, reason) = (message.map(Text), reason.map(Text));
    execute(link, sql, &[&Text(id), &outcome.as_str(), &message, &reason, &nanoseconds_since_1970(at)]).await
}

pub(super) async fn list(link: &Link, channel: Option<&str>, limit: usize, now: SystemTime) -> Result<Vec<OutgoingRecord>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM channel_messages WHERE $1::text IS NULL OR channel = $1 ORDER BY sequence DESC LIMIT $2");
    all(link, &sql, &[&channel.map(Text), &integer(limit)], |row| outgoing(row, now)).await
}

fn outgoing(row: &Row, now: SystemTime) -> Result<OutgoingRecord, Failure> {
    let intent = SendIntent {
        id: row.text(0)?,
        channel: row.text(1)?,
        recipient: row.text(2)?,
        action: row.text(3)?,
        fingerprint: row.text(4)?,
        excerpt: row.text(5)?,
        origin: row.maybe_text(6)?.zip(row.maybe_text(7)?),
        created: row.time(8)?,
    };
    Ok(outgoing_record(intent, row.maybe_text(9)?.as_deref(), (row.maybe_text(10)?, row.maybe_text(11)?), now))
}

pub(super) async fn add_sender(link: &Link, sender: &PairedSender) -> Result<u64, Failure> {
    let sql = "INSERT INTO channel_senders (channel, sender, name, added) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (channel, sender) DO UPDATE SET name = excluded.name, added = excluded.added";
    let PairedSender { channel, sender, name, added } = sender;
    execute(link, sql, &[&Text(channel), &Text(sender), &Text(name), &nanoseconds_since_1970(*added)]).await
}

pub(super) async fn remove_sender(link: &Link, channel: &str, sender: &str) -> Result<u64, Failure> {
    execute(link, "DELETE FROM channel_senders WHERE channel = $1 AND sender = $2", &[&Text(channel), &Text(sender)]).await
}

pub(super) async fn senders(link: &Link) -> Result<Vec<PairedSender>, Failure> {
    let sql = "SELECT channel, sender, name, added FROM channel_senders ORDER BY channel, added, sender";
    let read = |row: &Row| Ok(PairedSender { channel: row.text(0)?, sender: row.text(1)?, name: row.text(2)?, added: row.time(3)? });
    all(link, sql, &[], read).await
}

pub(super) async fn open_code(link: &Link, channel: &str, hash: &str, expires: SystemTime) -> Result<u64, Failure> {
    let sql = "INSERT INTO channel_codes (channel, hash, expires, guesses) VALUES ($1, $2, $3, 0) \
               ON CONFLICT (channel) DO UPDATE SET hash = excluded.hash, expires = excluded.expires, guesses = 0";
    execute(link, sql, &[&Text(channel), &Text(hash), &nanoseconds_since_1970(expires)]).await
}

/// A right guess uses the code up; a wrong one counts.
pub(super) async fn guess_code(link: &Link, (channel, hash): (&str, &str), now: SystemTime, most: u32) -> Result<u64, Failure> {
    let (channel, now) = (Text(channel), nanoseconds_since_1970(now));
    let gone = "DELETE FROM channel_codes WHERE channel = $1 AND (expires <= $2 OR guesses >= $3)";
    execute(link, gone, &[&channel, &now, &i64::from(most)]).await?;
    if execute(link, "DELETE FROM channel_codes WHERE channel = $1 AND hash = $2", &[&channel, &Text(hash)]).await? > 0 {
        return Ok(RIGHT);
    }
    let counted = execute(link, "UPDATE channel_codes SET guesses = guesses + 1 WHERE channel = $1", &[&channel]).await?;
    Ok(if counted > 0 { WRONG } else { 0 })
}

pub(super) async fn put_conversation(link: &Link, record: &ConversationRecord) -> Result<u64, Failure> {
    let ConversationRecord { channel, conversation, session, sender, is_owner, updated } = record;
    let values: [&(dyn ToSql + Sync); 6] =
        [&Text(channel), &Text(conversation), &Text(session), &Text(sender), is_owner, &nanoseconds_since_1970(*updated)];
    execute(link, PUT_CONVERSATION, &values).await
}

fn conversation_row(row: &Row) -> Result<ConversationRecord, Failure> {
    Ok(ConversationRecord {
        channel: row.text(0)?,
        conversation: row.text(1)?,
        session: row.text(2)?,
        sender: row.text(3)?,
        is_owner: row.flag(4)?,
        updated: row.time(5)?,
    })
}

pub(super) async fn conversation(link: &Link, channel: &str, conversation: &str) -> Result<Option<ConversationRecord>, Failure> {
    let sql = format!("{CONVERSATION} WHERE channel = $1 AND conversation = $2");
    row(link, &sql, &[&Text(channel), &Text(conversation)]).await?.as_ref().map(conversation_row).transpose()
}

pub(super) async fn conversation_of(link: &Link, session: &str) -> Result<Option<ConversationRecord>, Failure> {
    let sql = format!("{CONVERSATION} WHERE session = $1 ORDER BY updated DESC LIMIT 1");
    row(link, &sql, &[&Text(session)]).await?.as_ref().map(conversation_row).transpose()
}

pub(super) async fn conversations(link: &Link, limit: usize) -> Result<Vec<ConversationRecord>, Failure> {
    all(link, &format!("{CONVERSATION} ORDER BY updated DESC LIMIT $1"), &[&integer(limit)], conversation_row).await
}

/// Says 1 if the message is new. Each that is new also sweeps, so that the table cannot grow for ever.
pub(super) async fn see(link: &Link, channel: &str, message: &str, at: SystemTime) -> Result<u64, Failure> {
    let oldest = nanoseconds_since_1970(at.checked_sub(SEEN_AGE).unwrap_or(SystemTime::UNIX_EPOCH));
    let sweep =
        "DELETE FROM channel_seen WHERE ctid IN (SELECT ctid FROM channel_seen WHERE at < $1 ORDER BY at LIMIT 4 FOR UPDATE SKIP LOCKED)";
    execute(link, sweep, &[&oldest]).await?;
    let sql = "INSERT INTO channel_seen (channel, message, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    execute(link, sql, &[&Text(channel), &Text(message), &nanoseconds_since_1970(at)]).await
}

pub(super) async fn cursor(link: &Link, channel: &str) -> Result<Option<String>, Failure> {
    row(link, "SELECT cursor FROM channel_cursors WHERE channel = $1", &[&Text(channel)]).await?.map(|row| row.text(0)).transpose()
}

pub(super) async fn set_cursor(link: &Link, channel: &str, cursor: &str) -> Result<u64, Failure> {
    let sql = "INSERT INTO channel_cursors (channel, cursor) VALUES ($1, $2) ON CONFLICT (channel) DO UPDATE SET cursor = excluded.cursor";
    execute(link, sql, &[&Text(channel), &Text(cursor)]).await
}

/// Notes that a message waits for an answer of a process.
pub(super) async fn wait(link: &Link, (channel, message, body): (&str, &str, &str), at: SystemTime, presence: &str) -> Result<(), Failure> {
    let sql = "INSERT INTO channel_waiting (channel, message, body, at, attempts, presence) VALUES ($1, $2, $3, $4, 1, $5) \
               ON CONFLICT DO NOTHING";
    let values: [&(dyn ToSql + Sync); 5] = [&Text(channel), &Text(message), &Text(body), &nanoseconds_since_1970(at), &Text(presence)];
    execute(link, sql, &values).await.map(drop)
}

pub(super) async fn stop_waiting(link: &Link, channel: &str, message: &str) -> Result<u64, Failure> {
    execute(link, "DELETE FROM channel_waiting WHERE channel = $1 AND message = $2", &[&Text(channel), &Text(message)]).await
}

/// Says 1 if no other process has taken it since it was read.
pub(super) async fn take_waiting(link: &Link, sequence: i64, before: &str, presence: &str) -> Result<u64, Failure> {
    let sql = "UPDATE channel_waiting SET presence = $3, attempts = attempts + 1 WHERE sequence = $1 AND presence = $2";
    execute(link, sql, &[&sequence, &Text(before), &Text(presence)]).await
}

/// Those whose process has ended, with their rows and that process.
pub(super) async fn left_behind(link: &Link, presences: &Presences) -> Result<Vec<(i64, String, UnansweredMessage)>, Failure> {
    let sql = "SELECT sequence, presence, channel, message, body, at, attempts FROM channel_waiting ORDER BY sequence";
    let read = |row: &Row| {
        let (channel, message, body) = (row.text(2)?, row.text(3)?, row.text(4)?);
        let message = UnansweredMessage { channel, message, body, at: row.time(5)?, attempts: row.small(6)? };
        Ok((row.signed(0)?, row.text(1)?, message))
    };
    let mut left = Vec::new();
    for waiting in all(link, sql, &[], read).await? {
        if !presences.is_alive(link, &waiting.1).await? {
            left.push(waiting);
        }
    }
    Ok(left)
}
