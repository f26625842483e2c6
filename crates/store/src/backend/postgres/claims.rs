//! Claims of sessions as rows. A row counts only while its owner lives.

use std::collections::HashSet;

use tokio_postgres::Row;

use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute};
use super::presence::Presences;
use super::session_rows::lock;
use crate::backend::values::nanoseconds_since_1970;
use crate::backend::write::ClaimRequest;
use crate::{SessionOwner, StoreError};

const PUT: &str = "INSERT INTO claims (session, token, presence, pid, host, since) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (session) DO UPDATE SET token = excluded.token, presence = excluded.presence, pid = excluded.pid, \
     host = excluded.host, since = excluded.since";

/// Who has claimed a session.
pub(super) struct Holder {
    pub(super) presence: String,
    pub(super) owner: SessionOwner,
}

/// Of a row with the columns `presence, pid, host, since`, if that process lives.
pub(super) async fn living_holder(link: &Link, row: &Row, presences: &Presences) -> Result<Option<Holder>, Failure> {
    let presence = row.text(0)?;
    if !presences.is_alive(link, &presence).await? {
        return Ok(None);
    }
    Ok(Some(Holder { presence, owner: SessionOwner { pid: row.small(1)?, host: row.text(2)?, since: row.time(3)? } }))
}

pub(super) async fn claim(link: &Link, presences: &Presences, claiming: &ClaimRequest) -> Result<(), Failure> {
    let ClaimRequest { session, token, presence, owner } = claiming;
    if let Some(holder) = lock(link, session, presences).await?.holder {
        return Err(StoreError::busy(session, holder.owner).into());
    }
    let (pid, since) = (i64::from(owner.pid), nanoseconds_since_1970(owner.since));
    execute(link, PUT, &[&Text(session), &Text(token), &Text(presence), &pid, &Text(&owner.host), &since]).await.map(drop)
}

pub(super) async fn release(link: &Link, token: &str) -> Result<(), Failure> {
    execute(link, "DELETE FROM claims WHERE token = $1", &[&Text(token)]).await.map(drop)
}

/// The sessions that a living process has claimed.
pub(super) async fn in_use(link: &Link, presences: &Presences) -> Result<HashSet<String>, Failure> {
    let claims = all(link, "SELECT session, presence FROM claims", &[], |row| Ok((row.text(0)?, row.text(1)?))).await?;
    let mut sessions = HashSet::new();
    for (session, presence) in claims {
        if presences.is_alive(link, &presence).await? {
            sessions.insert(session);
        }
    }
    Ok(sessions)
}
