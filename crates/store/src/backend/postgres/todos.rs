//! Versions of to-do lists as rows.

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute};
use crate::TodoVersion;
use crate::backend::values::{integer, nanoseconds_since_1970};
use crate::session_store::MAX_VERSIONS;

const ADD: &str = "INSERT INTO todo_lists (session, call, at, body) VALUES ($1, $2, $3, $4)";
const FORGET_OLD: &str = "DELETE FROM todo_lists WHERE session = $1 AND sequence <= \
     (SELECT sequence FROM todo_lists WHERE session = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2)";
const NEWEST_FIRST: &str = "SELECT call, at, body FROM todo_lists WHERE session = $1 ORDER BY sequence DESC LIMIT $2";
/// The list as it was at the last message of the fork.
const FORK: &str = "INSERT INTO todo_lists (session, call, at, body) SELECT $2, call, at, body FROM todo_lists \
     WHERE session = $1 AND at <= (SELECT max(created) FROM messages WHERE session = $2) ORDER BY sequence DESC LIMIT 1";

pub(super) async fn add(link: &Link, session: &str, version: &TodoVersion) -> Result<(), Failure> {
    let TodoVersion { call, at, body } = version;
    execute(link, ADD, &[&Text(session), &Text(call), &nanoseconds_since_1970(*at), &Text(body)]).await?;
    execute(link, FORGET_OLD, &[&Text(session), &integer(MAX_VERSIONS)]).await.map(drop)
}

pub(super) async fn newest_first(link: &Link, session: &str, limit: usize) -> Result<Vec<TodoVersion>, Failure> {
    let read = |row: &tokio_postgres::Row| Ok(TodoVersion { call: row.text(0)?, at: row.time(1)?, body: row.text(2)? });
    all(link, NEWEST_FIRST, &[&Text(session), &integer(limit)], read).await
}

pub(super) async fn fork(link: &Link, session: &str, id: &str) -> Result<(), Failure> {
    execute(link, FORK, &[&Text(session), &Text(id)]).await.map(drop)
}
