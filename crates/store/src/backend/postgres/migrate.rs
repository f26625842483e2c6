//! The schema, version by version, with the numbers of SQLite's. A database of a newer version is refused and left as it is.

use super::failure::Failure;
use super::link::Link;
use crate::StoreError;

/// Each brings the schema to its number. What was released is never changed.
const MIGRATIONS: &[Migration] = &[Migration::breaking(13, include_str!("../migrations/postgres/0013_state.sql"))];

/// What only a server has: the index of memory, work of several machines. Its versions are its own.
const SERVER_MIGRATIONS: &[Migration] = &[
    Migration::breaking(1, include_str!("../migrations/postgres/server_0001_memory.sql")),
    Migration::breaking(2, include_str!("../migrations/postgres/server_0002_work.sql")),
    Migration::adding(3, include_str!("../migrations/postgres/server_0003_fleet.sql")),
    Migration::adding(4, include_str!("../migrations/postgres/server_0004_tenants.sql")),
    Migration::adding(5, include_str!("../migrations/postgres/server_0005_limits.sql")),
];

/// One step of the schema. A fleet is upgraded one process after the other, so a change is made in two steps: a version adds what is new,
/// which the version before does not notice, and a later one removes what is old, when no process needs it any more.
struct Migration {
    version: i64,
    sql: &'static str,
    /// Whether programs that know the version before can use the schema after it.
    only_adds: bool,
}

impl Migration {
    const fn adding(version: i64, sql: &'static str) -> Self {
        Self { version, sql, only_adds: true }
    }

    const fn breaking(version: i64, sql: &'static str) -> Self {
        Self { version, sql, only_adds: false }
    }
}

/// One process at a time changes the schema. The number only has to be no other's.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5223876411203)";

/// An address may name a schema that is not there yet as the only one of the search path.
const SCHEMA: &str = "DO $$ BEGIN IF current_schema() IS NULL THEN \
     EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', btrim(split_part(current_setting('search_path'), ',', 1), ' \"')); END IF; END $$";

/// Removes the schema of a tenant with everything in it; no other.
pub(super) const REMOVE_SCHEMA: &str = "DO $$ BEGIN IF starts_with(current_schema(), 'tenant_') THEN \
     EXECUTE format('DROP SCHEMA %I CASCADE', current_schema()); END IF; END $$";

/// Versions that follow each other, and the table that has the number of the last.
struct Chain {
    table: &'static str,
    migrations: &'static [Migration],
}

const CHAINS: [Chain; 2] =
    [Chain { table: "haft_schema", migrations: MIGRATIONS }, Chain { table: "haft_server_schema", migrations: SERVER_MIGRATIONS }];

impl Chain {
    fn known_version(&self) -> i64 {
        self.migrations.last().map_or(0, |migration| migration.version)
    }
}

/// Refuses a schema that this version cannot use, and brings an older one to the known version, wholly or not at all.
pub(super) async fn apply(link: &Link, server: &str) -> Result<(), Failure> {
    // Nearly always nothing is to be done, and then nothing is locked.
    let mut is_current = true;
    for chain in &CHAINS {
        is_current = is_current && version(link, chain).await? == Some(chain.known_version());
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
    link.batch_execute(SCHEMA).await?;
    for chain in &CHAINS {
        let (found, table) = (version(link, chain).await?.unwrap_or(0), chain.table);
        link.batch_execute(&format!("CREATE TABLE IF NOT EXISTS {table} (version BIGINT NOT NULL)")).await?;
        // The lowest version that a program has to know.
        link.batch_execute(&format!("ALTER TABLE {table} ADD COLUMN IF NOT EXISTS oldest BIGINT NOT NULL DEFAULT 0")).await?;
        let mut oldest = oldest(link, chain).await?.unwrap_or(0);
        if found > chain.known_version() && (oldest == 0 || oldest > chain.known_version()) {
            return Err(StoreError::Newer { path: server.into(), found, known: chain.known_version() }.into());
        }
        for migration in chain.migrations.iter().filter(|migration| migration.version > found) {
            link.batch_execute(migration.sql).await?;
            let target = migration.version;
            oldest = if migration.only_adds { oldest } else { target };
            link.batch_execute(&format!("DELETE FROM {table}; INSERT INTO {table} (version, oldest) VALUES ({target}, {oldest})")).await?;
        }
    }
    Ok(())
}

async fn oldest(link: &Link, Chain { table, .. }: &Chain) -> Result<Option<i64>, Failure> {
    Ok(link.query_opt(&format!("SELECT max(oldest) FROM {table}"), &[]).await?.and_then(|row| row.try_get(0).ok()))
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
    fn migrations_that_only_add_take_nothing_away() {
        for migration in super::CHAINS.iter().flat_map(|chain| chain.migrations).filter(|migration| migration.only_adds) {
            let sql = migration.sql.to_uppercase();
            for word in ["DROP ", "RENAME ", "ALTER COLUMN", " TYPE ", "DELETE ", "UPDATE "] {
                assert!(!sql.contains(word), "{} has '{word}'", migration.version);
            }
            let new_columns = sql.lines().filter(|line| line.contains("ADD COLUMN") && line.contains("NOT NULL"));
            new_columns.for_each(|line| assert!(line.contains("DEFAULT"), "an older program does not fill it: {line}"));
        }
    }

    #[test]
    fn both_databases_have_the_same_version() {
        assert_eq!(super::CHAINS[0].known_version(), crate::backend::sqlite::known_version());
    }
}
