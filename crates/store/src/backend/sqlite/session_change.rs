//! Changes of sessions, each whole or not at all, whatever else its group holds.

use rusqlite::Connection;

use super::failure::is_own;
use super::owners::Owners;
use super::{claims, messages, session_rows, sub_agents, taint, todos, usage};
use crate::StoreError;
use crate::backend::write::{ChangeAnswer, SessionChange};
use crate::error::SqlFault;

/// The outer error is the database's, the inner one this change's own.
pub(super) fn apply(connection: &Connection, change: &SessionChange, owners: &Owners) -> rusqlite::Result<ChangeAnswer> {
    connection.prepare_cached("SAVEPOINT change")?.execute([])?;
    let answer = match make(connection, change, owners) {
        Err(SqlFault::Sql(error)) if !is_own(&error) => return Err(error),
        answer => answer.map_err(StoreError::from),
    };
    if answer.is_err() {
        connection.prepare_cached("ROLLBACK TO change")?.execute([])?;
    }
    connection.prepare_cached("RELEASE change")?.execute([])?;
    Ok(answer)
}

fn make(connection: &Connection, change: &SessionChange, owners: &Owners) -> Result<u64, SqlFault> {
    match change {
        SessionChange::Create(record) => session_rows::create(connection, record).map(|()| 0),
        SessionChange::Rename { session, title } => session_rows::set(connection, session, "title", title).map(|()| 0),
        SessionChange::SetAccess { session, access } => session_rows::set(connection, session, "access", access).map(|()| 0),
        SessionChange::SetModel { session, model } => session_rows::set(connection, session, "model", model).map(|()| 0),
        SessionChange::Close(session) => session_rows::set(connection, session, "closed", &true).map(|()| 0),
        SessionChange::Delete(session) => {
            claims::refuse_others(connection, owners, session)?;
            session_rows::delete(connection, session).map(|()| 0)
        }
        SessionChange::Fork { session, at, id, now } => session_rows::fork(connection, session, *at, id, *now).map(|()| 0),
        SessionChange::Append { session, expected, messages } => {
            claims::refuse_others(connection, owners, session)?;
            messages::append(connection, session, *expected, messages)
        }
        SessionChange::Rewrite { session, from, messages, reason, now } => {
            claims::refuse_others(connection, owners, session)?;
            messages::rewrite(connection, session, *from, messages, reason, *now)
        }
        SessionChange::Claim(claiming) => claims::claim(connection, owners, claiming).map(|()| 0),
        SessionChange::Release { token } => claims::release(connection, token).map(|()| 0),
        SessionChange::Usage(record) => usage::add(connection, record).map(|()| 0),
        SessionChange::SubAgent { status, presence } => sub_agents::put(connection, status, presence).map(|()| 0),
        SessionChange::InterruptSubAgents { now } => sub_agents::interrupt(connection, owners, *now),
        SessionChange::Todos { session, version } => todos::add(connection, session, version).map(|()| 0),
        SessionChange::Taint { session, taint } => taint::add(connection, session, *taint).map(|()| 0),
        SessionChange::SetSkills { session, skills } => session_rows::set(connection, session, "skills", skills).map(|()| 0),
    }
}
