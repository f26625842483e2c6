//! Messages as rows: appended, rewritten, read.

use std::time::SystemTime;

use tokio_postgres::Row;

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute};
use super::session_rows::{Locked, require};
use crate::backend::values::{integer, nanoseconds_since_1970};
use crate::{MessageRecord, NewMessage, ReplacedMessage, StoreError};

/// The messages and what they change of their session, in one statement.
const PUT: &str = "WITH added AS (INSERT INTO messages (session, number, kind, created, body) \
     SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[]) RETURNING created) \
     UPDATE sessions SET messages = $6, updated = greatest(updated, (SELECT max(created) FROM added)), \
     closed = closed AND NOT EXISTS (SELECT 1 FROM added) WHERE id = $1";

const KEEP_REPLACED: &str = "INSERT INTO messages_replaced (session, number, kind, created, body, reason, replaced) \
     SELECT session, number, kind, created, body, $3, $4 FROM messages WHERE session = $1 AND number >= $2 ORDER BY number";

const PAGE: &str = "SELECT session, number, kind, created, body FROM messages WHERE session = $1 AND number >= $2 ORDER BY number LIMIT $3";

const REPLACED: &str = "SELECT session, number, kind, created, body, reason, replaced FROM messages_replaced WHERE session = $1 \
     ORDER BY sequence LIMIT $2";

/// Says the number that the next message will get.
pub(super) async fn append(link: &Link, session: &Locked<'_>, expected: Option<u64>, messages: &[NewMessage]) -> Result<u64, Failure> {
    let next = session.messages;
    if let Some(expected) = expected.filter(|expected| *expected != next) {
        return Err(StoreError::Conflict { session: session.id.to_owned(), expected, next }.into());
    }
    put(link, session.id, next, messages).await
}

/// Says the number that the next message will get.
pub(super) async fn rewrite(
    link: &Link,
    session: &Locked<'_>,
    from: u64,
    messages: &[NewMessage],
    (reason, now): (&str, SystemTime),
) -> Result<u64, Failure> {
    if from > session.messages {
        return Err(StoreError::no_message(session.id, from).into());
    }
    let (id, start) = (Text(session.id), integer(from));
    execute(link, KEEP_REPLACED, &[&id, &start, &Text(reason), &nanoseconds_since_1970(now)]).await?;
    execute(link, "DELETE FROM messages WHERE session = $1 AND number >= $2", &[&id, &start]).await?;
    put(link, session.id, from, messages).await
}

/// Adds messages at the end, which is at this number.
async fn put(link: &Link, session: &str, first: u64, messages: &[NewMessage]) -> Result<u64, Failure> {
    let next = first + messages.len() as u64;
    let numbers: Vec<i64> = (first..next).map(integer).collect();
    let kinds: Vec<Text<'_>> = messages.iter().map(|message| Text(&message.kind)).collect();
    let created: Vec<i64> = messages.iter().map(|message| nanoseconds_since_1970(message.created)).collect();
    let bodies: Vec<Text<'_>> = messages.iter().map(|message| Text(&message.body)).collect();
    execute(link, PUT, &[&Text(session), &numbers, &kinds, &created, &bodies, &integer(next)]).await?;
    Ok(next)
}

pub(super) async fn page(link: &Link, session: &str, from: u64, limit: usize) -> Result<Vec<MessageRecord>, Failure> {
    require(link, session).await?;
    all(link, PAGE, &[&Text(session), &integer(from), &integer(limit)], message).await
}

pub(super) async fn replaced(link: &Link, session: &str, limit: usize) -> Result<Vec<ReplacedMessage>, Failure> {
    require(link, session).await?;
    let read = |row: &Row| Ok(ReplacedMessage { message: message(row)?, reason: row.text(5)?, replaced: row.time(6)? });
    all(link, REPLACED, &[&Text(session), &integer(limit)], read).await
}

/// Reads `session, number, kind, created, body`.
fn message(row: &Row) -> Result<MessageRecord, Failure> {
    Ok(MessageRecord { session: row.text(0)?, number: row.number(1)?, kind: row.text(2)?, created: row.time(3)?, body: row.text(4)? })
}
