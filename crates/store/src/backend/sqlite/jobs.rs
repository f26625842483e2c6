//! Background jobs in the database.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::{
    BoxFuture, ErrorKind, JobEnd, SpillFile, ToolError,
    ports::{JobRecord, JobRegistry, JobScope},
};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::database::Database;
use super::rows::number;
use crate::StoreError;
use crate::backend::values::{bytes, integer, nanoseconds_since_1970, path, time};
use crate::backend::write::{ChangeAnswer, JobChange, StoreChange};

/// How long a job that has ended is remembered: as long as its output.
pub(in crate::backend) const JOB_RETENTION: Duration = Duration::from_hours(14 * 24);
/// How many are listed at once.
pub(in crate::backend) const MAX_LISTED_JOBS: u32 = 1000;

const COLUMNS: &str =
    "number, session, workspace, command, directory, sandbox, pid, start_time, started, socket, ending, spill, bytes, host";
const BEGIN: &str = "INSERT INTO jobs (session, workspace, command, directory, sandbox, pid, start_time, started, socket, bytes, host) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10)";
/// Only the first end counts: the process that reports it observed it.
const END: &str = "UPDATE jobs SET ended = ?2, ending = ?3, spill = ?4, bytes = ?5 WHERE number = ?1 AND ended IS NULL";

/// A [`JobRegistry`] in the SQLite file of a [`SqliteCallLog`](crate::SqliteCallLog), which makes it.
#[derive(Debug, Clone)]
pub struct SqliteJobs {
    database: Arc<Database>,
}

impl SqliteJobs {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    async fn changed(&self, change: JobChange) -> Result<u64, ToolError> {
        self.database.write(StoreChange::Job(Box::new(change))).await.map_err(jobs_not_kept)
    }
}

impl JobRegistry for SqliteJobs {
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>> {
        Box::pin(self.changed(JobChange::Begin(record)))
    }

    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move { self.changed(JobChange::End { number, end, bytes }).await.map(drop) })
    }

    fn list(&self, scope: JobScope) -> BoxFuture<'_, Result<Vec<JobRecord>, ToolError>> {
        Box::pin(async move { self.database.read(move |connection| Ok(list(connection, &scope)?)).await.map_err(jobs_not_kept) })
    }

    fn forget(&self, number: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move { self.changed(JobChange::Forget(number)).await.map(drop) })
    }
}

pub(in crate::backend) fn jobs_not_kept(error: StoreError) -> ToolError {
    ToolError::new(ErrorKind::ExecutionError, format!("The list of jobs cannot be used: {error}.")).with_source(error)
}

pub(super) fn apply(connection: &Connection, change: &JobChange) -> rusqlite::Result<ChangeAnswer> {
    match change {
        JobChange::Begin(record) => begin(connection, record),
        JobChange::End { number, end, bytes } => end_of(connection, *number, end, *bytes).map(|()| Ok(0)),
        JobChange::Forget(number) => {
            connection.prepare_cached("DELETE FROM jobs WHERE number = ?1")?.execute([integer(*number)])?;
            Ok(Ok(0))
        }
    }
}

/// Each that begins also sweeps, so that the list cannot grow for ever.
fn begin(connection: &Connection, record: &JobRecord) -> rusqlite::Result<ChangeAnswer> {
    let oldest = record.started.checked_sub(JOB_RETENTION).unwrap_or(SystemTime::UNIX_EPOCH);
    connection.prepare_cached("DELETE FROM jobs WHERE ended < ?1")?.execute([nanoseconds_since_1970(oldest)])?;
    connection.prepare_cached(BEGIN)?.execute(params![
        record.session,
        bytes(&record.workspace),
        record.command,
        bytes(&record.directory),
        record.sandbox,
        record.pid,
        record.start_time.map(integer),
        nanoseconds_since_1970(record.started),
        bytes(&record.socket),
        record.host.as_str(),
    ])?;
    Ok(Ok(connection.last_insert_rowid().unsigned_abs()))
}

fn end_of(connection: &Connection, number: u64, end: &JobEnd, written: u64) -> rusqlite::Result<()> {
    let ending = serde_json::to_string(end).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let spill = end.spill.as_ref().map(|spill| bytes(&spill.path));
    connection.prepare_cached(END)?.execute(params![integer(number), nanoseconds_since_1970(end.at), ending, spill, integer(written)])?;
    Ok(())
}

fn list(connection: &Connection, scope: &JobScope) -> rusqlite::Result<Vec<JobRecord>> {
    let select = |column: &str| format!("SELECT {COLUMNS} FROM jobs WHERE {column} = ?1 ORDER BY number DESC LIMIT {MAX_LISTED_JOBS}");
    let mut jobs: Vec<JobRecord> = match scope {
        JobScope::Session(session) => {
            connection.prepare_cached(&select("session"))?.query_map([session], record)?.collect::<Result<_, _>>()?
        }
        JobScope::Workspace(workspace) => {
            connection.prepare_cached(&select("workspace"))?.query_map([bytes(workspace)], record)?.collect::<Result<_, _>>()?
        }
    };
    jobs.reverse();
    Ok(jobs)
}

fn record(row: &Row<'_>) -> rusqlite::Result<JobRecord> {
    Ok(JobRecord {
        number: number(row, 0)?,
        session: row.get(1)?,
        workspace: path(row.get(2)?),
        command: row.get(3)?,
        directory: path(row.get(4)?),
        // A sandbox host that only a newer Haft knows counts as none.
        host: row.get::<_, String>(13)?.parse().unwrap_or_default(),
        sandbox: row.get(5)?,
        pid: row.get(6)?,
        start_time: row.get::<_, Option<i64>>(7)?.map(i64::unsigned_abs),
        started: time(row.get(8)?),
        socket: path(row.get(9)?),
        end: end(row)?,
        bytes: number(row, 12)?,
    })
}

fn end(row: &Row<'_>) -> rusqlite::Result<Option<JobEnd>> {
    let Some(ending) = row.get::<_, Option<String>>(10)? else { return Ok(None) };
    let mut end: JobEnd =
        serde_json::from_str(&ending).map_err(|error| rusqlite::Error::FromSqlConversionFailure(10, Type::Text, error.into()))?;
    let spill: Option<PathBuf> = row.get::<_, Option<Vec<u8>>>(11)?.map(path);
    end.spill = spill.map(|path| Ok::<_, rusqlite::Error>(SpillFile { path, bytes: number(row, 12)? })).transpose()?;
    Ok(Some(end))
}
