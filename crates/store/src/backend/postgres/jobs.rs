//! Background jobs on the server.

use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::ports::{JobRecord, JobRegistry, JobScope};
use haft_contract::{BoxFuture, JobEnd, SpillFile, ToolError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::database::Database;
use super::failure::Failure;
use super::link::{Columns, Link, Text, all, execute, row};
use crate::backend::sqlite::{JOB_RETENTION, MAX_LISTED_JOBS, jobs_not_kept};
use crate::backend::values::{bytes, integer, nanoseconds_since_1970};
use crate::backend::write::{JobChange, StoreChange};

const COLUMNS: &str =
    "number, session, workspace, command, directory, sandbox, pid, start_time, started, socket, ending, spill, bytes, host";
const BEGIN: &str = "INSERT INTO jobs (session, workspace, command, directory, sandbox, pid, start_time, started, socket, bytes, host) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10) RETURNING number";
/// Only the first end counts: the process that reports it observed it.
const END: &str = "UPDATE jobs SET ended = $2, ending = $3, spill = $4, bytes = $5 WHERE number = $1 AND ended IS NULL";

/// A [`JobRegistry`] on the server of a [`PostgresLog`](crate::PostgresLog), which makes it.
#[derive(Debug, Clone)]
pub struct PostgresJobs {
    database: Arc<Database>,
}

impl PostgresJobs {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    async fn changed(&self, change: JobChange) -> Result<u64, ToolError> {
        self.database.write(StoreChange::Job(Box::new(change))).await.map_err(jobs_not_kept)
    }
}

impl JobRegistry for PostgresJobs {
    fn begin(&self, record: JobRecord) -> BoxFuture<'_, Result<u64, ToolError>> {
        Box::pin(self.changed(JobChange::Begin(record)))
    }

    fn end(&self, number: u64, end: JobEnd, bytes: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move { self.changed(JobChange::End { number, end, bytes }).await.map(drop) })
    }

    fn list(&self, scope: JobScope) -> BoxFuture<'_, Result<Vec<JobRecord>, ToolError>> {
        Box::pin(async move { self.database.read(scope, |link, scope| Box::pin(list(link, scope))).await.map_err(jobs_not_kept) })
    }

    fn forget(&self, number: u64) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move { self.changed(JobChange::Forget(number)).await.map(drop) })
    }
}

pub(super) async fn apply(link: &Link, change: &JobChange) -> Result<u64, Failure> {
    match change {
        JobChange::Begin(record) => begin(link, record).await,
        JobChange::End { number, end, bytes } => end_of(link, *number, end, *bytes).await,
        JobChange::Forget(number) => execute(link, "DELETE FROM jobs WHERE number = $1", &[&integer(*number)]).await.map(|_| 0),
    }
}

/// Each that begins also sweeps, so that the list cannot grow for ever.
async fn begin(link: &Link, record: &JobRecord) -> Result<u64, Failure> {
    let oldest = record.started.checked_sub(JOB_RETENTION).unwrap_or(SystemTime::UNIX_EPOCH);
    execute(link, "DELETE FROM jobs WHERE ended < $1", &[&nanoseconds_since_1970(oldest)]).await?;
    let values: [&(dyn ToSql + Sync); 10] = [
        &Text(&record.session),
        &bytes(&record.workspace),
        &Text(&record.command),
        &bytes(&record.directory),
        &Text(&record.sandbox),
        &record.pid.map(i64::from),
        &record.start_time.map(integer),
        &nanoseconds_since_1970(record.started),
        &bytes(&record.socket),
        &record.host.as_str(),
    ];
    row(link, BEGIN, &values).await?.map_or(Ok(0), |row| row.number(0))
}

async fn end_of(link: &Link, number: u64, end: &JobEnd, written: u64) -> Result<u64, Failure> {
    let ending = serde_json::to_string(end).map_err(|error| Failure::unreadable("the end of a job", error))?;
    let spill = end.spill.as_ref().map(|spill| bytes(&spill.path));
    let values: [&(dyn ToSql + Sync); 5] = [&integer(number), &nanoseconds_since_1970(end.at), &Text(&ending), &spill, &integer(written)];
    execute(link, END, &values).await.map(|_| 0)
}

async fn list(link: &Link, scope: &JobScope) -> Result<Vec<JobRecord>, Failure> {
    let select = |condition: &str| format!("SELECT {COLUMNS} FROM jobs WHERE {condition} ORDER BY number DESC LIMIT {MAX_LISTED_JOBS}");
    let mut jobs = match scope {
        JobScope::Session(session) => all(link, &select("session = $1"), &[&Text(session)], record).await?,
        JobScope::Workspace(workspace) => {
            all(link, &select("md5(workspace) = md5($1::bytea) AND workspace = $1"), &[&bytes(workspace)], record).await?
        }
    };
    jobs.reverse();
    Ok(jobs)
}

fn record(row: &Row) -> Result<JobRecord, Failure> {
    Ok(JobRecord {
        number: row.number(0)?,
        session: row.text(1)?,
        workspace: row.path(2)?,
        command: row.text(3)?,
        directory: row.path(4)?,
        // A sandbox host that only a newer Haft knows counts as none.
        host: row.text(13)?.parse().unwrap_or_default(),
        sandbox: row.text(5)?,
        pid: row.maybe_signed(6)?.and_then(|pid| pid.try_into().ok()),
        start_time: row.maybe_signed(7)?.map(i64::unsigned_abs),
        started: row.time(8)?,
        socket: row.path(9)?,
        end: end(row)?,
        bytes: row.number(12)?,
    })
}

fn end(row: &Row) -> Result<Option<JobEnd>, Failure> {
    if row.maybe_text(10)?.is_none() {
        return Ok(None);
    }
    let mut end: JobEnd = row.json(10)?;
    end.spill = row.maybe_path(11)?.map(|path| Ok::<_, Failure>(SpillFile { path, bytes: row.number(12)? })).transpose()?;
    Ok(Some(end))
}
