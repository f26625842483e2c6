//! Scheduled jobs as rows. A job is changed by its version, a run belongs to the process whose presence it names.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::BoxFuture;
use haft_contract::ports::{DeliveryState, JobNotice, JobRun, RunState, RunTrigger, ScheduledJob};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::database::Database;
use super::owners::Owners;
use crate::backend::blocking::blocking;
use crate::backend::values::{bytes, integer, nanoseconds_since_1970, time};
use crate::backend::write::{AutomationWrite, ChangeAnswer, StoreChange};
use crate::error::SqlFault;
use crate::{AutomationChange, AutomationStore, RunOwner, StoreError};

/// Runs of one job that are kept.
pub(in crate::backend) const KEPT_RUNS: u32 = 200;
/// Runs of a folder that are kept, whatever their job.
pub(in crate::backend) const KEPT_RUNS_OF_ALL: u32 = 20_000;
/// Notices of a folder that are kept.
pub(in crate::backend) const KEPT_NOTICES: u32 = 1000;

const UPDATE_JOB: &str = "UPDATE automation_jobs SET next_due = ?2, version = ?3 + 1, body = ?4 WHERE id = ?1 AND version = ?3";
const INSERT_JOB: &str = "INSERT OR IGNORE INTO automation_jobs (id, workspace, next_due, version, body) VALUES (?1, ?2, ?3, 1, ?4)";
const PUT_RUN: &str = "INSERT INTO automation_runs (id, job, workspace, scheduled, is_open, delivery_due, presence, body) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE SET is_open = ?5, delivery_due = ?6, presence = ?7, body = ?8";
const FORGET_RUNS: &str = "DELETE FROM automation_runs WHERE job = ?1 AND is_open = 0 AND sequence <= \
     (SELECT sequence FROM automation_runs WHERE job = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)";
const FORGET_RUNS_OF_ALL: &str = "DELETE FROM automation_runs WHERE workspace = ?1 AND is_open = 0 AND sequence <= \
     (SELECT sequence FROM automation_runs WHERE workspace = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)";
const ADD_NOTICE: &str = "INSERT INTO automation_notices (workspace, job, name, run, at, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const FORGET_NOTICES: &str = "DELETE FROM automation_notices WHERE workspace = ?1 AND sequence <= \
     (SELECT sequence FROM automation_notices WHERE workspace = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)";
const NEXT_DUE: &str = "SELECT min(due) FROM (SELECT min(next_due) AS due FROM automation_jobs WHERE workspace = ?1 AND next_due IS NOT \
     NULL UNION ALL SELECT min(delivery_due) FROM automation_runs WHERE workspace = ?1 AND delivery_due IS NOT NULL)";

/// An [`AutomationStore`] in the SQLite file of a [`SqliteCallLog`](crate::SqliteCallLog), which makes it.
#[derive(Debug, Clone)]
pub struct SqliteAutomation {
    database: Arc<Database>,
}

impl SqliteAutomation {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Announces this process as alive; returns its id.
    async fn announce(&self) -> Result<String, StoreError> {
        let owners = Arc::clone(self.database.owners());
        if let Some(id) = owners.my_id() {
            return Ok(id.to_owned());
        }
        blocking(move || owners.announce()).await
    }

    async fn write(&self, write: AutomationWrite) -> Result<bool, StoreError> {
        self.database.write(StoreChange::Automation(Box::new(write))).await.map(|changed| changed == 1)
    }
}

