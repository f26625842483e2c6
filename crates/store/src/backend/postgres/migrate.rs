//! The schema, version by version, with the numbers of SQLite's. A database of a newer version is refused and left as it is.

use super::failure::Failure;
use super::link::Link;
use crate::StoreError;

/// Each brings the schema to its number. What was released is never changed.
const MIGRATIONS: &[(i64, &str)] = &[(13, include_str!("../migrations/postgres/0013_state.sql"))];

/// One process at a time changes the schema. The number only has to be no other's.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5223876411203)";

const TABLE: &str = "CREATE TABLE IF NOT EXISTS haft_schema (version BIGINT NOT NULL)";

pub(super) fn known() -> i64 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

/// Refuses a newer schema, and brings an older one to the known version, wholly or not at all.
pub(super) async fn apply(link: &Link, server: &str) -> Result<(), Failure> {
    // Nearly always nothing is to be done, and then nothing is locked.
    if version(link).await? == Some(known()) {
        return Ok(());
    }
    link.batch_execute("BEGIN").await?;
    let done = steps(link, server).await;
    link.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn steps(link: &Link, server: &str) -> Result<(), Failure> {
    link.batch_execute(LOCK).await?;
    let found = version(link).await?.unwrap_or(0);
    if found > known() {
        return Err(StoreError::Newer { path: server.into(), found, known: known() }.into());
    }
    link.batch_execute(TABLE).await?;
    for (target, sql) in MIGRATIONS.iter().filter(|(target, _)| *target > found) {
        link.batch_execute(sql).await?;
        link.batch_execute(&format!("DELETE FROM haft_schema; INSERT INTO haft_schema (version) VALUES ({target})")).await?;
    }
    Ok(())
}

/// `None` if there is no schema yet.
async fn version(link: &Link) -> Result<Option<i64>, Failure> {
    let there = link.query_one("SELECT to_regclass('haft_schema') IS NOT NULL", &[]).await?;
    if !there.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    Ok(link.query_opt("SELECT max(version) FROM haft_schema", &[]).await?.and_then(|row| row.try_get(0).ok()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_databases_have_the_same_version() {
        assert_eq!(super::known(), crate::backend::sqlite::known_version());
    }
}
