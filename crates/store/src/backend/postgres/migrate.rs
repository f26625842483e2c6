//! The schema, version by version, with the numbers of SQLite's. A database of a newer version is refused and left as it is.

use super::failure::Failure;
use super::link::Link;
use crate::StoreError;

/// Each brings the schema to its number. What was released is never changed.
const MIGRATIONS: &[(i64, &str)] = &[(13, include_str!("../migrations/postgres/0013_state.sql"))];

/// What only a server has: the index of memory, work of several machines. Its versions are its own.
const SERVER_MIGRATIONS: &[(i64, &str)] =
    &[(1, include_str!("../migrations/postgres/server_0001_memory.sql")), (2, include_str!("../migrations/postgres/server_0002_work.sql"))];

/// One process at a time changes the schema. The number only has to be no other's.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5223876411203)";

/// Versions that follow each other, and the table that has the number of the last.
struct Chain {
    table: &'static str,
    migrations: &'static [(i64, &'static str)],
}

const CHAINS: [Chain; 2] =
    [Chain { table: "haft_schema", migrations: MIGRATIONS }, Chain { table: "haft_server_schema", migrations: SERVER_MIGRATIONS }];

impl Chain {
    fn known(&self) -> i64 {
        self.migrations.last().map_or(0, |(version, _)| *version)
    }
}

/// Refuses a newer schema, and brings an older one to the known version, wholly or not at all.
pub(super) async fn apply(link: &Link, server: &str) -> Result<(), Failure> {
    // Nearly always nothing is to be done, and then nothing is locked.
    let mut is_current = true;
    for chain in &CHAINS {
        is_current = is_current && version(link, chain).await? == Some(chain.known());
    }
    if is_current {
        return Ok(());
    }
    link.batch_execute("BEGIN").await?;
    let done = steps(link, server).await;
    link.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn steps(link: &Link, server: &str) -> Result<(), Failure> {
    link.batch_execute(LOCK).await?;
    for chain in &CHAINS {
        let (found, table) = (version(link, chain).await?.unwrap_or(0), chain.table);
        if found > chain.known() {
            return Err(StoreError::Newer { path: server.into(), found, known: chain.known() }.into());
        }
        link.batch_execute(&format!("CREATE TABLE IF NOT EXISTS {table} (version BIGINT NOT NULL)")).await?;
        for (target, sql) in chain.migrations.iter().filter(|(target, _)| *target > found) {
            link.batch_execute(sql).await?;
            link.batch_execute(&format!("DELETE FROM {table}; INSERT INTO {table} (version) VALUES ({target})")).await?;
        }
    }
    Ok(())
}

/// `None` if there is no schema yet.
async fn version(link: &Link, Chain { table, .. }: &Chain) -> Result<Option<i64>, Failure> {
    let there = link.query_one(&format!("SELECT to_regclass('{table}') IS NOT NULL"), &[]).await?;
    if !there.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    Ok(link.query_opt(&format!("SELECT max(version) FROM {table}"), &[]).await?.and_then(|row| row.try_get(0).ok()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_databases_have_the_same_version() {
        assert_eq!(super::CHAINS[0].known(), crate::backend::sqlite::known_version());
    }
}