impl AutomationStore for SqliteAutomation {
    fn commit<'a>(&'a self, workspace: &'a Path, change: AutomationChange) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let presence = self.announce().await?;
            self.write(AutomationWrite::Commit { workspace: workspace.to_owned(), change: Box::new(change), presence }).await
        })
    }

    fn take_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let presence = self.announce().await?;
            self.write(AutomationWrite::Take { run: run.to_owned(), presence }).await
        })
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ScheduledJob>, StoreError>> {
        let id = id.to_owned();
        let sql = "SELECT body, version FROM automation_jobs WHERE id = ?1";
        Box::pin(self.database.read(move |connection| Ok(connection.prepare_cached(sql)?.query_row([id], job).optional()?)))
    }

    fn jobs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>> {
        let workspace = bytes(workspace).to_owned();
        let sql = "SELECT body, version FROM automation_jobs WHERE workspace = ?1";
        Box::pin(self.database.read(move |connection| all(connection, sql, params![workspace], job)))
    }

    fn job_count<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<usize, StoreError>> {
        let workspace = bytes(workspace).to_owned();
        let sql = "SELECT count(*) FROM automation_jobs WHERE workspace = ?1";
        let read = move |connection: &Connection| {
            let count: i64 = connection.prepare_cached(sql)?.query_row([workspace], |row| row.get(0))?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        };
        Box::pin(self.database.read(read))
    }

    fn due_jobs<'a>(&'a self, workspace: &'a Path, now: SystemTime, limit: usize) -> BoxFuture<'a, Result<Vec<ScheduledJob>, StoreError>> {
        let (workspace, now) = (bytes(workspace).to_owned(), nanoseconds_since_1970(now));
        let sql = "SELECT body, version FROM automation_jobs WHERE workspace = ?1 AND next_due <= ?2 ORDER BY next_due LIMIT ?3";
        Box::pin(self.database.read(move |connection| all(connection, sql, params![workspace, now, integer(limit)], job)))
    }

    fn next_due<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Option<SystemTime>, StoreError>> {
        let workspace = bytes(workspace).to_owned();
        let read = move |connection: &Connection| {
            let due: Option<i64> = connection.prepare_cached(NEXT_DUE)?.query_row([workspace], |row| row.get(0))?;
            Ok(due.map(time))
        };
        Box::pin(self.database.read(read))
    }

    fn runs<'a>(&'a self, workspace: &'a Path, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, StoreError>> {
        let (workspace, job) = (bytes(workspace).to_owned(), job.map(str::to_owned));
        let read = move |connection: &Connection| {
            let of = |column: &str| format!("SELECT body FROM automation_runs WHERE {column} = ?1 ORDER BY sequence DESC LIMIT ?2");
            if let Some(job) = job {
                return all(connection, &of("job"), params![job, integer(limit)], |row| body(row, 0));
            }
            all(connection, &of("workspace"), params![workspace, integer(limit)], |row| body(row, 0))
        };
        Box::pin(self.database.read(read))
    }

    fn open_runs<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Vec<(JobRun, RunOwner)>, StoreError>> {
        let (workspace, owners) = (bytes(workspace).to_owned(), Arc::clone(self.database.owners()));
        Box::pin(self.database.read(move |connection| open_runs(connection, &workspace, &owners)))
    }

    fn notices<'a>(&'a self, workspace: &'a Path, limit: usize) -> BoxFuture<'a, Result<Vec<JobNotice>, StoreError>> {
        let workspace = bytes(workspace).to_owned();
        let sql = "SELECT job, name, run, at, text FROM automation_notices WHERE workspace = ?1 ORDER BY sequence DESC LIMIT ?2";
        Box::pin(self.database.read(move |connection| all(connection, sql, params![workspace, integer(limit)], notice)))
    }
}

/// The outer error is the database's; 1 if the change was made.
pub(super) fn apply(connection: &Connection, write: &AutomationWrite, owners: &Owners) -> rusqlite::Result<ChangeAnswer> {
    connection.prepare_cached("SAVEPOINT automation")?.execute([])?;
    let made = match write {
        AutomationWrite::Commit { workspace, change, presence } => commit(connection, workspace, change, presence)?,
        AutomationWrite::Take { run, presence } => match take(connection, owners, run, presence) {
            Ok(taken) => taken,
            Err(SqlFault::Sql(error)) => return Err(error),
            Err(SqlFault::Store(_)) => false,
        },
    };
    if !made {
        connection.prepare_cached("ROLLBACK TO automation")?.execute([])?;
    }
    connection.prepare_cached("RELEASE automation")?.execute([])?;
    Ok(Ok(u64::from(made)))
}

