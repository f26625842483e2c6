//! The schema, version by version. A file of a newer version is refused and left as it is.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

/// The first brings an empty file to version 1, and so on. What was released is never changed.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_calls.sql"),
    include_str!("../migrations/0002_sessions.sql"),
    include_str!("../migrations/0003_jobs.sql"),
    include_str!("../migrations/0004_job_names.sql"),
    include_str!("../migrations/0005_running.sql"),
    include_str!("../migrations/0006_sub_agents.sql"),
    include_str!("../migrations/0007_todos.sql"),
    include_str!("../migrations/0008_open_sub_agents.sql"),
    include_str!("../migrations/0009_modification_times.sql"),
    include_str!("../migrations/0010_carried_state.sql"),
    include_str!("../migrations/0011_automation.sql"),
    include_str!("../migrations/0012_channels.sql"),
    include_str!("../migrations/0013_unanswered.sql"),
];

/// The version this program knows.
pub(in crate::backend) fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The version of a database.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Refuses a database of a newer Haft.
pub(super) fn refuse_newer(found: i64, path: &Path) -> Result<(), StoreError> {
    if found > known_version() {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: known_version() });
    }
    Ok(())
}

/// Brings the database from its version to the known one, each step whole or not at all.
pub(super) fn apply(connection: &mut Connection, current: i64) -> rusqlite::Result<()> {
    for (target, sql) in (1..).zip(MIGRATIONS) {
        if target > current {
            step(connection, target, sql)?;
        }
    }
    Ok(())
}

fn step(connection: &mut Connection, target: i64, sql: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have taken the step while this one waited for the lock.
    if version(&transaction)? < target {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", target)?;
    }
    transaction.commit()
}
