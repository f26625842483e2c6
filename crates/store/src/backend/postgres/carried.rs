//! What sessions have read and loaded, in their rows: a process that resumes one must know.

use super::failure::Failure;
use super::link::{Columns, Link, Text, execute, row};
use super::session_rows::require;
use crate::{StoreError, StoredTaint};

/// The session, and every session above it: a loop in a damaged store ends, because each counts once.
const ABOVE: &str = "WITH RECURSIVE above (id) AS (SELECT $1::text COLLATE \"C\" UNION SELECT parent FROM sub_agents JOIN above \
     ON session = above.id) SELECT id FROM above";

pub(super) async fn add_taint(link: &Link, session: &str, taint: StoredTaint) -> Result<(), Failure> {
    require(link, session).await?;
    let sql = format!("UPDATE sessions SET private = private OR $2, untrusted = untrusted OR $3 WHERE id IN ({ABOVE})");
    execute(link, &sql, &[&Text(session), &taint.private, &taint.untrusted]).await.map(drop)
}

pub(super) async fn taint(link: &Link, session: &str) -> Result<StoredTaint, Failure> {
    require(link, session).await?;
    let sql = format!("SELECT coalesce(bool_or(private), FALSE), coalesce(bool_or(untrusted), FALSE) FROM sessions WHERE id IN ({ABOVE})");
    let found = row(link, &sql, &[&Text(session)]).await?.ok_or_else(|| StoreError::no_session(session))?;
    Ok(StoredTaint { private: found.flag(0)?, untrusted: found.flag(1)? })
}

pub(super) async fn skills(link: &Link, session: &str) -> Result<Option<String>, Failure> {
    let found = row(link, "SELECT skills FROM sessions WHERE id = $1", &[&Text(session)]).await?;
    found.ok_or_else(|| StoreError::no_session(session))?.maybe_text(0)
}