fn commit(connection: &Connection, workspace: &Path, change: &AutomationChange, presence: &str) -> rusqlite::Result<bool> {
    if let Some(id) = &change.removed {
        connection.prepare_cached("DELETE FROM automation_jobs WHERE id = ?1")?.execute([id])?;
    }
    if let Some(job) = &change.job
        && put_job(connection, workspace, job)? == 0
    {
        return Ok(false);
    }
    for run in &change.runs {
        match put_run(connection, workspace, run, presence) {
            Ok(()) => {}
            // Another process has a run for this time.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    for notice in &change.notices {
        let JobNotice { job, name, run, at, text } = notice;
        let at = nanoseconds_since_1970(*at);
        connection.prepare_cached(ADD_NOTICE)?.execute(params![bytes(workspace), job, name, run, at, text])?;
    }
    if !change.notices.is_empty() {
        connection.prepare_cached(FORGET_NOTICES)?.execute(params![bytes(workspace), KEPT_NOTICES])?;
    }
    Ok(true)
}

fn put_job(connection: &Connection, workspace: &Path, job: &ScheduledJob) -> rusqlite::Result<usize> {
    let due = job.next_due.filter(|_| job.enabled).map(nanoseconds_since_1970);
    let body = json(job)?;
    match job.version {
        0 => connection.prepare_cached(INSERT_JOB)?.execute(params![job.id, bytes(workspace), due, body]),
        version => connection.prepare_cached(UPDATE_JOB)?.execute(params![job.id, due, integer(version), body]),
    }
}

fn put_run(connection: &Connection, workspace: &Path, run: &JobRun, presence: &str) -> rusqlite::Result<()> {
    let scheduled = (run.trigger != RunTrigger::Manual).then(|| nanoseconds_since_1970(run.due));
    let is_open = !run.state.is_final() || matches!(run.delivery, DeliveryState::Pending | DeliveryState::Sending);
    let presence = (is_open && run.state != RunState::Waiting).then_some(presence);
    let delivery_due = run.delivery_due.filter(|_| run.delivery == DeliveryState::Pending).map(nanoseconds_since_1970);
    let values = params![run.id, run.job, bytes(workspace), scheduled, is_open, delivery_due, presence, json(run)?];
    connection.prepare_cached(PUT_RUN)?.execute(values)?;
    if !is_open {
        connection.prepare_cached(FORGET_RUNS)?.execute(params![run.job, KEPT_RUNS])?;
        connection.prepare_cached(FORGET_RUNS_OF_ALL)?.execute(params![bytes(workspace), KEPT_RUNS_OF_ALL])?;
    }
    Ok(())
}

fn take(connection: &Connection, owners: &Owners, run: &str, presence: &str) -> Result<bool, SqlFault> {
    let sql = "SELECT presence FROM automation_runs WHERE id = ?1 AND is_open = 1";
    let found: Option<Option<String>> = connection.prepare_cached(sql)?.query_row([run], |row| row.get(0)).optional()?;
    let Some(holder) = found else { return Ok(false) };
    if owner(owners, holder.as_deref())? != RunOwner::Nobody {
        return Ok(false);
    }
    let sql = "UPDATE automation_runs SET presence = ?2 WHERE id = ?1";
    Ok(connection.prepare_cached(sql)?.execute(params![run, presence])? == 1)
}

fn owner(owners: &Owners, presence: Option<&str>) -> Result<RunOwner, StoreError> {
    match presence {
        None => Ok(RunOwner::Nobody),
        Some(id) if owners.is_mine(id) => Ok(RunOwner::Mine),
        Some(id) => Ok(if owners.is_alive(id)? { RunOwner::Other } else { RunOwner::Nobody }),
    }
}

fn open_runs(connection: &Connection, workspace: &[u8], owners: &Owners) -> Result<Vec<(JobRun, RunOwner)>, SqlFault> {
    let sql = "SELECT body, presence FROM automation_runs WHERE workspace = ?1 AND is_open = 1 ORDER BY sequence";
    let read = |row: &Row<'_>| Ok((body::<JobRun>(row, 0)?, row.get::<_, Option<String>>(1)?));
    let rows = all(connection, sql, params![workspace], read)?;
    rows.into_iter().map(|(run, presence)| Ok((run, owner(owners, presence.as_deref())?))).collect()
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, SqlFault> {
    Ok(connection.prepare_cached(sql)?.query_map(values, read)?.collect::<rusqlite::Result<_>>()?)
}

fn job(row: &Row<'_>) -> rusqlite::Result<ScheduledJob> {
    let mut job: ScheduledJob = body(row, 0)?;
    job.version = row.get::<_, i64>(1)?.unsigned_abs();
    Ok(job)
}

fn notice(row: &Row<'_>) -> rusqlite::Result<JobNotice> {
    Ok(JobNotice { job: row.get(0)?, name: row.get(1)?, run: row.get(2)?, at: time(row.get(3)?), text: row.get(4)? })
}

fn body<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
